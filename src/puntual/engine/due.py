"""When the run of a tick is due: the tick, moved by its schedule's stable spread and its own stable jitter."""

from __future__ import annotations

from functools import lru_cache

from puntual.model.schedule import ScheduleSpec
from puntual.timing import rule as rules
from puntual.timing.rule import Compiled
from puntual.timing.spread import stable_offset


@lru_cache(maxsize=32_768)
def compiled(timetable: str) -> Compiled:
    """The rule of a schedule, ready to be asked; kept, because most are asked again within the minute.

    Raises:
        InvalidRuleError: it cannot be read, by this version of puntual at least.
        InvalidZoneError: its zone is not known to this tz database.
    """
    return rules.compile(rules.read_timetable(timetable))


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


def first_open(spec: ScheduleSpec, tick: int | None) -> int | None:
    """A tick itself if nothing closes it, else the next that makes a run."""
    rule = compiled(spec.timetable)
    if tick is None or rule.closed is None:
        return tick
    return rule.open_next(tick - 1)


def first_tick_due_after(spec: ScheduleSpec, last_tick: int, now: int) -> int | None:
    """The first tick after ``last_tick`` whose due time is after now."""
    rule = compiled(spec.timetable)
    tick = rule.next(max(last_tick, now - spec.spread_us - spec.jitter_us))
    while tick is not None and due(spec, tick) <= now:
        tick = rule.next(tick)
    return tick
