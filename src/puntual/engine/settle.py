"""Settle: each outcome becomes one guarded write, many in one transaction; what the guard refuses was not ours.

While a write is under way the next batch gathers, so the batch grows with the load and nobody waits for a timer. If
the database is away the batch is kept and written again: the guard makes the repeat harmless.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable

import msgspec
import structlog

from puntual.engine.held import Held, Hold, StoreTime
from puntual.engine.metrics import RunMetrics
from puntual.engine.service import Randomness
from puntual.model.attempt import ErrorInfo, OutcomeKind
from puntual.model.outcome import Outcome
from puntual.model.run import RunState
from puntual.model.transitions import Transition, decide, release
from puntual.store.contract import Store
from puntual.store.requests import Settled, Settlement
from puntual.wake.contract import Wake

_BATCH = 500
_IDLE = 3600.0

log = structlog.get_logger("puntual.engine")


class Verdict(msgspec.Struct, frozen=True):
    """A claim with what its attempt produced; ``outcome`` None gives the claim back unstarted."""

    hold: Hold
    outcome: Outcome | None


class Settler:
    """Gathers outcomes and writes them. ``nudge`` is called when there is something to write."""

    def __init__(self, store: Store, wake: Wake, *, time: StoreTime, held: Held, random: Randomness) -> None:
        self._store = store
        self._wake = wake
        self._time = time
        self._held = held
        self._random = random
        self._waiting: deque[Verdict] = deque()
        self._writing: list[Verdict] = []
        self.nudge: Callable[[], None] = lambda: None
        self._wrote = asyncio.Event()
        self.metrics = RunMetrics()

    @property
    def empty(self) -> bool:
        """Whether everything handed in has been written."""
        return not self._waiting and not self._writing

    async def written(self, limit: float) -> None:
        """Waits until everything handed in has been written, at most ``limit`` seconds; the loop keeps its own pace."""
        try:
            async with asyncio.timeout(limit):
                while not self.empty:
                    self._wrote.clear()
                    await self._wrote.wait()
        except TimeoutError:
            log.warning("settle.left", runs=len(self._waiting) + len(self._writing))

    @property
    def by_state(self) -> Counter[RunState]:
        """How many claims were settled, by what their run became."""
        found: Counter[RunState] = Counter()
        for queue in self.metrics.queues.values():
            found.update(queue.states)
        return found

    def in_flight(self) -> set[tuple[str, int]]:
        """The claims whose end is being written, or is about to be."""
        return {verdict.hold.claim for verdict in (*self._waiting, *self._writing)}

    def put(self, hold: Hold, outcome: Outcome | None) -> None:
        """Takes what an attempt produced, or None to give the claim back."""
        self._waiting.append(Verdict(hold, outcome))
        self.nudge()

    async def step(self) -> float:
        """Writes one batch; 0 when there is more."""
        if not self._writing:
            self._writing = self._next_batch()
        if not self._writing:
            return _IDLE
        batch = {verdict.hold.run.id: verdict for verdict in self._writing}
        now = self._time.now()
        settlements = [self._settlement(verdict, now) for verdict in self._writing]
        asked_at = self._time.steady()
        settled = await self._store.settle(settlements)
        self._writing = []
        self._time.heard(settled.now, asked_at=asked_at)
        self._wrote.set()
        written = set(settled.written)
        for verdict, one in zip(batch.values(), settlements, strict=True):
            if one.id in written:
                self.metrics.settled(verdict.hold.run, verdict.outcome, one.transition.state)
        self._took(batch, settled)
        return 0 if self._waiting else _IDLE

    def _next_batch(self) -> list[Verdict]:
        """The oldest verdicts, each run once: two attempts of the same run are written one after the other."""
        batch: dict[str, Verdict] = {}
        while self._waiting and len(batch) < _BATCH and self._waiting[0].hold.run.id not in batch:
            verdict = self._waiting.popleft()
            batch[verdict.hold.run.id] = verdict
        return list(batch.values())

    def _settlement(self, verdict: Verdict, now: int) -> Settlement:
        run = verdict.hold.run
        return Settlement(
            id=run.id,
            attempt=run.attempt,
            worker=run.worker or "",
            cancel_seen=verdict.hold.cancel_requested,
            transition=self._transition(verdict, now),
        )

    def _transition(self, verdict: Verdict, now: int) -> Transition:
        hold, outcome = verdict.hold, verdict.outcome
        if outcome is None:
            return release(hold.run, cancel_requested=hold.cancel_requested, now=now)
        return decide(
            hold.run, outcome, cancel_requested=hold.cancel_requested, now=now, random=self._random.fraction()
        )

    def _took(self, batch: dict[str, Verdict], settled: Settled) -> None:
        for run_id in (*settled.written, *settled.gone):
            self._held.drop(batch[run_id].hold)
        for run_id in settled.changed:
            # Somebody asked for a cancel between the claim and this write: decide again, seeing it.
            batch[run_id].hold.cancel_requested = True
            self._waiting.append(batch[run_id])
        # The store has waited for what is in their way, so that this is no busy loop.
        self._waiting.extend(batch[run_id] for run_id in settled.waiting)
        for run_id, why in settled.refused:
            self._waiting.append(_without_result(batch[run_id], why))
        self._wake.hint(settled.queues)
        if settled.schedules:
            self._wake.hint_planner()


def _without_result(verdict: Verdict, why: str) -> Verdict:
    """A result that the database will not take becomes its error text; it never changes what became of the run."""
    if verdict.outcome is None:
        return verdict
    note = msgspec.json.encode({"unstorable": why[:500].encode("ascii", "replace").decode()}).decode()
    error = verdict.outcome.error
    if error is not None:
        error = ErrorInfo(_plain(error.type), _plain(error.message), None)
    outcome = msgspec.structs.replace(
        verdict.outcome,
        result=note if verdict.outcome.kind is OutcomeKind.SUCCEEDED else None,
        error=error,
        evidence=None,
        follow_ups=(),
        timings=None,
    )
    return Verdict(verdict.hold, outcome)


def _plain(text: str) -> str:
    return text[:2000].encode("ascii", "replace").decode().replace("\0", "?")
