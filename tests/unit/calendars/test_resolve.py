"""A definition becomes its days: the parts of a calendar taken together."""

from __future__ import annotations

from datetime import date

import pytest

from puntual.calendars import CalendarResolver, FeedSettings
from puntual.model.calendar import CalendarSpec, day_of
from puntual.model.errors import InvalidError
from puntual.timing.calendar import CalendarDays
from tests.support.fault_server import FaultServer, answer
from tests.support.http import LOOPBACK, NOW, StillClock

EVENT = (
    "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:20261231\nRRULE:FREQ=YEARLY;COUNT=2\nEND:VEVENT\nEND:VCALENDAR\n"
)


async def resolve(spec: CalendarSpec) -> CalendarDays:
    """What a calendar means in 2026."""
    resolver = CalendarResolver(FeedSettings(allow_private=(LOOPBACK,)), StillClock().steady)
    return await resolver("own", spec, NOW)


async def test_own_days_are_all_of_them() -> None:
    """Ranges with both ends, each day once, in order, of any year; they speak of all time."""
    spec = CalendarSpec(dates=("2027-01-01..2027-01-02", "1999-12-31", "2027-01-02"), weekdays=(0, 6))
    found = await resolve(spec)
    wanted = tuple(map(day_of, (date(1999, 12, 31), date(2027, 1, 1), date(2027, 1, 2))))
    assert found == CalendarDays(name="own", version=0, dates=wanted, weekdays=(0, 6))


async def test_parts_are_taken_together() -> None:
    """Own dates, a country and an iCalendar; what is known ends where the holidays do."""
    found = await resolve(CalendarSpec(dates=("2026-12-24",), country="CO", ical=EVENT))
    wanted = {date(2026, 12, 24), date(2026, 12, 25), date(2026, 12, 31), date(2027, 12, 31)}
    assert {day_of(each) for each in wanted} < set(found.dates)
    assert found.until == day_of(date(2036, 12, 31))


async def test_a_feed_is_asked_for_its_text() -> None:
    """An address is what its server says."""
    async with FaultServer() as server:
        server.answers["/fair.ics"] = answer(body=EVENT.encode())
        found = await resolve(CalendarSpec(ical=server.url("/fair.ics")))
    assert found.dates == (day_of(date(2026, 12, 31)), day_of(date(2027, 12, 31)))


async def test_too_many_days_are_refused() -> None:
    """Every schedule that names a calendar has a copy of its days."""
    with pytest.raises(InvalidError, match="5,000 are the most"):
        await resolve(CalendarSpec(dates=("2000-01-01..2010-12-31", "2020-01-01..2030-12-31")))
