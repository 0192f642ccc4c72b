"""Repeated events have the days that the usual library for them finds, whatever their rules."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

import icalendar
import recurring_ical_events
from hypothesis import given, settings
from hypothesis import strategies as st

from puntual.calendars.ical import ical_days
from puntual.calendars.window import Window
from puntual.model.calendar import date_of, day_of

FIRST: Final = date(2025, 1, 1)
LAST: Final = date(2028, 12, 31)
_WEEKDAYS: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")

_NUMBERED: Final = tuple(f"{which}{day}" for which in (-2, -1, 1, 4) for day in _WEEKDAYS)

starts = st.dates(date(2019, 1, 1), date(2028, 6, 30))


def listed(values: st.SearchStrategy[object], most: int = 3) -> st.SearchStrategy[str]:
    """Some of them with commas between."""
    return st.lists(values, min_size=1, max_size=most, unique=True).map(lambda found: ",".join(map(str, found)))


#: A frequency with the parts that it takes.
_PARTS: Final[dict[str, dict[str, st.SearchStrategy[str]]]] = {
    "DAILY": {"BYMONTH": listed(st.integers(1, 12)), "BYDAY": listed(st.sampled_from(_WEEKDAYS))},
    "WEEKLY": {"BYDAY": listed(st.sampled_from(_WEEKDAYS)), "WKST": st.sampled_from(_WEEKDAYS)},
    "MONTHLY": {
        "BYMONTHDAY": listed(st.integers(1, 28) | st.integers(-28, -1)),
        # With and without a number together, the other library takes only the days that are both.
        "BYDAY": listed(st.sampled_from(_WEEKDAYS)) | listed(st.sampled_from(_NUMBERED)),
    },
    "YEARLY": {
        "BYMONTH": listed(st.integers(1, 12)),
        "BYMONTHDAY": listed(st.integers(1, 28)),
    },
}


@st.composite
def events(draw: st.DrawFn) -> str:
    """One event that repeats, of one day or of several."""
    start = draw(starts)
    freq = draw(st.sampled_from(sorted(_PARTS)))
    chosen = draw(st.lists(st.sampled_from(sorted(_PARTS[freq])), max_size=1 if freq == "MONTHLY" else 2, unique=True))
    parts = [f"FREQ={freq}", *(f"{name}={draw(_PARTS[freq][name])}" for name in chosen)]
    parts.append(f"INTERVAL={draw(st.integers(1, 4))}")
    end = draw(st.sampled_from(["", "COUNT", "UNTIL"]))
    if end == "COUNT":
        parts.append(f"COUNT={draw(st.integers(1, 40))}")
    elif end:
        parts.append(f"UNTIL={start + timedelta(draw(st.integers(0, 900))):%Y%m%d}")
    lines = [
        f"DTSTART;VALUE=DATE:{start:%Y%m%d}",
        f"DTEND;VALUE=DATE:{start + timedelta(draw(st.integers(1, 5))):%Y%m%d}",
        f"RRULE:{';'.join(parts)}",
    ]
    left_out = draw(st.lists(st.integers(1, 60), max_size=2))
    lines += [f"EXDATE;VALUE=DATE:{start + timedelta(ahead):%Y%m%d}" for ahead in left_out]
    body = "".join(f"{line}\r\n" for line in ("BEGIN:VEVENT", "UID:a", *lines, "END:VEVENT"))
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:test\r\n{body}END:VCALENDAR\r\n"


def expected(text: str) -> set[date]:
    """The days that the other library finds."""
    found: set[date] = set()
    query = recurring_ical_events.of(icalendar.Calendar.from_ical(text))
    for event in query.between(FIRST, LAST + timedelta(days=1)):
        day = event["DTSTART"].dt
        while day < event["DTEND"].dt:
            found.add(day)
            day += timedelta(days=1)
    return {day for day in found if FIRST <= day <= LAST}


@given(events())
@settings(max_examples=150, deadline=None)
def test_repeated_events_have_the_days_that_others_find(text: str) -> None:
    """Day by day, over four years."""
    found = {date_of(day) for day in ical_days(text, Window(day_of(FIRST), day_of(LAST)))}
    assert found == expected(text)
