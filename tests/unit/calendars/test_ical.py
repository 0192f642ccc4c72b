"""The days of an iCalendar: which ones an event touches, what is refused, and what a hostile text costs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

import pytest

from puntual.calendars.ical import ical_days
from puntual.calendars.window import Window
from puntual.model.calendar import date_of, day_of
from puntual.model.errors import InvalidError

#: 2025 to 2036.
WITHIN = Window(day_of(date(2025, 1, 1)), day_of(date(2036, 12, 31)))


def event(*lines: str) -> str:
    """An event of these lines."""
    return "".join(f"{line}\r\n" for line in ("BEGIN:VEVENT", *lines, "END:VEVENT"))


def calendar(*parts: str) -> str:
    """A calendar of these events and lines."""
    lines = (part if part.endswith("\n") else f"{part}\r\n" for part in parts)
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{''.join(lines)}END:VCALENDAR\r\n"


def days(*lines: str, within: Window = WITHIN) -> list[str]:
    """The days of one event of these lines."""
    return shown(ical_days(calendar(event(*lines)), within))


def shown(found: Iterable[int]) -> list[str]:
    """Days as dates."""
    return [date_of(day).isoformat() for day in sorted(found)]


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["DTSTART;VALUE=DATE:20261224"], ["2026-12-24"]),
        (["DTSTART;VALUE=DATE:20261224", "DTEND;VALUE=DATE:20261226"], ["2026-12-24", "2026-12-25"]),
        (["DTSTART;VALUE=DATE:20261224", "DURATION:P2D"], ["2026-12-24", "2026-12-25"]),
        (["DTSTART;VALUE=DATE:20261224", "DURATION:P1W"], [f"2026-12-{day}" for day in range(24, 31)]),
        (["DTSTART;VALUE=DATE:20261224", "DTEND;VALUE=DATE:20261224"], ["2026-12-24"]),
        (["DTSTART;TZID=America/Bogota:20261224T220000", "DTEND;TZID=America/Bogota:20261225T000000"], ["2026-12-24"]),
        (["DTSTART:20261224T220000", "DURATION:PT3H"], ["2026-12-24", "2026-12-25"]),
        (["DTSTART:20261224T235960Z"], ["2026-12-24"]),
        (["DTSTART:20261224T090000", "DTEND:20261224T080000"], ["2026-12-24"]),
        (['DTSTART;X-LONG="a;b:c";TZID="America/Bogota":20261224T220000'], ["2026-12-24"]),
        (["DTSTART;VALUE=DATE:2026\r\n 1224"], ["2026-12-24"]),
        (["dtstart;value=date:20261224"], ["2026-12-24"]),
        (["STATUS:CANCELLED", "DTSTART;VALUE=DATE:20261224"], []),
        (["DTSTART;VALUE=DATE:20240102"], []),
        (["DTSTART;VALUE=DATE:20241230", "DTEND;VALUE=DATE:20250103"], ["2025-01-01", "2025-01-02"]),
    ],
)
def test_an_event_has_the_days_that_it_touches(lines: list[str], found: list[str]) -> None:
    """Its end does not belong to it; the clock is its own; what lies outside the window is left out."""
    assert days(*lines) == found


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (
            ["DTSTART;VALUE=DATE:20260101", "RRULE:FREQ=YEARLY;UNTIL=20280101"],
            ["2026-01-01", "2027-01-01", "2028-01-01"],
        ),
        (["DTSTART;VALUE=DATE:20260101", "RRULE:FREQ=YEARLY;COUNT=2"], ["2026-01-01", "2027-01-01"]),
        (["DTSTART;VALUE=DATE:19900704", "RRULE:FREQ=YEARLY;COUNT=37"], ["2025-07-04", "2026-07-04"]),
        (
            ["DTSTART;VALUE=DATE:20260130", "DTEND;VALUE=DATE:20260201", "RRULE:FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=2"],
            ["2026-01-30", "2026-01-31", "2026-02-01", "2026-02-28", "2026-03-01"],
        ),
        (
            ["DTSTART:20261130T090000", "RRULE:FREQ=WEEKLY;BYDAY=MO,WE;COUNT=3"],
            ["2026-11-30", "2026-12-02", "2026-12-07"],
        ),
        (
            ["DTSTART:20261130T090000", "RRULE:FREQ=DAILY;BYHOUR=9,17;COUNT=3", "EXDATE:20261201T090000"],
            ["2026-11-30"],
        ),
        (
            ["DTSTART;VALUE=DATE:20261201", "RDATE;VALUE=DATE:20261205,20261209", "EXDATE;VALUE=DATE:20261205"],
            ["2026-12-01", "2026-12-09"],
        ),
        (["DTSTART:20261201T090000", "RDATE;VALUE=PERIOD:20261205T090000/PT1H"], ["2026-12-01", "2026-12-05"]),
        # The last one is at 09:00 in Tokyo, which is 00:00 of that day in UTC.
        (
            ["DTSTART;TZID=Asia/Tokyo:20261229T090000", "RRULE:FREQ=DAILY;UNTIL=20261231T000000Z"],
            ["2026-12-29", "2026-12-30", "2026-12-31"],
        ),
        (["DTSTART;VALUE=DATE:20360101", "RRULE:FREQ=YEARLY"], ["2036-01-01"]),
        (["DTSTART;VALUE=DATE:20260130", "RRULE:FREQ=YEARLY;BYMONTH=2"], ["2026-01-30"]),
        (
            ["DTSTART;VALUE=DATE:20201225", "DTEND;VALUE=DATE:20210103", "RRULE:FREQ=YEARLY;UNTIL=20251225"],
            ["2025-01-01", "2025-01-02", *(f"2025-12-{day}" for day in range(25, 32)), "2026-01-01", "2026-01-02"],
        ),
    ],
)
def test_a_repeated_event_has_all_its_days(lines: list[str], found: list[str]) -> None:
    """By rules, dates and exceptions, however long ago it began, and up to the end of the window."""
    assert days(*lines) == found


def test_an_occurrence_that_was_moved_is_where_it_was_moved_to() -> None:
    """An event of its own stands for it (RECURRENCE-ID); one that was cancelled has no day."""
    weekly = event("UID:a", "DTSTART:20261201T090000", "RRULE:FREQ=WEEKLY;COUNT=4")
    moved = event("UID:a", "RECURRENCE-ID:20261208T090000", "DTSTART:20261209T090000")
    gone = event("UID:a", "RECURRENCE-ID:20261215T090000", "DTSTART:20261215T090000", "STATUS:CANCELLED")
    other = event("UID:b", "DTSTART:20261208T100000")
    assert shown(ical_days(calendar(weekly, moved, gone), WITHIN)) == ["2026-12-01", "2026-12-09", "2026-12-22"]
    found = shown(ical_days(calendar(moved, weekly, gone, other), WITHIN))
    assert found == ["2026-12-01", "2026-12-08", "2026-12-09", "2026-12-22"]


def test_times_of_utc_are_shown_in_the_calendars_zone() -> None:
    """Late in the evening in Bogota it is the next day in UTC."""
    late = event("DTSTART:20261225T030000Z", "DTEND:20261225T040000Z")
    assert shown(ical_days(calendar(late), WITHIN)) == ["2026-12-25"]
    assert shown(ical_days(calendar("X-WR-TIMEZONE:America/Bogota", late), WITHIN)) == ["2026-12-24"]
    assert shown(ical_days(calendar("X-WR-TIMEZONE:Mars/Base", late), WITHIN)) == ["2026-12-25"]


def test_what_is_no_event_is_passed_over() -> None:
    """Tasks, zones and alarms have dates that are none of ours."""
    change = "BEGIN:DAYLIGHT\nDTSTART:20260301T020000\nRRULE:FREQ=SECONDLY\nEND:DAYLIGHT\n"
    zone = f"BEGIN:VTIMEZONE\nTZID:X\n{change}END:VTIMEZONE\n"
    task = "BEGIN:VTODO\nDTSTART:20260301\nEND:VTODO\n"
    alarm = event("DTSTART;VALUE=DATE:20261224", "BEGIN:VALARM", "DURATION:P9D", "DTSTART:20260101", "END:VALARM")
    assert shown(ical_days(calendar(zone, task, alarm), WITHIN)) == ["2026-12-24"]


@pytest.mark.parametrize("text", ["\ufeff" + calendar(), calendar().replace("\r\n", "\n"), calendar() + calendar()])
def test_an_empty_calendar_has_no_days(text: str) -> None:
    """With or without a mark at its start, whatever its line ends; several in one text are one."""
    assert ical_days(text, WITHIN) == set()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "nothing in it"),
        ("<html>", "nothing in it"),
        ("SUMMARY:x\n", "does not begin"),
        ("BEGIN:VEVENT\nEND:VEVENT\n", "does not begin"),
        (calendar(event("DTSTART:20261224"))[:-30], "breaks off"),
        ("BEGIN:VCALENDAR\nEND:VEVENT\n", "do not fit together"),
        ("BEGIN:VCALENDAR\n" * 9, "nested deeper"),
        (calendar(event("SUMMARY:Fair")), "'Fair'.* does not say when it begins"),
        (calendar(event("SUMMARY:Fair", "DTSTART:20261301")), "'Fair'.*month"),
        (calendar(event("UID:7", "DTSTART:2026-12-24")), "'7'.*no date like 20261224"),
        (calendar(event("DTSTART:20261224T250000")), "no time of day"),
        (calendar(event("DTSTART:20261224", "DURATION:-P1D")), "no duration"),
        (calendar(event("DTSTART:20261224", "DURATION:P")), "no duration"),
        (calendar(event("DTSTART:20261224", "RRULE:FREQ=HOURLY")), "repeats within the day"),
        (calendar(event("DTSTART:20261224", "RRULE:FREQ=FORTNIGHTLY")), "FORTNIGHTLY"),
        (calendar(event("DTSTART:20261224", "RRULE:FREQ=DAILY;COUNT=0")), "COUNT=0"),
        (calendar(event("DTSTART:20261224", "RRULE:FREQ=DAILY;UNTIL=soon")), "no date"),
        (calendar(event("DTSTART:20261224", "RRULE:FREQ=DAILY;BYHOUR=1,2;BYSETPOS=1")), "chooses among times"),
        (calendar(event("DTSTART:20261224", "EXRULE:FREQ=DAILY")), "EXRULE"),
        (calendar(event("DTSTART:20261224", "EXDATE:yesterday")), "no date"),
        (calendar(event("UID:1", "DTSTART:20261224", "RECURRENCE-ID:x")), "no date"),
    ],
)
def test_what_cannot_be_read_refuses_the_whole(text: str, why: str) -> None:
    """A calendar with a hole in it would let things run when they must not; the sentence names the event."""
    with pytest.raises(InvalidError, match=why) as caught:
        ical_days(text, WITHIN)
    assert caught.value.field == "ical"


@pytest.mark.parametrize(
    "text",
    [
        calendar(*[event("DTSTART:19000101", "RRULE:FREQ=DAILY")] * 30),
        calendar(event("DTSTART:00010101", "RRULE:FREQ=DAILY;COUNT=9999999")),
        calendar(*[event("DTSTART:20200101", "DURATION:P4000D", "RRULE:FREQ=DAILY")] * 30),
        calendar(event("DTSTART:20200101", f"RDATE:{','.join(['20200101'] * 200_000)}")),
        calendar(event("DTSTART:20200101", f"EXDATE:{','.join(['20200101'] * 200_000)}")),
        calendar(*[event("DTSTART:20200101", "RRULE:FREQ=WEEKLY;UNTIL=20200101")] * 10_001),
    ],
    ids=["daily", "count", "long", "dates", "exceptions", "rules"],
)
def test_what_repeats_without_end_is_refused(text: str) -> None:
    """A hostile text is given up after a number of steps, not after a time."""
    with pytest.raises(InvalidError, match="repeat more than 100,000 times"):
        ical_days(text, WITHIN)


def test_too_many_events_are_refused() -> None:
    """However little each of them says."""
    with pytest.raises(InvalidError, match="more than 50,000 events"):
        ical_days(calendar("BEGIN:VEVENT\nEND:VEVENT\n" * 50_001), WITHIN)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (calendar(*[event("DTSTART:00010101", "DTEND:99991231")] * 5_000), 4_383),
        (calendar(event("DTSTART:20200101", "RRULE:FREQ=DAILY;BYHOUR=0,1,2,3;BYMINUTE=1,2,3,4;BYSECOND=5,6")), 4_383),
        (calendar("X-A:" + "a\r\n " * 500_000), 0),
        (calendar("X-A" + ';B="x' * 200_000), 0),
    ],
    ids=["long", "often", "folded", "quoted"],
)
def test_what_is_only_large_is_read(text: str, found: int) -> None:
    """It costs about as much as it is long."""
    assert len(ical_days(text, WITHIN)) == found
