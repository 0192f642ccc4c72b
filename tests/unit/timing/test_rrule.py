from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puntual.model.errors import InvalidRuleError
from puntual.model.instant import LATEST, format_instant, parse_instant
from puntual.timing import rule as rules
from puntual.timing.parse import Parsed, RuleOptions, parse_rule
from puntual.timing.recurrence.rule import RruleRule
from puntual.timing.rule import Timetable

NOW = parse_instant("2026-01-01T00:00:00Z")
CLOCK = "BYHOUR=9;BYMINUTE=0"


def parsed(text: str, **options: object) -> Parsed:
    """The rule of a text, written at the beginning of 2026."""
    return parse_rule(text, dialect="rrule", options=msgspec.convert({"now": NOW, **options}, RuleOptions))


def fires(text: str, count: int, after: str = "1990-01-01T00:00:00Z", /, **options: object) -> list[str]:
    """The first ticks of a rule after an instant, without their Z."""
    compiled = rules.compile(parsed(text, **options).timetable)
    return [format_instant(tick)[:-1] for tick in compiled.between(parse_instant(after), LATEST, count)]


def refusal(text: str, **options: object) -> InvalidRuleError:
    """Why a text is refused."""
    with pytest.raises(InvalidRuleError) as caught:
        parsed(text, **options)
    return caught.value


@pytest.mark.parametrize(
    ("rule", "days"),
    [
        ("FREQ=DAILY;INTERVAL=10;COUNT=5", "09-02 09-12 09-22 10-02 10-12"),
        ("FREQ=WEEKLY;INTERVAL=2;WKST=SU", "09-02 09-16 09-30 10-14 10-28 11-11"),
        ("FREQ=WEEKLY;COUNT=10;WKST=SU;BYDAY=TU,TH", "09-02 09-04 09-09 09-11 09-16 09-18 09-23 09-25 09-30 10-02"),
        ("FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=MO,WE,FR", "09-03 09-05 09-15 09-17 09-19 09-29 10-01"),
        ("FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH", "09-02 09-04 09-16 09-18 09-30 10-02 10-14 10-16"),
        ("FREQ=MONTHLY;BYDAY=1FR", "09-05 10-03 11-07 12-05"),
        ("FREQ=MONTHLY;BYMONTHDAY=-3", "09-28 10-29 11-28 12-29"),
        ("FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1", "09-30 10-01 10-31 11-01 11-30 12-01 12-31"),
        ("FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3", "09-04 10-07 11-06"),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2", "09-29 10-30 11-27 12-30"),
        ("FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10", "10-26"),
    ],
)
def test_rules_come_on_the_days_that_the_rfc_lists(rule: str, days: str) -> None:
    """RFC 5545, section 3.8.5.3: from Tuesday, 2 September 1997, at nine in New York."""
    found = fires(
        f"DTSTART;TZID=America/New_York:19970902T090000\nRRULE:{rule}", len(days.split()), timezone="America/New_York"
    )
    assert [tick[5:10] for tick in found] == days.split()
    assert {tick[11:] for tick in found} <= {"13:00:00", "14:00:00"}, "nine in New York is 13:00 or 14:00 UTC"


@pytest.mark.parametrize(
    ("start", "rule", "days"),
    [
        ("19970512", "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "1997-05-12 1998-05-11 1999-05-17"),
        ("19970519", "FREQ=YEARLY;BYDAY=20MO", "1997-05-19 1998-05-18 1999-05-17"),
        (
            "19970101",
            "FREQ=YEARLY;INTERVAL=3;COUNT=4;BYYEARDAY=1,100,200",
            "1997-01-01 1997-04-10 1997-07-19 2000-01-01",
        ),
        ("19970902", "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", "1998-02-13 1998-03-13 1998-11-13 1999-08-13 2000-10-13"),
        (
            "19961105",
            "FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8",
            "1996-11-05 2000-11-07 2004-11-02",
        ),
        (
            "19970805",
            "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO",
            "1997-08-05 1997-08-10 1997-08-19 1997-08-24",
        ),
        (
            "19970805",
            "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU",
            "1997-08-05 1997-08-17 1997-08-19 1997-08-31",
        ),
        ("20070115", "FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5", "2007-01-15 2007-01-30 2007-02-15 2007-03-15 2007-03-30"),
        ("20280229", "FREQ=YEARLY", "2028-02-29 2032-02-29 2036-02-29"),
        ("20260131", "FREQ=MONTHLY", "2026-01-31 2026-03-31 2026-05-31"),
        ("20200101", "FREQ=YEARLY;BYWEEKNO=53;BYDAY=FR", "2021-01-01 2027-01-01 2032-12-31"),
        (
            "20260101",
            "FREQ=MONTHLY;BYDAY=MO,1FR;COUNT=6",
            "2026-01-02 2026-01-05 2026-01-12 2026-01-19 2026-01-26 2026-02-02",
        ),
    ],
)
def test_years_weeks_and_months_are_counted_as_the_rfc_has_it(start: str, rule: str, days: str) -> None:
    """Week numbers run over the ends of years, days that a month does not have are left out, WKST moves weeks."""
    found = fires(f"DTSTART:{start}T090000\nRRULE:{rule}", len(days.split()))
    assert [tick[:10] for tick in found] == days.split()


@pytest.mark.parametrize(
    ("rule", "ticks"),
    [
        ("FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T170000Z", "02T09:00:00 02T12:00:00 02T15:00:00"),
        ("FREQ=MINUTELY;INTERVAL=90;COUNT=4", "02T09:00:00 02T10:30:00 02T12:00:00 02T13:30:00"),
        ("FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,16", "02T09:00:00 02T09:20:00 02T09:40:00 02T16:00:00"),
        ("FREQ=HOURLY;INTERVAL=36", "02T09:00:00 03T21:00:00 05T09:00:00"),
        ("FREQ=HOURLY;INTERVAL=5;BYDAY=WE", "03T00:00:00 03T05:00:00 03T10:00:00 03T15:00:00 03T20:00:00 10T02:00:00"),
        ("FREQ=MINUTELY;BYSECOND=10,20,30;BYSETPOS=-1", "02T09:00:30 02T09:01:30"),
        ("FREQ=SECONDLY;INTERVAL=5400;COUNT=3", "02T09:00:00 02T10:30:00 02T12:00:00"),
        ("FREQ=SECONDLY;INTERVAL=20;BYMINUTE=1", "02T09:01:00 02T09:01:20 02T09:01:40 02T10:01:00"),
        ("FREQ=SECONDLY;INTERVAL=7;COUNT=3", "02T09:00:00 02T09:00:07 02T09:00:14"),
        ("FREQ=SECONDLY;INTERVAL=7;BYHOUR=10", "02T10:00:05 02T10:00:12"),
        ("FREQ=DAILY;BYHOUR=8,12;BYMINUTE=0,30;BYSETPOS=1,-1", "02T12:30:00 03T08:00:00 03T12:30:00"),
        ("FREQ=WEEKLY;BYDAY=TU,TH;BYHOUR=9,17;BYSETPOS=2,-2", "02T17:00:00 04T09:00:00 09T17:00:00 11T09:00:00"),
    ],
)
def test_times_within_the_day_are_counted_from_the_start(rule: str, ticks: str) -> None:
    """INTERVAL keeps its phase over days, BYSETPOS chooses among days and times together."""
    found = fires(f"DTSTART:19970902T090000\nRRULE:{rule}", len(ticks.split()))
    assert [tick[8:] for tick in found] == ticks.split()


def test_the_rule_may_be_asked_centuries_after_its_start() -> None:
    """An old start costs nothing: the phase is computed, not walked."""
    text = "DTSTART:19000101T000000 RRULE:FREQ=SECONDLY;INTERVAL=7"
    (tick,) = fires(text, 1, "2900-01-01T00:00:00Z")
    since = datetime.fromisoformat(tick).replace(tzinfo=UTC) - datetime(1900, 1, 1, tzinfo=UTC)
    assert since % timedelta(seconds=7) == timedelta(0)


@pytest.mark.parametrize(
    ("policies", "ticks"),
    [
        ({}, "03-07T07:30 03-08T07:00 03-09T06:30"),
        ({"dst_gap": "shift"}, "03-07T07:30 03-08T07:30 03-09T06:30"),
        ({"dst_gap": "skip"}, "03-07T07:30 03-09T06:30 03-10T06:30"),
    ],
)
def test_a_fixed_time_that_the_clocks_skip_follows_the_policy(policies: dict[str, str], ticks: str) -> None:
    """As cron's fixed times do: once at the change, unless another policy is written. 8 March 2026, New York."""
    text = "DTSTART:20260307T023000 RRULE:FREQ=DAILY"
    assert [tick[5:16] for tick in fires(text, 3, timezone="America/New_York", **policies)] == ticks.split()


@pytest.mark.parametrize(
    ("policies", "ticks"),
    [
        ({}, "10-31T05:30 11-01T05:30 11-02T06:30"),
        ({"dst_fold": "last"}, "10-31T05:30 11-01T06:30 11-02T06:30"),
        ({"dst_fold": "both"}, "10-31T05:30 11-01T05:30 11-01T06:30"),
    ],
)
def test_a_fixed_time_that_comes_twice_follows_the_policy(policies: dict[str, str], ticks: str) -> None:
    """As cron's fixed times do: the first time, unless another policy is written. 1 November 2026, New York."""
    text = "DTSTART:20261031T013000 RRULE:FREQ=DAILY"
    assert [tick[5:16] for tick in fires(text, 3, timezone="America/New_York", **policies)] == ticks.split()


@pytest.mark.parametrize("rule", ["FREQ=HOURLY", "FREQ=MINUTELY;INTERVAL=60", "FREQ=SECONDLY;INTERVAL=3600"])
def test_what_repeats_within_the_day_follows_elapsed_time(rule: str) -> None:
    """Each hour that passes has its tick, where clocks go forward and where they go back."""
    for day, hours in (("20260308", 23), ("20261101", 25)):
        text = f"DTSTART:{day}T000000 RRULE:{rule}"
        compiled = rules.compile(parsed(text, timezone="America/New_York").timetable)
        start = parse_instant(f"{day[:4]}-{day[4:6]}-{day[6:]}T{'05' if hours == 23 else '04'}:00:00Z")
        assert compiled.count(start - 1, start + hours * 3_600_000_000 - 1, 100) == hours
        assert compiled.between(start - 1, LATEST, 24) == [start + hour * 3_600_000_000 for hour in range(24)]


def test_an_hour_that_is_named_is_a_fixed_time_whatever_the_frequency() -> None:
    """``FREQ=HOURLY;BYHOUR=2`` says what ``FREQ=DAILY;BYHOUR=2`` says, so a gap does not lose it either."""
    text = "FREQ=HOURLY;BYHOUR=2;BYMINUTE=30"
    found = fires(text, 1, "2026-03-08T00:00:00Z", timezone="America/New_York")
    assert found == ["2026-03-08T07:00:00"]


def test_a_count_is_of_ticks() -> None:
    """A time that comes twice counts twice where the policy takes both."""
    text = "DTSTART:20261031T013000 RRULE:FREQ=DAILY;COUNT=3"
    found = fires(text, 9, timezone="America/New_York", dst_fold="both")
    assert [tick[5:16] for tick in found] == ["10-31T05:30", "11-01T05:30", "11-01T06:30"]


def test_until_in_utc_is_an_instant_and_without_z_a_time_of_the_zone() -> None:
    """Both are included in the rule, as RFC 5545 has it."""
    zoned = {"timezone": "America/New_York"}
    start = "DTSTART:20260101T090000 RRULE:FREQ=DAILY;UNTIL="
    assert len(fires(f"{start}20260103T140000Z", 9, **zoned)) == 3
    assert len(fires(f"{start}20260103T135959Z", 9, **zoned)) == 2
    assert len(fires(f"{start}20260103T090000", 9, **zoned)) == 3
    assert len(fires(f"{start}20260103T085959", 9, **zoned)) == 2


@pytest.mark.parametrize(
    "options",
    [
        {"anchor": parse_instant("2026-02-27T22:00:00Z")},
        {"start": parse_instant("2026-02-27T22:00:00Z")},
        {"anchor": parse_instant("2026-02-27T22:00:00Z"), "start": parse_instant("2026-02-01T00:00:00Z")},
    ],
)
def test_the_anchor_or_the_start_is_the_dtstart_of_a_rule_without_one(options: dict[str, int]) -> None:
    """On the clock of the rule's zone, so that its hour stays over clock changes."""
    found = fires("FREQ=WEEKLY;INTERVAL=2;BYDAY=FR", 2, timezone="America/New_York", **options)
    assert found == ["2026-02-27T22:00:00", "2026-03-13T21:00:00"]


def test_a_dtstart_in_the_text_stands_beside_a_start() -> None:
    """``start`` then only cuts off what comes before it; the phase stays that of DTSTART."""
    text = "DTSTART:20260101T090000 RRULE:FREQ=DAILY;INTERVAL=10"
    assert fires(text, 1, start=parse_instant("2026-01-05T00:00:00Z")) == ["2026-01-11T09:00:00"]


@pytest.mark.parametrize(
    "text",
    [
        f"FREQ=DAILY;{CLOCK}",
        f"rrule:freq=daily;{CLOCK};",
        f"RRULE:FREQ=WEEKLY;BYDAY=MO;{CLOCK}",
        f"FREQ=MONTHLY;BYMONTHDAY=-1;{CLOCK}",
        f"FREQ=YEARLY;BYYEARDAY=1;{CLOCK}",
        "FREQ=HOURLY;BYMINUTE=0",
        "FREQ=MINUTELY",
        "FREQ=SECONDLY;BYHOUR=9",
    ],
)
def test_a_rule_that_says_all_itself_needs_no_dtstart(text: str) -> None:
    """It then has no beginning."""
    timetable = parsed(text).timetable
    assert isinstance(timetable.rule, RruleRule)
    assert timetable.rule.dtstart == ""
    assert rules.compile(timetable).next(parse_instant("1900-01-01T00:00:00Z")) is not None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"FREQ=DAILY;INTERVAL=2;{CLOCK}", "INTERVAL=2 counts from it"),
        (f"FREQ=DAILY;COUNT=2;{CLOCK}", "COUNT=2 counts from it"),
        ("FREQ=DAILY;BYHOUR=9", "the time of day comes from it, unless BYHOUR and BYMINUTE say it"),
        ("FREQ=HOURLY", "the minute comes from it, unless BYMINUTE says it"),
        (f"FREQ=WEEKLY;{CLOCK}", "the day comes from it, unless BYDAY says it"),
        (f"FREQ=MONTHLY;{CLOCK}", "the day comes from it, unless BYMONTHDAY or BYDAY says it"),
        (f"FREQ=YEARLY;BYMONTH=2;{CLOCK}", "the day comes from it"),
    ],
)
def test_a_rule_that_depends_on_a_dtstart_is_refused_with_the_line_to_add(text: str, why: str) -> None:
    """Nothing is counted from the moment at which somebody happened to write it."""
    error = refusal(text, timezone="America/New_York")
    assert why in error.message
    assert "add the line DTSTART:20251231T190000 before it" in error.message
    assert error.field == "anchor"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "there is no rule"),
        ("DTSTART:20260101T090000", "there is no rule"),
        ("every day at nine", "'every' is no rule: write it like FREQ=WEEKLY"),
        ("FREQ=FORTNIGHTLY", "every second week is FREQ=WEEKLY;INTERVAL=2"),
        ("BYDAY=MO", "needs a frequency"),
        ("FREQ=DAILY;FOO=1", "'FOO' is no part of a recurrence rule: use FREQ, INTERVAL"),
        ("FREQ=DAILY;BYHUOR=1", "did you mean BYHOUR?"),
        ("FREQ=YEARLY;BYEASTER=0", "BYEASTER is no part of RFC 5545"),
        ("FREQ=MONTHLY;SKIP=BACKWARD", "SKIP is not supported"),
        ("FREQ=DAILY;;COUNT=1", "a part is empty"),
        ("FREQ=DAILY;BYHOUR=", "BYHOUR has no value"),
        ("FREQ=DAILY;BYHOUR", "'BYHOUR' is no part: write parts like"),
        ("FREQ=DAILY;BYHOUR=9;BYHOUR=10", "BYHOUR comes twice"),
        ("FREQ=DAILY;INTERVAL=0", "it goes from 1 to"),
        ("FREQ=DAILY;INTERVAL=-1", "write a whole number"),
        ("FREQ=DAILY;INTERVAL=99999999999999", "write a whole number"),
        ("FREQ=YEARLY;INTERVAL=101", "a period of more than a hundred years"),
        ("FREQ=DAILY;COUNT=1;UNTIL=20270101T000000Z", "COUNT and UNTIL both end the rule"),
        ("FREQ=DAILY;UNTIL=20270101", "UNTIL=20270101T235959 to include it or UNTIL=20270101T000000 to end before it"),
        ("FREQ=DAILY;UNTIL=tomorrow", "write a time like 20270131T093000"),
        ("FREQ=DAILY;UNTIL=20271301T000000Z", "UNTIL=20271301T000000Z is no time: month must be in 1..12"),
        ("FREQ=DAILY;BYHOUR=24", "'24' is no number from 0 to 23"),
        ("FREQ=DAILY;BYSECOND=60", "'60' is no number from 0 to 59"),
        ("FREQ=DAILY;BYHOUR=-1", "'-1' is no number from 0 to 23"),
        ("FREQ=DAILY;BYHOUR=\u0663", "is no number from 0 to 23"),
        ("FREQ=MONTHLY;BYMONTHDAY=0", "from 1 to 31 or from -31 to -1, counted from the end"),
        ("FREQ=WEEKLY;BYDAY=1MO", "takes days without a number"),
        ("FREQ=WEEKLY;BYDAY=MON", "'MON' is no day like MO"),
        ("FREQ=WEEKLY;BYMONTHDAY=1", "FREQ=WEEKLY takes no BYMONTHDAY"),
        ("FREQ=DAILY;BYWEEKNO=1", "only YEARLY do"),
        ("FREQ=MONTHLY;BYYEARDAY=1", "FREQ=MONTHLY takes no BYYEARDAY"),
        ("FREQ=MONTHLY;BYDAY=6MO", "a month has at most five of each weekday"),
        ("FREQ=YEARLY;BYDAY=54MO", "'54MO' is no day"),
        ("FREQ=YEARLY;BYWEEKNO=20", "add BYDAY=MO for one, or BYDAY=MO,TU,WE,TH,FR,SA,SU for each"),
        ("FREQ=YEARLY;BYWEEKNO=20;BYDAY=1MO", "with BYWEEKNO takes days without a number"),
        ("FREQ=DAILY;BYSETPOS=1", "it chooses among what another part gives"),
        ("FREQ=WEEKLY;WKST=1", "use one of MO, TU"),
        ("FREQ=DAILY RRULE:FREQ=DAILY", "there are two lines RRULE"),
        ("FREQ=DAILY\nEXDATE:20260102T090000", "write them under except:"),
        ("FREQ=DAILY\nRDATE;VALUE=DATE:20260102", "under at:"),
        ("BEGIN:VEVENT\nRRULE:FREQ=DAILY\nEND:VEVENT", "BEGIN is no line of a rule"),
        ("RRULE;X=1:FREQ=DAILY", "RRULE has no parameter"),
        ("DTSTART=20260101T090000;FREQ=DAILY", "DTSTART is a line of its own before the rule"),
        ("DTSTART;VALUE=DATE:20260101 FREQ=DAILY", "DTSTART with 'VALUE=DATE' is not read"),
        ("DTSTART:20260101 FREQ=DAILY", "write DTSTART:20260101T000000"),
        (
            "DTSTART;TZID=Europe/Madrid:20260101T090000 FREQ=DAILY",
            "the rule's zone is America/New_York: say it with timezone",
        ),
        ("DTSTART:20260101T090000Z FREQ=DAILY", "DTSTART is in the zone UTC, but the rule's zone is America/New_York"),
        ("FREQ=DAILY;BYMONTH=" + "1," * 2_000 + "1", "at most 2000 characters"),
    ],
)
def test_what_is_not_understood_is_refused_with_what_would_be_right(text: str, says: str) -> None:
    """No part is dropped, and none is read as another."""
    if not text.startswith("DTSTART") and "RRULE:" not in text and "\n" not in text and text:
        text = f"DTSTART:20260101T090000 {text}"
    assert says in refusal(text, timezone="America/New_York").message


def test_a_part_that_is_wrong_is_pointed_at() -> None:
    """The column is that of the whole text."""
    assert refusal("DTSTART:20260101T090000 RRULE:FREQ=DAILY;BYHOUR=24").column == 42
    assert refusal("FREQ=DAILY;BYHOUR=24").column == 12


def test_a_dtstart_and_an_anchor_do_not_stand_together() -> None:
    """They would say the same thing twice, or two things."""
    assert "DTSTART and anchor both say" in refusal("DTSTART:20260101T090000 FREQ=DAILY", anchor=NOW).message


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=SECONDLY;INTERVAL=2;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=YEARLY;INTERVAL=4;BYMONTH=2;BYMONTHDAY=29",
        "FREQ=YEARLY;BYWEEKNO=30;BYMONTH=2;BYDAY=MO",
        "FREQ=MONTHLY;INTERVAL=12;BYMONTH=2",
        "FREQ=WEEKLY;BYDAY=MO;BYSETPOS=3",
        "FREQ=DAILY;BYHOUR=9;BYSETPOS=2",
        "FREQ=HOURLY;INTERVAL=168;BYDAY=WE",
        "FREQ=HOURLY;INTERVAL=24;BYHOUR=10",
        "FREQ=SECONDLY;INTERVAL=2;BYSECOND=1",
        "FREQ=SECONDLY;INTERVAL=60;BYSECOND=1",
        "FREQ=SECONDLY;BYSETPOS=2;BYSECOND=1",
        "FREQ=MINUTELY;BYSECOND=1,2;BYSETPOS=3",
        "FREQ=MINUTELY;INTERVAL=7;BYDAY=MO;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;UNTIL=20250101T000000Z",
    ],
)
def test_what_never_fires_is_refused(rule: str) -> None:
    """From a Thursday at nine in an odd year; found out by arithmetic, not by waiting."""
    assert "this never fires" in refusal(f"DTSTART:20250102T090000 RRULE:{rule}").message


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("FREQ=MINUTELY;INTERVAL=61;BYDAY=MO", "61 different kinds of days"),
        ("FREQ=SECONDLY;INTERVAL=7;BYMINUTE=" + ",".join(map(str, range(59))), "choose an INTERVAL that divides 60"),
        ("FREQ=YEARLY;COUNT=7900", "is not reached within 500 years"),
    ],
)
def test_what_would_take_too_much_to_keep_is_refused(rule: str, says: str) -> None:
    """The limits are far from anything that people write."""
    assert says in refusal(f"DTSTART:20250101T090000 RRULE:{rule}").message


@given(st.text(alphabet="FREQ=DAILYWKST;COUNTBYMOHS,+-0123456789:\n ", max_size=80))
def test_any_text_is_a_rule_or_refused(text: str) -> None:
    """Nothing else comes out, whatever goes in."""
    with suppress(InvalidRuleError):
        parsed(text, anchor=NOW)


@pytest.mark.parametrize(
    "text",
    [
        "DTSTART:20260227T170000 RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=FR",
        "DTSTART:20260227T170000 RRULE:FREQ=DAILY;COUNT=30",
        f"FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;{CLOCK}",
    ],
)
def test_a_stored_rule_read_again_gives_the_same_ticks(text: str) -> None:
    """Its JSON holds all that it needs."""
    timetable = parsed(text, timezone="Europe/Madrid", dst_gap="skip").timetable
    again = msgspec.json.decode(msgspec.json.encode(timetable), type=Timetable)
    assert again == timetable
    assert rules.compile(again).between(NOW, LATEST, 40) == rules.compile(timetable).between(NOW, LATEST, 40)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "DTSTART:20260102T090000 RRULE:FREQ=WEEKLY;BYDAY=MO",
            "is no time of the rule itself: its first one is 2026-01-05",
        ),
        ("DTSTART:20260131T090000 RRULE:FREQ=MONTHLY", "months without a day 31 are skipped; BYMONTHDAY=-1"),
        ("DTSTART:20280229T090000 RRULE:FREQ=YEARLY", "29 February comes only in leap years"),
        (f"FREQ=YEARLY;BYMONTHDAY=1;{CLOCK}", "comes in each month of the year"),
        ("FREQ=DAILY;BYHOUR=2;BYMINUTE=30", "2026-03-29 02:30:00 does not exist in Europe/Madrid"),
        (f"FREQ=DAILY;UNTIL=20250101T000000Z;{CLOCK}", "its last tick was 2024-12-31T08:00:00Z"),
    ],
)
def test_what_may_surprise_is_told(text: str, says: str) -> None:
    """A rule that is legal and may not mean what its writer thinks."""
    assert any(says in warning for warning in parsed(text, timezone="Europe/Madrid").warnings)


def test_hours_without_a_zone_are_told() -> None:
    """As for cron: only a rule that follows elapsed time has none."""
    assert "no time zone is given" in parsed(f"FREQ=DAILY;{CLOCK}", zone_given=False).warnings[0]
    assert parsed("FREQ=MINUTELY", zone_given=False).warnings == []


def test_reading_rules_loads_no_library_for_them() -> None:
    """Dates are computed here, so that nothing slow is imported for them."""
    code = "import sys, puntual.timing.parse; print([name for name in sys.modules if name.startswith('dateutil')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
