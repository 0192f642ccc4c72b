from __future__ import annotations

from datetime import date

import pytest

from puntual.model.calendar import CalendarSpec, asked_url, date_of, day_of, days_of, is_ical
from puntual.model.errors import InvalidError


@pytest.mark.parametrize(
    ("text", "first", "count"),
    [
        ("1970-01-01", date(1970, 1, 1), 1),
        ("2026-12-24..2027-01-02", date(2026, 12, 24), 10),
        (" 2024-02-28 .. 2024-03-01 ", date(2024, 2, 28), 3),
        ("2026-12-24..2026-12-24", date(2026, 12, 24), 1),
    ],
)
def test_a_range_has_both_its_ends(text: str, first: date, count: int) -> None:
    """A date alone is a range of one."""
    found = days_of(text)
    assert (date_of(found[0]), len(found)) == (first, count)
    assert day_of(first) == found[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2026-02-29", "no date"),
        ("24.12.2026", "no date"),
        ("2026-12-24..", "no date"),
        ("2026-12-24..2026-12", "no date"),
        ("٢٠٢٦-12-24", "no date"),
        ("2027-01-02..2026-12-24", "ends before it begins"),
        ("1900-01-01..2100-01-01", "longer than 5,000 days"),
    ],
)
def test_what_is_no_date_is_refused(text: str, said: str) -> None:
    """With what would be right."""
    with pytest.raises(InvalidError, match=said) as caught:
        days_of(text, field="dates[3]")
    assert caught.value.field == "dates[3]"


def test_an_icalendar_is_told_from_its_address() -> None:
    """By how it begins."""
    assert is_ical("\ufeff\r\nbegin:vcalendar\r\n")
    assert not is_ical("https://example.com/BEGIN:VCALENDAR")
    text = CalendarSpec(ical="BEGIN:VCALENDAR\n")
    assert (text.feed, text.ical_text) == (None, "BEGIN:VCALENDAR\n")
    feed = CalendarSpec(ical="webcal://example.com/a.ics")
    assert (feed.feed, feed.ical_text) == ("webcal://example.com/a.ics", None)
    assert CalendarSpec().feed is None


def test_webcal_means_https() -> None:
    """As calendars of other programs write it."""
    assert asked_url("webcal://example.com/a") == "https://example.com/a"
    assert asked_url("http://example.com/webcal:") == "http://example.com/webcal:"
