"""Plan: ticks become runs, each exactly once, and every tick that makes none is accounted for.

``plan`` decides, purely; the store applies it in the transaction in which it was read. The order of a decision:

1. ticks that a pause covered are passed over as skipped;
2. late ticks (nobody planned them within ``LATE_US`` of their instant) are one misfire, decided at once with the rule's
   ``previous`` and ``count``, never by walking;
3. the rest is taken tick by tick up to the horizon. Ahead of its instant a tick is planned only if nothing of its
   schedule is
   live (or ``allow_all``); else it is decided at its own instant by the overlap policy.

A buffered tick is a tick not planned yet: the cursor stays, ``seen_at`` remembers that somebody looked, ``look_at``
comes back.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from puntual.model.ids import tick_run_id
from puntual.model.instant import SECOND
from puntual.model.policy import RunPolicy
from puntual.model.run import NewRun, Origin
from puntual.model.schedule import Fate, FateReason, MisfirePolicy, Overlap, Pause, Schedule, ScheduleSpec, Stretch
from puntual.store.requests import PlanView, PlanWrite
from puntual.timing import rule as rules
from puntual.timing.rule import Compiled, Timetable
from puntual.timing.spread import stable_offset

#: How far ahead ticks become runs, so that a claim can precede the instant.
HORIZON_US = 5 * SECOND
#: A tick first looked at later than this after its instant is a misfire.
LATE_US = 5 * SECOND
#: A waiting tick is looked at again after this, hint or not.
_LOOK_AGAIN_US = SECOND
#: A schedule that cannot be planned is tried again after this.
_TROUBLED_US = 60 * SECOND
_HANDED_PER_ROUND = 1_000
_CATCH_UP_CAP = 100_000


@lru_cache(maxsize=32_768)
def compiled(timetable: str) -> Compiled:
    """The rule of a schedule, ready to be asked; kept, because most are asked again within the minute."""
    return rules.compile(msgspec.json.decode(timetable, type=Timetable))


def due(spec: ScheduleSpec, tick: int) -> int:
    """When the run of a tick is due: the tick, moved by the schedule's stable spread and its own stable jitter.

    Jitter never reaches the next tick: due times keep the order of the ticks, whatever jitter is asked for.
    """
    if not spec.spread_us and not spec.jitter_us:
        return tick
    moved = tick
    if spec.spread_us:
        moved += stable_offset(spec.name, spec.spread_us)
    if spec.jitter_us:
        following = compiled(spec.timetable).next(tick)
        room = spec.jitter_us if following is None else min(spec.jitter_us, following - tick)
        moved += stable_offset(f"{spec.name}\0{tick}", room)
    return moved


def first_tick_due_after(spec: ScheduleSpec, last_tick: int, now: int) -> int | None:
    """The first tick after ``last_tick`` whose due time is after now."""
    rule = compiled(spec.timetable)
    tick = rule.next(max(last_tick, now - spec.spread_us - spec.jitter_us))
    while tick is not None and due(spec, tick) <= now:
        tick = rule.next(tick)
    return tick


def plan(
    view: PlanView, paused_all: Pause | None, now: int, horizon_us: int = HORIZON_US, *, closing: bool = False
) -> PlanWrite:
    """What comes of a schedule's ticks up to ``now + horizon_us``.

    Args:
        view: the schedule and its live runs, as read in this transaction.
        paused_all: the last pause of everything, active or over.
        now: the store's time.
        horizon_us: how far ahead to plan; 0 plans only what is owed.
        closing: this rule ends here (an edit follows): no tick up to now may stay undecided.
    """
    walk = _Walk(view, now, closing=closing)
    # The earlier first: what came due under it is not owed because another pause began later.
    for pause in sorted(filter(None, (view.schedule.pause, paused_all)), key=lambda pause: pause.since):
        # What was due before the pause is owed as ever; only what came due under it is passed over.
        walk.until = min(pause.since, now)
        look_at = _take_all(walk, walk.until)
        if walk.undecided(walk.until):
            return walk.write(look_at=look_at)
        walk.until = now
        walk.pass_paused(now if pause.until is None else min(now, pause.until))
        if pause.active(now):
            return walk.write(look_at=pause.until)
    return walk.write(look_at=_take_all(walk, now + horizon_us))


def set_back(view: PlanView, now: int, trouble: str) -> PlanWrite:
    """A schedule that cannot be planned (its zone is unknown here, its rule unreadable): later again, and why.

    It holds up no other; its cursor stays where it is, so that nothing is lost once it can be planned.
    """
    cursor = view.schedule.cursor
    return PlanWrite(
        schedule_id=view.schedule.id,
        revision=view.schedule.revision,
        was_next_tick_at=cursor.next_tick_at,
        cursor=msgspec.structs.replace(cursor, look_at=now + _TROUBLED_US, trouble=trouble),
    )


def _take_all(walk: _Walk, limit: int) -> int | None:
    """Takes tick after tick until the limit, a live run or the bound of one round; says when to look again."""
    now = walk.now
    while walk.next is not None:
        tick_due = walk.due(walk.next)
        if tick_due > limit:
            return tick_due - HORIZON_US
        if walk.blocked and tick_due > now:
            return tick_due
        if len(walk.runs) < _HANDED_PER_ROUND:
            walk.take(walk.next, tick_due)
        elif walk.closing:
            walk.pass_due(Fate.MISSED, FateReason.DOWN)
        else:
            return now
        if walk.waiting:
            return now + _LOOK_AGAIN_US
    return None


class _Walk:
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

    @property
    def blocked(self) -> bool:
        """Whether a tick may not simply run now."""
        return bool(self.live or self.runs) and self.overlap is not Overlap.ALLOW_ALL

    def due(self, tick: int) -> int:
        return due(self.spec, tick)

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
        if tick_due < self.now - LATE_US and not waited:
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

    def pass_until(self, last: int, fate: Fate, reason: FateReason | None) -> None:
        """All ticks from the next one to ``last`` make no run; nothing happens when there are none."""
        first = self.next
        if first is None or last < first:
            return
        count = self.rule.count(first - 1, last, _CATCH_UP_CAP + 1)
        at_least = count > _CATCH_UP_CAP
        count = min(count, _CATCH_UP_CAP)
        self._extend(Stretch(self.number + 1, first, last, count, at_least, fate, reason))
        self.number += count
        self.last_tick = last
        self.next = self.rule.next(last)

    def pass_paused(self, until: int) -> None:
        """Ticks that came due during a pause. Runs planned before it are owed; ticks before it were planned."""
        self.pass_until(self.latest(until), Fate.SKIPPED, FateReason.PAUSED)

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
        if self._out_of_grace(last):
            self.pass_until(last, Fate.MISSED, FateReason.GRACE)
            return
        self.pass_until(self.rule.previous(last - 1) or 0, Fate.COALESCED, None)
        self._late_tick(last, last)

    def _fire_all(self, last: int) -> None:
        grace = self.spec.misfire_grace_us
        if grace is not None:
            self.pass_until(min(last, self.latest(self.now - grace - 1)), Fate.MISSED, FateReason.GRACE)
        while self.next is not None and self.next <= last and not self.waiting:
            if self.caught_up >= _CATCH_UP_CAP:
                self.pass_until(last, Fate.MISSED, FateReason.DOWN)
                return
            if len(self.runs) >= _HANDED_PER_ROUND:
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
