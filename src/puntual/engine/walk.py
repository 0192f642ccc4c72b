"""The walk of a plan over the ticks of one schedule: each becomes a run, or part of a stretch that says why not."""

from __future__ import annotations

from typing import Final

import msgspec

from puntual.engine.due import compiled, due
from puntual.model.ids import tick_run_id
from puntual.model.instant import SECOND
from puntual.model.policy import RunPolicy
from puntual.model.run import NewRun, Origin
from puntual.model.schedule import Fate, FateReason, MisfirePolicy, Overlap, Schedule, Stretch
from puntual.store.requests import PlanView, PlanWrite
from puntual.timing.spread import stable_offset
from puntual.timing.zone import tz_version

#: A tick first looked at later than this after its instant is a misfire.
LATE_US: Final = 5 * SECOND
#: How many runs one round of a schedule hands out, and about how many stretches it tells of.
HANDED_PER_ROUND: Final = 1_000
_STRETCHES_PER_ROUND: Final = 1_000
#: A rule that ends has no other round: this many stretches of open and closed times it tells apart, about a second's
#: work, and the rest as one.
_STRETCHES_AT_THE_END: Final = 10_000
_CATCH_UP_CAP: Final = 100_000


class Walk:
    """A cursor on its way over the ticks of one schedule, and what it leaves behind."""

    def __init__(self, view: PlanView, now: int, *, closing: bool) -> None:
        cursor = view.schedule.cursor
        self.schedule: Schedule = view.schedule
        self.spec = view.schedule.spec
        self.now = now
        self.until = now
        # A unique key allows one live run, whatever the overlap policy: behind its holder ticks are skipped.
        keyed = self.spec.unique_key is not None and self.spec.overlap is Overlap.ALLOW_ALL
        self.overlap = Overlap.SKIP if keyed else self.spec.overlap
        self.rule = compiled(self.spec.timetable)
        self.next = cursor.next_tick_at
        self.last_tick = cursor.last_tick_at
        self.number = cursor.last_number
        self.seen_at = cursor.seen_at
        self.caught_up = cursor.caught_up
        self.stretch = cursor.stretch
        self.closed: list[Stretch] = []
        self.runs: list[NewRun] = []
        self.live = view.live
        self.cancel: tuple[str, ...] = ()
        self.waiting = False
        #: Whether buffer_one has handed out the tick that waited: what is due by now, past a pause too, is skipped.
        self.first_waited = False
        self.closing = closing
        #: How many stretches are left to be told apart in this round.
        self._looks = _STRETCHES_AT_THE_END if closing else _STRETCHES_PER_ROUND

    @property
    def room(self) -> bool:
        """Whether this round may tell more stretches apart, those of one fate in a row too: each has to be found."""
        return self._looks > 0

    @property
    def blocked(self) -> bool:
        """Whether a tick may not simply run now."""
        return bool(self.live or self.runs) and self.overlap is not Overlap.ALLOW_ALL

    def due(self, tick: int) -> int:
        """When the run of a tick is due."""
        return due(self.spec, tick)

    def shut(self, tick: int) -> FateReason | None:
        """Why a calendar or a blackout keeps a tick from making a run, if one does."""
        closed = self.rule.closed
        reason = None if closed is None else closed.reason(tick)
        return None if reason is None else FateReason(reason)

    def undecided(self, instant: int) -> bool:
        """Whether a tick that was due by then waits for a live run, or for the next round."""
        return self.next is not None and self.due(self.next) <= instant

    def latest(self, instant: int) -> int:
        """The latest tick that is due by then, and by ``until``; 0 when there is none.

        Due times keep the order of the ticks, so at most one tick has to be stepped over.
        """
        limit = min(instant, self.until)
        moved = stable_offset(self.spec.name, self.spec.spread_us) if self.spec.spread_us else 0
        tick = self.rule.previous(limit - moved)
        while tick is not None and self.due(tick) > limit:
            tick = self.rule.previous(tick - 1)
        return tick or 0

    def take(self, tick: int, tick_due: int) -> None:
        """Decides the next tick, or all that share its fate."""
        waited = self.seen_at is not None and tick_due <= self.seen_at
        if self.shut(tick):
            self.pass_shut(max(tick, self.latest(self.now)))
        elif tick_due < self.now - LATE_US and not waited:
            self.misfire()
        elif not self.blocked:
            self.hand_out(tick)
            if waited and self.spec.overlap is Overlap.BUFFER_ONE:
                self.first_waited = True
                self.pass_until(self.latest(self.now), Fate.SKIPPED, FateReason.OVERLAP)
        elif self.overlap is Overlap.SKIP or (self.first_waited and tick_due <= self.now):
            self.pass_due(Fate.SKIPPED, FateReason.OVERLAP)
        else:
            self.wait()

    def pass_due(self, fate: Fate, reason: FateReason) -> None:
        """The next tick and all that are due make no run."""
        self.pass_until(max(self.next or 0, self.latest(self.now)), fate, reason)

    def hand_out(self, tick: int) -> None:
        """This tick makes a run."""
        self._close()
        self.number += 1
        self.last_tick = tick
        run = run_of(self.schedule, tick_run_id(self.schedule.id, tick), Origin.TICK, self.due(tick))
        self.runs.append(msgspec.structs.replace(run, tick_at=tick, tick_number=self.number))
        self.next = self.rule.next(tick)

    def pass_shut(self, last: int) -> None:
        """The next tick, which something closes, and those up to ``last`` that it closes with it."""
        assert self.next is not None
        assert self.rule.closed is not None
        edge = self.rule.closed.until(self.next)
        end = last if edge is None else min(last, self.rule.previous(edge - 1) or 0)
        self._pass(max(self.next, end), Fate.SKIPPED, self.shut(self.next))

    def pass_until(self, last: int, fate: Fate, reason: FateReason | None) -> None:
        """All ticks from the next one to ``last`` make no run; nothing happens when there are none.

        Those that something closes have that as their reason, whatever else would have become of them. Where there are
        more stretches than one round tells apart, the rest stays for the next; a rule that ends has none, so there the
        rest is one stretch of this fate, closed ticks and all.
        """
        closed = self.rule.closed
        while closed is not None and self.next is not None and self.next <= last and self.room:
            if self.shut(self.next):
                self.pass_shut(last)
                continue
            edge = closed.until(self.next)
            self._pass(last if edge is None else min(last, self.rule.previous(edge - 1) or 0), fate, reason)
        if closed is None or (self.closing and not self.room):
            self._pass(last, fate, reason)

    def _pass(self, last: int, fate: Fate, reason: FateReason | None) -> None:
        first = self.next
        if first is None or last < first:
            return
        count = self.rule.count(first - 1, last, _CATCH_UP_CAP + 1)
        at_least = count > _CATCH_UP_CAP
        count = min(count, _CATCH_UP_CAP)
        self._looks -= 1
        self._extend(Stretch(self.number + 1, first, last, count, at_least, fate, reason))
        self.number += count
        self.last_tick = last
        self.next = self.rule.next(last)

    def pass_paused(self, until: int) -> None:
        """Ticks that came due during a pause. Runs planned before it are owed; ticks before it were planned."""
        self._pass(self.latest(until), Fate.SKIPPED, FateReason.PAUSED)

    def misfire(self) -> None:
        """Decides all late ticks at once."""
        assert self.next is not None
        last = max(self.next, self.latest(self.now - LATE_US))
        match self.spec.misfire_policy:
            case MisfirePolicy.SKIP:
                self.pass_until(last, Fate.MISSED, FateReason.DOWN)
            case MisfirePolicy.FIRE_ONCE:
                self._fire_once(last)
            case MisfirePolicy.FIRE_ALL:
                self._fire_all(last)

    def wait(self) -> None:
        """The next tick stays where it is until nothing is live; a rule that ends does not wait."""
        if self.closing:
            self.pass_due(Fate.SKIPPED, FateReason.OVERLAP)
            return
        self.waiting = True
        self.seen_at = self.now
        if self.spec.overlap is Overlap.CANCEL_OTHER:
            self.cancel = self.live

    def write(self, *, look_at: int | None) -> PlanWrite:
        """The whole decision."""
        cursor = self.schedule.cursor
        moved = msgspec.structs.replace(
            cursor,
            look_at=look_at,
            next_tick_at=self.next,
            next_due_at=None if self.next is None else self.due(self.next),
            last_tick_at=self.last_tick,
            last_number=self.number,
            seen_at=self.seen_at if self.waiting else None,
            caught_up=self.caught_up if look_at == self.now else 0,
            trouble=None,
            stretch=self.stretch,
            tzdata=tz_version(),
        )
        return PlanWrite(
            schedule_id=self.schedule.id,
            revision=self.schedule.revision,
            was_next_tick_at=cursor.next_tick_at,
            cursor=moved,
            runs=tuple(self.runs),
            stretches=tuple(self.closed),
            cancel=self.cancel,
        )

    def _fire_once(self, last: int) -> None:
        latest = self.rule.open_previous(last)
        if latest is None or self.next is None or latest < self.next:
            # Nothing open, as far as one look reaches: whatever is beyond it was not planned, grace or not.
            self.pass_until(last, Fate.MISSED, FateReason.DOWN)
            return
        if self._out_of_grace(latest):
            self.pass_until(last, Fate.MISSED, FateReason.GRACE)
            return
        self.pass_until(self.rule.previous(latest - 1) or 0, Fate.COALESCED, None)
        if self.next == latest:
            self._late_tick(latest, last)

    def _fire_all(self, last: int) -> None:
        grace = self.spec.misfire_grace_us
        if grace is not None:
            self.pass_until(min(last, self.latest(self.now - grace - 1)), Fate.MISSED, FateReason.GRACE)
        while self.next is not None and self.next <= last and not self.waiting and self.room:
            if self.shut(self.next):
                self.pass_shut(last)
                continue
            if self.caught_up >= _CATCH_UP_CAP:
                self.pass_until(last, Fate.MISSED, FateReason.DOWN)
                return
            if len(self.runs) >= HANDED_PER_ROUND:
                return
            self._late_tick(self.next, last)

    def _late_tick(self, tick: int, last: int) -> None:
        """A late tick that is owed; the overlap policy has the last word, over all that are as late."""
        if not self.blocked:
            self.caught_up += 1
            self.hand_out(tick)
        elif self.overlap is Overlap.SKIP:
            self.pass_until(last, Fate.SKIPPED, FateReason.OVERLAP)
        else:
            self.wait()

    def _out_of_grace(self, tick: int) -> bool:
        grace = self.spec.misfire_grace_us
        return grace is not None and self.now - self.due(tick) > grace

    def _extend(self, passed: Stretch) -> None:
        """Ticks of one fate and reason in a row are one stretch."""
        open_ = self.stretch
        if open_ is not None and (open_.fate, open_.reason) == (passed.fate, passed.reason):
            self.stretch = msgspec.structs.replace(
                open_,
                last_tick_at=passed.last_tick_at,
                count=open_.count + passed.count,
                at_least=open_.at_least or passed.at_least,
            )
            return
        self._close()
        self.stretch = passed

    def _close(self) -> None:
        if self.stretch is not None:
            self.closed.append(self.stretch)
            self.stretch = None


def run_of(schedule: Schedule, run_id: str, origin: Origin, due_at: int) -> NewRun:
    """A run of this schedule's target, with every option of the schedule."""
    spec = schedule.spec
    return NewRun(
        id=run_id,
        task=spec.target.task,
        args=spec.target.args,
        queue=spec.queue,
        priority=spec.priority,
        origin=origin,
        schedule_id=schedule.id,
        schedule=spec.name,
        due_at=due_at,
        max_attempts=spec.retry.max_attempts,
        policy=RunPolicy(retry=spec.retry, timeout_us=spec.timeout_us, on_lost_lease=spec.on_lost_lease),
        unique_key=spec.unique_key,
        tags=spec.tags,
    )
