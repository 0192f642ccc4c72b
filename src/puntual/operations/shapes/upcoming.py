"""What is to come of a schedule: the ticks that will make a run, and those between them that something closes."""

from __future__ import annotations

from typing import Final, NotRequired, TypedDict

from puntual.engine.due import compiled
from puntual.model.instant import format_instant
from puntual.model.schedule import Schedule

#: As many closed stretches are told of at most, and a stretch is counted so far.
_MOST: Final = 100
_COUNTED: Final = 10_000


class ClosedShape(TypedDict):
    """Ticks in a row that make no run, and why: ``calendar`` or ``blackout``.

    It has ``at_least`` instead of ``count`` where that is capped, as a stretch of the record has.
    """

    tick_at: str
    last_tick_at: str
    count: NotRequired[int]
    at_least: NotRequired[int]
    reason: str


class UpcomingShape(TypedDict):
    """The next ticks that make a run, and what is skipped before the last of them."""

    fires: list[str]
    skipped: list[ClosedShape]


def upcoming_shape(schedule: Schedule, now: int, count: int) -> UpcomingShape:
    """The next ``count`` ticks after an instant, a pause not considered."""
    rule = compiled(schedule.spec.timetable)
    fires: list[str] = []
    skipped: list[ClosedShape] = []
    tick = rule.next(now)
    while tick is not None and len(fires) < count:
        reason = None if rule.closed is None else rule.closed.reason(tick)
        if reason is None:
            fires.append(format_instant(tick))
            tick = rule.next(tick)
            continue
        assert rule.closed is not None
        if len(skipped) == _MOST:
            tick = rule.open_next(tick)
            continue
        edge = rule.closed.until(tick)
        last = tick if edge is None else max(tick, rule.previous(edge - 1) or 0)
        closed: ClosedShape = {
            "tick_at": format_instant(tick),
            "last_tick_at": format_instant(last),
            "reason": reason,
        }
        count_of = rule.count(tick - 1, last, _COUNTED + 1)
        closed["at_least" if count_of > _COUNTED else "count"] = min(count_of, _COUNTED)
        skipped.append(closed)
        tick = None if edge is None else rule.next(last)
    return {"fires": fires, "skipped": skipped}
