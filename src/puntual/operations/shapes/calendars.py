"""A calendar as replies show it: what was written, and which days that is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, NotRequired, TypedDict

from puntual.manifest import calendar_mapping
from puntual.model.calendar import date_of
from puntual.operations.shapes.units import time
from puntual.timing.calendar import Calendar, CalendarDays
from puntual.timing.closures import weekday_of

_WEEKDAYS: Final = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")


class CalendarShape(TypedDict):
    """A calendar. ``days`` counts its single days, ``next`` is its first day from today on, weekdays included.

    ``written`` is what a manifest would hold; in a list the text of an iCalendar is cut to its first line.

    ``until`` is the last day that it knows anything about, null where it speaks of all time. ``trouble`` says why its
    days could not be found out anew; they are then as of ``refreshed_at``. ``schedules`` is how many name it; with one
    calendar it is their names, and ``dates`` are its days.
    """

    name: str
    owner: str | None
    version: int
    written: dict[str, Any]
    weekdays: list[str]
    days: int
    next: str | None
    until: str | None
    updated_at: str | None
    refreshed_at: str | None
    trouble: str | None
    dates: NotRequired[list[str]]
    schedules: NotRequired[int | list[str]]


def _coming(days: CalendarDays, today: int) -> Iterator[int]:
    """The first of its single days from today on, and the first of its weekdays."""
    yield from islice((day for day in days.dates if day >= today), 1)
    yield from islice((day for day in range(today, today + 7) if weekday_of(day) in days.weekdays), 1)


def calendar_shape(calendar: Calendar, today: int, *, year: int | None = None, whole: bool = False) -> CalendarShape:
    """The calendar as it stands.

    Args:
        calendar: as the store keeps it.
        today: days since 1970.
        year: only the days of this year.
        whole: with its days.
    """
    days = calendar.days
    written = calendar_mapping(calendar.spec)
    if not whole and calendar.spec.ical_text is not None:
        written["ical"] = calendar.spec.ical_text.lstrip().partition("\n")[0].strip()
    coming = min(_coming(days, today), default=None)
    shape: CalendarShape = {
        "name": calendar.name,
        "owner": calendar.owner,
        "version": calendar.version,
        "written": written,
        "weekdays": [_WEEKDAYS[weekday] for weekday in days.weekdays],
        "days": len(days.dates),
        "next": None if coming is None else date_of(coming).isoformat(),
        "until": None if days.until is None else date_of(days.until).isoformat(),
        "updated_at": time(calendar.updated_at),
        "refreshed_at": time(calendar.refreshed_at),
        "trouble": calendar.trouble,
    }
    if whole:
        dates = [date_of(day) for day in days.dates]
        shape["dates"] = [each.isoformat() for each in dates if year is None or each.year == year]
    return shape
