"""Execute: a held claim starts on its instant, ends by its deadline, and always leaves an outcome. Knows no database.

Claims wait in a timer until due, then in line for a slot. The lease is checked at each start: a worker that cannot
renew starts nothing. An attempt that ignores being stopped is given up after a while: its outcome is recorded, its
slot stays taken until it really ends, because what it uses is still used.

The runs of a batch task that are in line share a call, which takes one slot, has one deadline, and is stopped when all
of them are to be. When it fails as a whole each of its runs is called by itself, in the same attempt.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Container, Sequence

import msgspec

from puntual.engine.held import Group, Held, Hold, Stage, Stop, StoreTime
from puntual.engine.line import Line
from puntual.engine.pace import Pace
from puntual.model.attempt import ErrorInfo, OutcomeKind
from puntual.model.clock import Clock
from puntual.model.instant import SECOND
from puntual.model.outcome import Outcome
from puntual.model.payload import safe_text
from puntual.model.run import Run
from puntual.targets.contract import BatchTarget, Targets

#: How long an attempt may take to stop before it is given up.
STOP_PATIENCE = 5.0
#: What has not started this long after it could have is given back to others.
STALE_US = 500_000
#: How often that is looked for while something waits, seconds.
_STALE_CHECK = 0.1
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
        slots: how many calls run at a time; an attempt is one, those of a batch share one.
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
        self._line = Line(self._batch_of)
        self._pace = Pace(slots, clock)
        self._sizes: dict[str, int] = {}
        self._gathered: list[Hold] = []
        self._armed: list[tuple[int, int, Hold]] = []
        self._deadlines: list[tuple[float, int, Group]] = []
        self._order = itertools.count()
        self._armed_timer: asyncio.TimerHandle | None = None
        self._deadline_timer: asyncio.TimerHandle | None = None
        self._stale_timer: asyncio.TimerHandle | None = None
        self._enforced_until = 0.0
        self._groups: dict[asyncio.Task[None], Group] = {}
        self.finished: Callable[[Hold, Outcome | None], None] = _nobody
        self.trusted: Callable[[], bool] = lambda: True
        self.freed: Callable[[], None] = lambda: None

    @property
    def running(self) -> int:
        """How many calls are under way, those that were given up included."""
        return len(self._groups)

    @property
    def empty(self) -> bool:
        """Whether no claim is held."""
        return not len(self._held)

    def room(self) -> int:
        """How many more claims are worth holding: free slots, and what they are expected to start within 400 ms."""
        expected = self._pace.expected(busy=self.running >= self._slots)
        return self._slots - self.running + expected - len(self._line) - len(self._armed)

    def room_beside(self, runs: Sequence[Run]) -> dict[str, int]:
        """Of which batch tasks these runs do not fill the next call, with those in line, and how many more would."""
        here = {task: count + self._line.waiting(task) for task, count in Counter(run.task for run in runs).items()}
        return {task: more for task, count in here.items() if (more := self._batch_of(task) - count) > 0}

    def accept(self, runs: Sequence[Run], *, gather: Container[str] = ()) -> None:
        """Takes claims: what is due lines up, the rest is armed; those of the tasks in ``gather`` wait for `begin`."""
        now = self._time.now()
        for run in runs:
            known = self._held.get(run.id)
            if known is not None:
                if known.run.attempt == run.attempt:
                    continue  # A database that lost its tail in a failover gives the very same claim out again.
                self.forget(known)
            hold = Hold(run)
            self._held.add(hold)
            if run.task in gather:
                self._gathered.append(hold)
            else:
                self._place(hold, now)
        self._set_armed_timer()
        self._fill()

    def begin(self) -> None:
        """All that was to be gathered is there."""
        now = self._time.now()
        for hold in self._gathered:
            if hold.stage is Stage.ARMED:
                self._place(hold, now)
        self._gathered.clear()
        self._set_armed_timer()
        self._fill()

    def _place(self, hold: Hold, now: int) -> None:
        if hold.run.claim_at <= now:
            self._line.add(hold)
        else:
            heapq.heappush(self._armed, (hold.run.claim_at, next(self._order), hold))

    def stale(self) -> list[Hold]:
        """Claims that could have started long since, and did not: taken out of the line, for others.

        Those that did start, in a call that failed, are the line's own to finish.
        """
        limit = self._time.now() - STALE_US
        given = [
            hold
            for hold in (*self._line, *self._gathered)
            if hold.stage in (Stage.READY, Stage.ARMED) and not hold.started_at and _startable_at(hold) < limit
        ]
        for hold in given:
            hold.stage = Stage.SETTLING
        return given

    def unstarted(self) -> list[Hold]:
        """Every claim that waits for its start, taken out of line and timer; what began in a call that failed stays."""
        given = [hold for hold in self._held if hold.stage in (Stage.ARMED, Stage.READY) and not hold.started_at]
        for hold in given:
            hold.stage = Stage.SETTLING
        self._armed.clear()
        return given

    def stop(self, hold: Hold, why: Stop) -> None:
        """Stops an attempt, or ends a claim that waits; in company an attempt is let be, and judged by its wish."""
        if hold.stage in (Stage.ARMED, Stage.READY):
            hold.stage = Stage.SETTLING
            self.finished(hold, self._cut_short(hold, why))
        elif hold.stage is Stage.STARTED:
            self._withdraw(hold, why)

    def forget(self, hold: Hold) -> None:
        """Drops a claim that is no longer ours; an attempt under way is stopped and leaves no outcome."""
        if hold.stage is Stage.STARTED:
            self._withdraw(hold, Stop.LEASE)
        hold.stage = Stage.SETTLING
        self._held.drop(hold)

    def resume(self) -> None:
        """The lease stands again: starts what lined up meanwhile."""
        self._fill()

    def wants_more(self) -> bool:
        """Whether the line is about to run dry."""
        return len(self._line) <= self._slots // 2

    async def finish_all(self) -> None:
        """Waits until nothing is in line or under way, however many there are."""
        while self._groups:
            await asyncio.wait(self._groups)

    async def drain(self, grace: float) -> None:
        """Waits until no attempt is under way, at most ``grace`` seconds; then stops those that are left.

        What is stopped so is given back: it ended because the worker goes, not because of the run.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self.finish_all()
        for hold in self._held:
            self.stop(hold, Stop.DRAIN)
        if self._groups:
            await asyncio.wait(self._groups, timeout=STOP_PATIENCE)
        for hold in self._held:
            if hold.group is not None:
                self._give_up(hold.group)

    async def close(self) -> None:
        """Leaves nothing behind: cancels the timers and the attempts still under way; waits for those that obey."""
        for timer in (self._armed_timer, self._deadline_timer, self._stale_timer):
            if timer is not None:
                timer.cancel()
        for hold in self._held:
            self.forget(hold)
        for task in self._groups:
            task.cancel()
        if self._groups:
            await asyncio.wait(self._groups, timeout=STOP_PATIENCE)

    def _batch_of(self, task: str) -> int:
        size = self._sizes.get(task)
        if size is None:
            target = self._targets.get(task)
            size = self._sizes[task] = target.batch_of(task) if isinstance(target, BatchTarget) else 1
        return size

    def _fill(self) -> None:
        if self._line and self.trusted():
            while self.running < self._slots and (holds := self._line.next()):
                self._start(holds)
        if self._stale_timer is None and (self._line or self._gathered):
            self._watch_line(STALE_US / SECOND)

    def _watch_line(self, seconds: float) -> None:
        self._stale_timer = asyncio.get_running_loop().call_later(seconds, self._give_back)

    def _give_back(self) -> None:
        """Nobody waits for long, however long the next claim may hang."""
        self._stale_timer = None
        for hold in self.stale():
            self.finished(hold, None)
        if self._line or self._gathered:
            self._watch_line(_STALE_CHECK)

    def _start(self, holds: list[Hold]) -> None:
        group = Group(holds, self._clock.steady())
        now = self._time.now()
        for hold in holds:
            hold.stage = Stage.STARTED
            hold.group = group
            # A run whose call failed as a whole is still in the attempt that it began in company.
            hold.started_at = hold.started_at or max(now, hold.run.claimed_at or 0)
        timeout_us = holds[0].run.policy.timeout_us
        if timeout_us is not None:
            self._watch(group, group.started + timeout_us / 1_000_000)
        group.task = asyncio.get_running_loop().create_task(self._attempt(group))
        self._groups[group.task] = group
        # Not in the attempt itself: a task that is cancelled before its first step never gets there.
        group.task.add_done_callback(self._over)

    def _watch(self, group: Group, deadline: float) -> None:
        """One heap and one timer for all deadlines; ended attempts are swept out once they outnumber the others."""
        if len(self._deadlines) > 2 * self._slots + _FEW:
            self._deadlines = [entry for entry in self._deadlines if entry[2].holds]
            heapq.heapify(self._deadlines)
        heapq.heappush(self._deadlines, (deadline, next(self._order), group))
        if self._deadlines[0][2] is group:
            self._set_deadline_timer()

    async def _attempt(self, group: Group) -> None:
        outcomes: Sequence[Outcome]
        first, size = group.holds[0].run, len(group.holds)
        try:
            target = self._targets[first.task]
            if size > 1 and isinstance(target, BatchTarget):
                outcomes = await target.execute_batch([hold.run for hold in group.holds])
            else:
                outcomes = (await target.execute(first),)
        except asyncio.CancelledError:
            self._give_up(group)
            return
        except Exception as error:  # noqa: BLE001 - a target that raises is our own fault; the run must not hang for it
            told = ErrorInfo(type(error).__name__, safe_text(error, limit=2_000))
            outcomes = [Outcome(kind=OutcomeKind.FAILED, error=told)] * size
        if len(outcomes) == size:
            self._finish(group, outcomes)
        else:
            self._part(group)

    def _over(self, task: asyncio.Task[None]) -> None:
        """A slot is free, and the attempt has left its outcome."""
        group = self._groups.pop(task)
        if group.holds:
            self._give_up(group)
        self._pace.freed()
        self._fill()
        self.freed()

    def _finish(self, group: Group, outcomes: Sequence[Outcome]) -> None:
        holds, group.holds = group.holds, []
        if not holds:
            return
        self._pace.took(self._clock.steady() - group.started, len(holds))
        now = self._time.now()
        seen: Outcome | None = None
        stamped = outcomes[0]
        for hold, outcome in zip(holds, outcomes, strict=True):
            if hold.stage is not Stage.STARTED:
                continue
            if hold.stop is not None and outcome.kind is not OutcomeKind.SUCCEEDED:
                # Whatever a handler made of its cancellation, it was stopped by us, and for this reason; what it had to
                # show until then is kept.
                outcome = msgspec.structs.replace(_stopped(hold), evidence=outcome.evidence)  # noqa: PLW2901
            if outcome is not seen or stamped.started_at != hold.started_at:
                seen = outcome
                finished_at = max(now, hold.started_at)
                stamped = msgspec.structs.replace(outcome, started_at=hold.started_at, finished_at=finished_at)
            hold.stage = Stage.SETTLING
            hold.group = None
            self.finished(hold, stamped)

    def _part(self, group: Group) -> None:
        """A call has failed as a whole: its runs go to the head of the line, each by itself."""
        again = [hold for hold in group.holds if hold.stage is Stage.STARTED and hold.stop is None]
        self._line.put_first(again)
        self._give_up(group)

    def _give_up(self, group: Group) -> None:
        self._finish(group, [_stopped(hold) for hold in group.holds])

    def _cut_short(self, hold: Hold, why: Stop) -> Outcome | None:
        """What a claim that waits has produced: nothing, unless its attempt began in a call that failed."""
        if not hold.started_at:
            return None
        hold.stop = why
        finished_at = max(self._time.now(), hold.started_at)
        return msgspec.structs.replace(_stopped(hold), started_at=hold.started_at, finished_at=finished_at)

    def _withdraw(self, hold: Hold, why: Stop) -> None:
        """Nobody waits for this attempt any more; a call that nobody waits for is stopped."""
        group = hold.group
        if hold.stop is not None or group is None or group.task is None:
            return
        hold.stop = why
        group.wanted -= 1
        if not group.wanted:
            group.task.cancel()
            asyncio.get_running_loop().call_later(STOP_PATIENCE, self._give_up, group)

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
                self._line.add(hold)
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
        while self._deadlines and (self._deadlines[0][0] <= now or not self._deadlines[0][2].holds):
            for hold in heapq.heappop(self._deadlines)[2].holds:
                self._withdraw(hold, Stop.DEADLINE)
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
