"""What was asked of every schedule, and when: the rule, the policies and the pauses under which each tick came due."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from puntual.model.schedule import Pause, ScheduleSpec
from puntual.store.requests import PlanWrite, ScheduleWrite

#: So many runs of one schedule are handed out by one round of planning at most; the rest waits for the next.
_ROUND = 1_000


class Reign(msgspec.Struct, kw_only=True):
    """A rule with its policies, in force from a write on; ticks numbered above ``after`` are its own.

    Its ticks are those due after ``start``: when it was written, or the rule that was only resumed by this.
    What came due up to ``until`` was owed when the next write came. An edit after the clock was set back takes back
    what is ahead once more, and reaches into the reigns before.
    """

    order: int
    start: int
    spec: ScheduleSpec
    pause: Pause | None = None
    after: int = 0
    until: int = 0


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """A write that decided ticks, up to the one numbered ``last``; ``whole`` when it was not bounded to a round."""

    order: int
    now: int
    last: int
    whole: bool = True


class Life(msgspec.Struct, kw_only=True):
    """A schedule from its creation to its removal, if that came.

    ``planned`` are the runs that its ticks were given, without those that edits took back, which are ``withdrawn``.
    """

    id: str
    name: str
    reigns: list[Reign]
    decisions: list[Decision] = []
    removed_at: int | None = None
    planned: dict[str, None] = {}
    withdrawn: dict[str, None] = {}


class Looked(msgspec.Struct, frozen=True):
    """Planners looked, and decided what they found."""

    now: int
    writes: Sequence[PlanWrite]


class Edited(msgspec.Struct, frozen=True):
    """Schedules were created, edited, paused, resumed, removed or triggered."""

    now: int
    writes: Sequence[ScheduleWrite]


class PausedAll(msgspec.Struct, frozen=True):
    """Everything was paused, or resumed."""

    now: int
    pause: Pause


class Past:
    """All that happened to schedules, in its order: each event is known by its place in it."""

    def __init__(self) -> None:
        self.lives: list[Life] = []
        self._standing: dict[str, Life] = {}
        self._pauses: list[tuple[int, Pause]] = []
        self._looks: list[tuple[int, int, bool]] = []
        self.highest = 0

    def pause_at(self, order: int) -> Pause | None:
        """The pause of everything as it stood then."""
        place = bisect_left(self._pauses, order, key=lambda event: event[0])
        return self._pauses[place - 1][1] if place else None

    def looks(self, after: int, before: int | None = None) -> Sequence[tuple[int, int, bool]]:
        """When planners looked, between two events: order, the database's time, and whether anything was planned then.

        While everything is paused nothing is.
        """
        first = bisect_left(self._looks, (after + 1,))
        return self._looks[first : None if before is None else bisect_left(self._looks, (before,))]

    def take(self, order: int, event: Looked | Edited | PausedAll) -> None:
        """The next thing that happened."""
        self.highest = max(self.highest, event.now)
        match event:
            case PausedAll():
                self._pauses.append((order, event.pause))
            case Looked():
                pause = self.pause_at(order)
                self._looks.append((order, event.now, pause is None or not pause.active(event.now)))
                for plan in event.writes:
                    self._decided(order, event.now, plan)
            case Edited():
                for write in event.writes:
                    self._edited(order, event.now, write)

    def _edited(self, order: int, now: int, write: ScheduleWrite) -> None:
        if write.plan is not None:
            self._decided(order, now, write.plan)
        after = write.schedule
        if after is None:
            if write.plan is not None:
                life = self._standing.pop(write.plan.schedule_id)
                life.removed_at = now
                _withdraw(life, write.withdraw)
            return
        life = self._standing.get(after.id) or self._begin(after.id, write.name)
        if life.reigns and write.plan is None:
            return  # Triggered: nothing of the schedule has changed.
        _withdraw(life, write.withdraw)
        number = after.cursor.last_number
        _undo(life.decisions, number)
        last = life.reigns[-1] if life.reigns else None
        resumed = last is not None and last.pause is not None and after.pause is None and last.spec == after.spec
        start = last.start if last is not None and resumed else now
        reign = Reign(order=order, start=start, spec=after.spec, pause=after.pause, after=number)
        for one, following in pairwise((*life.reigns, reign)):
            if following is reign:
                one.until = now
            elif following.after > number:
                one.until, following.after = min(one.until, now), number
        life.reigns.append(reign)

    def _begin(self, schedule_id: str, name: str) -> Life:
        life = self._standing[schedule_id] = Life(id=schedule_id, name=name, reigns=[])
        self.lives.append(life)
        return life

    def _decided(self, order: int, now: int, write: PlanWrite) -> None:
        life = self._standing[write.schedule_id]
        last = life.decisions[-1].last if life.decisions else 0
        if write.cursor.last_number > last:
            whole = len(write.runs) < _ROUND
            life.decisions.append(Decision(order=order, now=now, last=write.cursor.last_number, whole=whole))
        life.planned.update(dict.fromkeys(run.id for run in write.runs))


def _withdraw(life: Life, ids: Sequence[str]) -> None:
    for run_id in ids:
        life.planned.pop(run_id, None)
    life.withdrawn.update(dict.fromkeys(ids))


def _undo(decisions: list[Decision], last: int) -> None:
    """What was decided beyond that number is open again."""
    undone = None
    while decisions and decisions[-1].last > last:
        undone = decisions.pop()
    if undone is not None and last > (decisions[-1].last if decisions else 0):
        decisions.append(msgspec.structs.replace(undone, last=last))


class ScheduleHistory:
    """All edits and rounds of planning that were committed, in their order, with the database's time of each."""

    def __init__(self, events: Sequence[Looked | Edited | PausedAll] = ()) -> None:
        self.events = list(events)

    def looked(self, now: int, writes: Sequence[PlanWrite]) -> None:
        """As ``Looked``."""
        self.events.append(Looked(now, writes))

    def wrote(self, now: int, writes: Sequence[ScheduleWrite]) -> None:
        """As ``Edited``."""
        self.events.append(Edited(now, writes))

    def paused_all(self, now: int, pause: Pause) -> None:
        """As ``PausedAll``."""
        self.events.append(PausedAll(now, pause))

    def copy(self) -> ScheduleHistory:
        """As it is now: what stays after a failover."""
        return ScheduleHistory(self.events)

    def past(self) -> Past:
        """What it comes to."""
        past = Past()
        for order, event in enumerate(self.events):
            past.take(order, event)
        return past
