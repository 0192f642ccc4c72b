"""A worker's place in the fleet: it joins under a random id, beats, hears, and joins anew when its lease is over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
import structlog

from puntual.engine.claim import Claimer
from puntual.engine.compare import Difference, compare
from puntual.engine.execute import Executor
from puntual.engine.heartbeat import Heartbeat
from puntual.engine.held import Held, Stop, StoreTime
from puntual.engine.parts import NodeConfig, Parts
from puntual.engine.settle import Settler
from puntual.model.fleet import Worker
from puntual.model.instant import SECOND
from puntual.model.policy import OnLostLease
from puntual.model.transitions import release
from puntual.store.requests import BeatReply, Page, RunFilter, Settlement

_LOOKS_PER_LEASE = 4
_BATCH = 500

log = structlog.get_logger("puntual.engine")


class Hands(msgspec.Struct, frozen=True, kw_only=True):
    """The working parts of a worker."""

    claimer: Claimer
    executor: Executor
    settler: Settler
    held: Held
    time: StoreTime


class Membership:
    """Joins, listens to the heartbeat's answers on the event loop, and puts right what differs."""

    def __init__(self, parts: Parts, config: NodeConfig, hands: Hands) -> None:
        self._parts = parts
        self._config = config
        self._hands = hands
        self._suspects = Difference()
        self._confirmed = Difference()
        self._lease_over = False
        self._clock_good = True
        self.nudge: Callable[[], None] = lambda: None
        self.worker = ""
        self.asked_to_drain = asyncio.Event()
        self.heartbeat = Heartbeat(
            parts.store, clock=parts.clock, lease=config.lease, heard=self._heard, pulse=parts.pulse()
        )
        self.heartbeat.held = lambda: len(hands.held)
        self.heartbeat.unsure = lambda: hands.claimer.unsure or bool(self._suspects)

    def trusted(self) -> bool:
        """Whether this worker may start something."""
        return not self._lease_over and self.heartbeat.trusted()

    async def join(self) -> None:
        """Takes a new id, writes its lease and begins to beat."""
        asked_at = self._parts.clock.steady()
        await self.register()
        self.heartbeat.start(self.worker, asked_at=asked_at)
        # Not before: a heart that could not start is tried again by the next step.
        self._lease_over = False

    async def register(self) -> None:
        """Takes a new id and writes its lease."""
        self.worker = f"{self._config.host or 'worker'}-{self._parts.random.bytes(6).hex()}"
        now = self._hands.time.now()
        works = "worker" in self._config.roles
        worker = Worker(
            id=self.worker,
            host=self._config.host,
            pid=self._config.pid,
            roles=self._config.roles,
            queues=self._config.queues,
            tasks=tuple(self._parts.targets) if works else (),
            concurrency=self._config.concurrency if works else 0,
            started_at=now,
            seen_at=now,
            lease_until=now,
            version=self._config.version,
        )
        await self._parts.store.register_worker(worker, lease_us=int(self._config.lease * 1_000_000))
        self._hands.claimer.worker = self.worker
        if self.asked_to_drain.is_set():
            # What somebody wanted of this process stands, whatever its id is now.
            await self._parts.store.drain_worker(self.worker)

    async def leave(self) -> None:
        """Stops beating and resigns; if the database is away the lease runs out by itself."""
        await self.heartbeat.stop()
        if self.worker:
            try:
                await self._parts.store.end_worker(self.worker)
            except Exception as error:  # noqa: BLE001 - leaving must not fail; rescue ends the lease
                log.warning("worker.not_resigned", worker=self.worker, error=str(error))

    async def step(self) -> float:
        """Does what the answers called for: joins again, or gives back what nobody here knows of."""
        if self._lease_over:
            log.warning("worker.lease_over", worker=self.worker, dropped=len(self._hands.held))
            # An answer to a claim of the old worker that comes from now on is nobody's.
            self._hands.claimer.worker = ""
            for hold in self._hands.held:
                self._hands.executor.forget(hold)
            await self.heartbeat.stop()
            await self.join()
        if not self.trusted():
            self._stop_what_wants_to_be()
        confirmed, self._confirmed = self._confirmed, Difference()
        await self._give_back(confirmed)
        return self._config.lease / _LOOKS_PER_LEASE

    def lease_is_over(self) -> None:
        """The store says that this worker is no more."""
        self._lease_over = True
        self.nudge()

    def _stop_what_wants_to_be(self) -> None:
        """A worker that cannot renew lets run what runs, but for tasks that said otherwise."""
        for hold in self._hands.held:
            if hold.run.policy.on_lost_lease is OnLostLease.CANCEL:
                self._hands.executor.stop(hold, Stop.LEASE)

    def _heard(self, reply: BeatReply, asked_at: float, at: float) -> None:
        hands = self._hands
        hands.time.heard(reply.now, at, asked_at=asked_at)
        self._watch_clock()
        if not reply.alive:
            self.lease_is_over()
            return
        if reply.draining:
            hands.claimer.draining = True
            self.asked_to_drain.set()
        for run_id in reply.cancels:
            hold = hands.held.get(run_id)
            if hold is not None and not hold.cancel_requested:
                hold.cancel_requested = True
                hands.executor.stop(hold, Stop.CANCEL)
        if reply.claims is not None:
            self._compare({(run_id, attempt) for run_id, attempt in reply.claims})
        hands.executor.resume()

    def _watch_clock(self) -> None:
        """The node's clock decides nothing about runs; but whoever compares its log with another's should know."""
        found = self.heartbeat.offset.best
        if found is not None and found.good != self._clock_good:
            self._clock_good = found.good
            seconds = round(found.us / SECOND, 3)
            if found.good:
                log.info("clock.good", offset_seconds=seconds, worker=self.worker)
            else:
                log.warning("clock.off", offset_seconds=seconds, worker=self.worker)

    def _compare(self, theirs: set[tuple[str, int]]) -> None:
        hands = self._hands
        found = compare(
            theirs, hands.held.claims(), settling=hands.settler.in_flight(), claiming=hands.claimer.in_flight
        )
        confirmed = self._suspects.confirmed_by(found)
        self._suspects = found
        if not hands.claimer.in_flight:
            hands.claimer.unsure = False
        if confirmed:
            self._confirmed = confirmed
            self.nudge()

    async def _give_back(self, confirmed: Difference) -> None:
        for run_id, attempt in sorted(confirmed.phantoms):
            hold = self._hands.held.get(run_id)
            if hold is not None and hold.run.attempt == attempt:
                self._hands.executor.forget(hold)
        orphans = sorted(confirmed.orphans)
        for start in range(0, len(orphans), _BATCH):
            await self._release(dict(orphans[start : start + _BATCH]))

    async def _release(self, orphans: dict[str, int]) -> None:
        """Gives back claims that the store holds for this worker, and that nobody here ever heard of."""
        runs = (await self._parts.store.list_runs(RunFilter(ids=tuple(orphans)), Page(limit=len(orphans)))).items
        settlements = [
            Settlement(
                id=run.id,
                attempt=run.attempt,
                worker=self.worker,
                cancel_seen=run.cancel_requested,
                transition=release(run, cancel_requested=run.cancel_requested, now=self._hands.time.now()),
            )
            for run in runs
            if (run.attempt, run.worker) == (orphans[run.id], self.worker)
        ]
        if settlements:
            log.warning("worker.gave_back", worker=self.worker, runs=len(settlements))
            settled = await self._parts.store.settle(settlements)
            self._parts.wake.hint(settled.queues)
