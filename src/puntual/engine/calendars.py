"""What a calendar's days mean to the schedules that name it: each keeps a copy beside its rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import msgspec

from puntual.engine import edit
from puntual.engine.edit import Moment
from puntual.model.calendar import CalendarSpec
from puntual.model.instant import Instant
from puntual.model.schedule import ScheduleSpec
from puntual.store.calendars import CalendarRead
from puntual.store.requests import PlanView, ScheduleWrite
from puntual.timing.calendar import Calendar, CalendarDays
from puntual.timing.rule import Closures, read_timetable


class Resolve(Protocol):
    """Finds out what calendars mean: it may ask other servers for that."""

    async def __call__(self, name: str, spec: CalendarSpec, now: Instant) -> CalendarDays:
        """The days as they are known now, with version 0; a `PuntualError` says why they cannot be found out."""
        ...


def next_version(standing: Calendar | None, days: CalendarDays) -> CalendarDays:
    """The days as those of the version that follows the one that stands."""
    return msgspec.structs.replace(days, version=1 if standing is None else standing.version + 1)


def with_days(view: PlanView, days: Mapping[str, CalendarDays], moment: Moment) -> ScheduleWrite | None:
    """The edit that gives a schedule what its calendars mean now; None where nothing would change.

    What its old days made of the time up to now stays, what was planned by them is taken back, and a pause holds.
    """
    spec = with_calendars(view.schedule.spec, days)
    return edit.change(view, spec, moment, paused=True if view.schedule.pause is not None else None)


def reads_of(specs: Iterable[ScheduleSpec]) -> list[CalendarRead]:
    """The calendars that these schedules go by, as they know them: written with these, no change of one is missed."""
    known = {each.name: each.version for spec in specs for each in calendars_of(spec)}
    return [CalendarRead(name=name, was=version) for name, version in sorted(known.items())]


def calendars_of(spec: ScheduleSpec) -> tuple[CalendarDays, ...]:
    """The calendars that a schedule names, as it knows them."""
    closures = _closures(spec)
    return closures.calendars if closures else ()


def with_calendars(spec: ScheduleSpec, days: Mapping[str, CalendarDays]) -> ScheduleSpec:
    """The schedule with what its calendars mean now; those that ``days`` lacks stay as it knows them."""
    closures = _closures(spec)
    if closures is None:
        return spec
    known = tuple(days.get(each.name, each) for each in closures.calendars)
    if known == closures.calendars:
        return spec
    timetable = read_timetable(spec.timetable)
    changed = msgspec.structs.replace(timetable, closures=msgspec.structs.replace(closures, calendars=known))
    return msgspec.structs.replace(spec, timetable=msgspec.json.encode(changed).decode())


def _closures(spec: ScheduleSpec) -> Closures | None:
    # Most schedules name none, and need not be read for that.
    if '"closures"' not in spec.timetable:
        return None
    return read_timetable(spec.timetable).closures
