"""Execute: a held claim starts on its instant, ends by its deadline, and always leaves an outcome. Knows no database.

Claims wait in a timer until due, then in line for a slot. The lease is checked at each start: a worker that cannot
renew starts nothing. An attempt that ignores being stopped is given up after a while: its outcome is recorded, its
slot stays taken until it really ends, because what it uses is still used.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections import deque
from collections.abc import Callable

import msgspec

from puntual.engine.held import Held, Hold, Stage, Stop, StoreTime
from puntual.model.attempt import ErrorInfo, OutcomeKind
from puntual.model.clock import Clock
from puntual.model.outcome import Outcome
from puntual.model.payload import safe_text
from puntual.model.run import Run
from puntual.targets.contract import Targets

#: How long an attempt may take to stop before it is given up.
STOP_PATIENCE = 5.0
#: What has not started this long after it could have is given back to others.
STALE_US = 500_000
#: A claim takes what is expected to start within this time, seconds: less than it may be held for. With 0.2 and 5,000
#: the p99 lateness of 10,000 schedules of one instant was 386 ms, with 0.4 and 10,000 it was 269 ms (ADR 0008).
_EXPECTED_WITHIN = 0.4
_MOST_EXPECTED = 10_000
_SMOOTHING = 0.05
_SHORTEST = 0.001
_FEW = 64

_STOPPED = {
    Stop.DEADLINE: OutcomeKind.TIMED_OUT,
    Stop.CANCEL: OutcomeKind.CANCELLED,
    Stop.LEASE: OutcomeKind.CANCELLED,
    Stop.DRAIN: OutcomeKind.CANCELLED,
}


class Executor:
    """Starts held claims within ``slots`` at a time and hands each outcome to ``finished``.

    Args:
        targets: by task name.
        slots: how many attempts run at a time.
        clock: measures deadlines.
        time: the store's time.
        held: where claims are listed.

    ``finished`` is called with each claim and its outcome, once, or None for a claim that ends without having begun;
    ``trusted`` is asked at each start whether this worker's lease still stands; ``freed`` is called when a slot becomes
    free.
    """

    def __init__(self, targets: Targets, slots: int, *, clock: Clock, time: StoreTime, held: Held) -> None:
        self._targets = targets
        self._slots = slots
        self._clock = clock
        self._time = time
        self._held = held
        self._ready: deque[Hold] = deque()
        self._armed: list[tuple[int, int, Hold]] = []
        self._deadlines: list[tuple[float, int, Hold]] = []
        self._order = itertools.count()
        self._armed_timer: asyncio.TimerHandle | None = None
        self._deadline_timer: asyncio.TimerHandle | None = None
        self._enforced_until = 0.0
        self._tasks: set[asyncio.Task[None]] = set()
        self._duration: float | None = None
        self._finished_at = clock.steady()
        self.finished: Callable[[Hold, Outcome | None], None] = _nobody
        self.trusted: Callable[[], bool] = lambda: True
        self.freed: Callable[[], None] = lambda: None

    @property
    def running(self) -> int:
        """How many attempts are under way, those that were given up included."""
        return len(self._tasks)

    def room(self) -> int:
        """How many more claims are worth holding: free slots, and what they are expected to start within 400 ms."""
        return self._slots - self.running + self._expected() - len(self._ready) - len(self._armed)

    def _expected(self) -> int:
        """Nothing until an attempt was measured, and less and less while all slots are busy and none becomes free."""
        if self._duration is None:
            return 0
        silence = self._clock.steady() - self._finished_at if self.running >= self._slots else 0.0
        return min(int(self._slots * _EXPECTED_WITHIN / max(self._duration, silence)), _MOST_EXPECTED)

    def accept(self, runs: tuple[Run, ...]) -> None:
        """Takes claims: what is due lines up, the rest is armed."""
        now = self._time.now()
        for run in runs:
            hold = Hold(run)
            self._held.add(hold)
            if run.claim_at <= now:
                hold.stage = Stage.READY
                self._ready.append(hold)
            else:
                heapq.heappush(self._armed, (run.claim_at, next(self._order), hold))
        self._set_armed_timer()
        self._fill()

    def stale(self) -> list[Hold]:
        """Claims that could have started long since, and did not: taken out of the line, for others."""
        limit = self._time.now() - STALE_US
        given = [hold for hold in self._ready if hold.stage is Stage.READY and _startable_at(hold) < limit]
        for hold in given:
            hold.stage = Stage.SETTLING
        return given

    def unstarted(self) -> list[Hold]:
        """Every claim that has not started, taken out of line and timer."""
        given = [hold for hold in self._held if hold.stage in (Stage.ARMED, Stage.READY)]
        for hold in given:
            hold.stage = Stage.SETTLING
        self._ready.clear()
        self._armed.clear()
        return given

    def stop(self, hold: Hold, why: Stop) -> None:
        """Stops an attempt, or ends a claim that has not begun."""
        if hold.stage in (Stage.ARMED, Stage.READY):
            hold.stage = Stage.SETTLING
            self.finished(hold, None)
        elif hold.stage is Stage.STARTED and hold.stop is None and hold.task is not None:
            hold.stop = why
            hold.task.cancel()
            asyncio.get_running_loop().call_later(STOP_PATIENCE, self._give_up, hold)

    def forget(self, hold: Hold) -> None:
        """Drops a claim that is no longer ours; an attempt under way is stopped and leaves no outcome."""
        started = hold.stage is Stage.STARTED
        hold.stage = Stage.SETTLING
        self._held.drop(hold)
        if started and hold.task is not None:
            hold.stop = Stop.LEASE
            hold.task.cancel()

    def resume(self) -> None:
        """The lease stands again: starts what lined up meanwhile."""
        self._fill()

    def wants_more(self) -> bool:
        """Whether the line is about to run dry."""
        return len(self._ready) <= self._slots // 2

    async def finish_all(self) -> None:
        """Waits until nothing is in line or under way, however many there are."""
        while self._tasks:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    async def drain(self, grace: float) -> None:
        """Waits until no attempt is under way, at most ``grace`` seconds; then stops those that are left.

        What is stopped so is given back: it ended because the worker goes, not because of the run.
        """
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace)
        for hold in self._held:
            self.stop(hold, Stop.DRAIN)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=STOP_PATIENCE)
        for hold in self._held:
            self._give_up(hold)

    async def close(self) -> None:
        """Leaves nothing behind: cancels the timers and the attempts still under way; waits for those that obey."""
        for timer in (self._armed_timer, self._deadline_timer):
            if timer is not None:
                timer.cancel()
        for hold in self._held:
            self.forget(hold)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=STOP_PATIENCE)

    def _fill(self) -> None:
        if not self._ready or not self.trusted():
            return
        while self._ready and self.running < self._slots:
            hold = self._ready.popleft()
            if hold.stage is Stage.READY:
                self._start(hold)

    def _start(self, hold: Hold) -> None:
        hold.stage = Stage.STARTED
        hold.started_at = max(self._time.now(), hold.run.claimed_at or 0)
        if hold.run.policy.timeout_us is not None:
            self._watch(hold, self._clock.steady() + hold.run.policy.timeout_us / 1_000_000)
        hold.task = asyncio.get_running_loop().create_task(self._attempt(hold))
        self._tasks.add(hold.task)
        # Not in the attempt itself: a task that is cancelled before its first step never gets there.
        hold.task.add_done_callback(lambda task: self._over(hold, task))

    def _watch(self, hold: Hold, deadline: float) -> None:
        """One heap and one timer for all deadlines; ended attempts are swept out once they outnumber the others."""
        if len(self._deadlines) > 2 * self._slots + _FEW:
            self._deadlines = [entry for entry in self._deadlines if entry[2].stage is Stage.STARTED]
            heapq.heapify(self._deadlines)
        heapq.heappush(self._deadlines, (deadline, next(self._order), hold))
        if self._deadlines[0][2] is hold:
            self._set_deadline_timer()

    async def _attempt(self, hold: Hold) -> None:
        try:
            outcome = await self._targets[hold.run.task].execute(hold.run)
        except asyncio.CancelledError:
            outcome = _stopped(hold)
        except Exception as error:  # noqa: BLE001 - a target that raises is our own fault; the run must not hang for it
            told = ErrorInfo(type(error).__name__, safe_text(error, limit=2_000))
            outcome = Outcome(kind=OutcomeKind.FAILED, error=told)
        self._finish(hold, outcome)

    def _over(self, hold: Hold, task: asyncio.Task[None]) -> None:
        """A slot is free, and the attempt has left its outcome."""
        self._give_up(hold)
        self._tasks.discard(task)
        self._finished_at = self._clock.steady()
        self._fill()
        self.freed()

    def _finish(self, hold: Hold, outcome: Outcome) -> None:
        if hold.stage is not Stage.STARTED:
            return
        hold.stage = Stage.SETTLING
        finished_at = max(self._time.now(), hold.started_at)
        took = max((finished_at - hold.started_at) / 1e6, _SHORTEST)
        self._duration = took if self._duration is None else self._duration + _SMOOTHING * (took - self._duration)
        if hold.stop is not None and outcome.kind is not OutcomeKind.SUCCEEDED:
            # Whatever a handler made of its cancellation, it was stopped by us, and for this reason; what it had to
            # show until then is kept.
            outcome = msgspec.structs.replace(_stopped(hold), evidence=outcome.evidence)
        self.finished(hold, msgspec.structs.replace(outcome, started_at=hold.started_at, finished_at=finished_at))

    def _give_up(self, hold: Hold) -> None:
        if hold.stage is Stage.STARTED:
            self._finish(hold, _stopped(hold))

    def _set_armed_timer(self) -> None:
        if self._armed_timer is not None:
            self._armed_timer.cancel()
            self._armed_timer = None
        if self._armed:
            delay = (self._armed[0][0] - self._time.now()) / 1_000_000
            self._armed_timer = asyncio.get_running_loop().call_later(max(delay, 0), self._line_up)

    def _line_up(self) -> None:
        now = self._time.now()
        while self._armed and self._armed[0][0] <= now:
            hold = heapq.heappop(self._armed)[2]
            if hold.stage is Stage.ARMED:
                hold.stage = Stage.READY
                self._ready.append(hold)
        self._set_armed_timer()
        self._fill()

    def _set_deadline_timer(self) -> None:
        if self._deadline_timer is not None:
            self._deadline_timer.cancel()
            self._deadline_timer = None
        if self._deadlines:
            self._enforced_until = self._deadlines[0][0]
            delay = self._enforced_until - self._clock.steady()
            self._deadline_timer = asyncio.get_running_loop().call_later(max(delay, 0), self._enforce)

    def _enforce(self) -> None:
        # The timer has run for as long as it was set, whatever a clock that is moved by hand says.
        now = max(self._clock.steady(), self._enforced_until)
        while self._deadlines and (self._deadlines[0][0] <= now or self._deadlines[0][2].stage is not Stage.STARTED):
            hold = heapq.heappop(self._deadlines)[2]
            if hold.stage is Stage.STARTED:
                self.stop(hold, Stop.DEADLINE)
        self._set_deadline_timer()


def _nobody(hold: Hold, outcome: Outcome | None) -> None:
    """Takes outcomes before a settler is connected."""


def _startable_at(hold: Hold) -> int:
    return max(hold.run.claim_at, hold.run.claimed_at or 0)


def _stopped(hold: Hold) -> Outcome:
    why = hold.stop or Stop.CANCEL
    error = None
    if why is Stop.DEADLINE:
        limit = (hold.run.policy.timeout_us or 0) / 1_000_000
        error = ErrorInfo("TimedOut", f"The attempt did not end within its timeout of {limit:g} s.")
    return Outcome(kind=_STOPPED[why], error=error)
