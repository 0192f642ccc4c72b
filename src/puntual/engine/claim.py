"""Claim: takes from the pending list what this worker can start now or in a moment, quick by hints, sure by polling.

A claim is never cancelled on the client: the loop that calls it is stopped between steps only. Every few seconds one
claim is a sweep, which looks where hints and shortcuts do not.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from puntual.engine.execute import Executor
from puntual.engine.held import StoreTime
from puntual.engine.settle import Settler
from puntual.model.clock import Clock
from puntual.model.errors import StoreError
from puntual.store.contract import Store
from puntual.store.requests import Claimed, ClaimRequest

#: Runs due within this are claimed ahead and started by a local timer, so that the database's work precedes the
#: instant.
AHEAD_US = 1_500_000
#: Idle polls back off from the first to the second: promise G5 bounds lateness without hints to 1 s.
_BUSY_POLL = 0.02
_IDLE_POLL = 1.0
_SWEEP_EVERY = 5.0
#: How often a worker without room looks for some.
_ROOM_CHECK = 0.1


class Claimer:
    """Keeps the executor supplied.

    ``tasks`` is asked at each claim, because apps may register tasks while they run. ``alone`` is called when a run
    that was lost twice wants a process of its own; None makes this worker take such runs itself. ``lonely`` marks that
    process: it takes such runs only, one after another. It takes ``most`` runs in all (None: no limit). It counts the
    runs ``taken``, its ``claims``, those that asked for everything and were ``fruitless``, the ``sweeps``, and the runs
    that sweeps got and others had ``overlooked``.
    """

    def __init__(self, store: Store, executor: Executor, settler: Settler, *, clock: Clock, time: StoreTime) -> None:
        self._store = store
        self._executor = executor
        self._settler = settler
        self._clock = clock
        self._time = time
        self._poll = _BUSY_POLL
        self._swept_at = 0.0
        self.worker = ""
        self.tasks: Callable[[], tuple[str, ...]] = tuple
        self.queues: tuple[str, ...] | None = None
        self.alone: Callable[[], None] | None = None
        self.lease_over: Callable[[], None] = lambda: None
        self.ahead_us = AHEAD_US
        self.lonely = False
        self.most: int | None = None
        self.taken = 0
        self.claims = 0
        self.fruitless = 0
        self.sweeps = 0
        self.overlooked = 0
        self.draining = False
        self.unsure = False
        self.in_flight = False
        self.next_claim_at: int | None = None

    async def step(self) -> float:
        """Claims what there is room for; returns when to come again."""
        room = self._room()
        if self.draining or room <= 0 or not self._executor.trusted():
            return _BUSY_POLL if self.lonely else _ROOM_CHECK
        sweep = self._clock.steady() - self._swept_at >= _SWEEP_EVERY
        claimed = await self._claim(self._request(room, sweep=sweep))
        self.fruitless += not claimed.runs
        if sweep:
            self._swept_at = self._clock.steady()
        full = len(claimed.runs) >= room
        more = self._executor.room_beside(claimed.runs) if full and not self.lonely else {}
        self._executor.accept(claimed.runs, gather=more)
        if more:
            await self._fill_calls(more)
        if claimed.alone_waiting and not self.lonely:
            await self._see_to_the_lonely()
        return 0 if full else self._next_poll(claimed)

    async def _fill_calls(self, more: dict[str, int]) -> None:
        """A slot takes a whole batch: what else is due goes into the calls that are about to start."""
        try:
            for task, count in more.items():
                limit = count if self.most is None else min(count, self.most - self.taken)
                if limit > 0:
                    whole = self._request(limit, sweep=False)
                    request = msgspec.structs.replace(whole, tasks=(task,), ahead_us=0)
                    self._executor.accept((await self._claim(request)).runs, gather=more)
        finally:
            self._executor.begin()

    async def _see_to_the_lonely(self) -> None:
        """A run that was lost twice goes to a process of its own, where there is one to be had."""
        if self.alone is not None:
            self.alone()
            return
        request = ClaimRequest(worker=self.worker, limit=1, tasks=self.tasks(), queues=self.queues, alone=True)
        self._executor.accept((await self._claim(request)).runs)

    def _request(self, room: int, *, sweep: bool) -> ClaimRequest:
        return ClaimRequest(
            worker=self.worker,
            limit=room,
            tasks=self.tasks(),
            queues=self.queues,
            ahead_us=self.ahead_us,
            sweep=sweep,
            alone=self.lonely,
        )

    def _room(self) -> int:
        """How many runs may be claimed now; in a process for lone runs one, once the last one is written down."""
        room = int(self._executor.empty) if self.lonely else self._executor.room()
        return room if self.most is None else min(room, self.most - self.taken)

    async def _claim(self, request: ClaimRequest) -> Claimed:
        self.in_flight = True
        asked_at = self._clock.steady()
        try:
            claimed = await self._store.claim(request)
        except StoreError:
            # The answer may be lost after the commit: the heartbeat's comparison gives back what came of it.
            self.unsure = True
            raise
        finally:
            self.in_flight = False
        self._time.heard(claimed.now, asked_at=asked_at)
        if request.worker != self.worker:
            # The worker joined anew meanwhile: these claims are the old one's, whose lease is over.
            return Claimed(runs=(), now=claimed.now)
        self._count(request, claimed)
        if claimed.lost_lease:
            self.lease_over()
        return claimed

    def _count(self, request: ClaimRequest, claimed: Claimed) -> None:
        self.taken += len(claimed.runs)
        self.claims += 1
        self.sweeps += request.sweep
        self.overlooked += claimed.overlooked

    def _next_poll(self, claimed: Claimed) -> float:
        """Soon after work, seldom when idle, and never past the moment from which the next known run can be claimed."""
        self.next_claim_at = claimed.next_claim_at
        self._poll = _BUSY_POLL if claimed.runs else min(self._poll * 2, _IDLE_POLL)
        if claimed.next_claim_at is None:
            return self._poll
        until = (claimed.next_claim_at - self.ahead_us - claimed.now) / 1_000_000
        return max(min(self._poll, until), 0.001)
