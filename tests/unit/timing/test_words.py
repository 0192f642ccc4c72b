"""Descriptions and warnings: what a person is told about a rule."""

from __future__ import annotations

import msgspec
import pytest

from puntual.model.instant import SECOND, parse_instant
from puntual.timing import rule as rules
from puntual.timing.describe import describe
from puntual.timing.describe.english import ordinal
from puntual.timing.parse import RuleOptions, parse_any, parse_once, parse_rule
from puntual.timing.spread import stable_offset

OPTIONS = RuleOptions(now=parse_instant("2026-01-01T00:00:00Z"), timezone="America/New_York")


def warnings(text: str, dialect: str | None = None, **changes: object) -> list[str]:
    """The warnings of a rule, with some options changed."""
    return parse_rule(text, dialect=dialect, options=msgspec.structs.replace(OPTIONS, **changes)).warnings


@pytest.mark.parametrize(
    ("expr", "dialect", "sentence"),
    [
        ("30 9 * * 1-5", "unix", "At 09:30 on Monday to Friday (UTC)"),
        ("* * * * *", "unix", "Every minute (UTC)"),
        ("*/5 * * * *", "unix", "Every 5 minutes (UTC)"),
        ("*/7 * * * *", "unix", "At minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour (UTC)"),
        ("0 */2 * * *", "unix", "At minute 0 of every 2 hours (UTC)"),
        ("*/10 9-17 * * *", "unix", "Every 10 minutes of hours 9 to 17 (UTC)"),
        ("0,30 9 * * *", "unix", "At 09:00 and 09:30 every day (UTC)"),
        ("0 0 1,15 1-3 *", "unix", "At 00:00 on days 1 and 15 of the month, in January to March (UTC)"),
        ("0 0 L-2 * *", "unix", "At 00:00 on the 2nd day before the last of the month (UTC)"),
        ("0 0 * * SUN#3,5L", "unix", "At 00:00 on the 3rd Sunday of the month and the last Friday of the month (UTC)"),
        ("0 0 1 * MON", "unix", "At 00:00 on day 1 of the month or on Monday (UTC)"),
        ("0 0 1-31 * MON", "unix", "At 00:00 on any day or on Monday (UTC)"),
        ("0 0 */2 * MON-FRI", "unix", None),
        ("30 0 9 * * *", "seconds", "At 09:00:30 every day (UTC)"),
        ("*/10 * * * * *", "seconds", "Every 10 seconds (UTC)"),
        ("15 * * * * *", "seconds", "At second 15 of every minute (UTC)"),
        ("0 0 12 ? * 2 2027-2029", "quartz", "At 12:00 on Monday, in 2027 to 2029 (UTC)"),
    ],
)
def test_cron_in_a_sentence(expr: str, dialect: str, sentence: str | None) -> None:
    """Times, days, months and years are all there, and the zone is named."""
    found = parse_rule(expr, dialect=dialect, options=msgspec.structs.replace(OPTIONS, timezone="UTC")).description
    assert found == sentence or (sentence is None and found.endswith("of the month if it is Monday to Friday (UTC)"))


def test_other_rules_in_a_sentence() -> None:
    """Intervals say where they count from, one time says which, a list joins its parts, bounds are told."""
    anchored = msgspec.structs.replace(OPTIONS, anchor=parse_instant("2026-01-01T00:00:00Z"))
    assert parse_rule("every 90s", options=anchored).description == "Every 1m30s, counted from 2026-01-01T00:00:00Z"
    assert (
        parse_once("2027-01-01T00:00", options=OPTIONS).description == "Once at 2027-01-01T00:00:00 (America/New_York)"
    )
    assert parse_once("2027-01-01T00:00Z", options=OPTIONS).description == "Once at 2027-01-01T00:00:00Z"
    bounded = msgspec.structs.replace(OPTIONS, start=0, end=10**16)
    assert parse_any(["@daily", "0 9 * * 6"], options=bounded).description == (
        "At 00:00 every day; or at 09:00 on Saturday (America/New_York), "
        "from 1970-01-01T00:00:00Z, until 2286-11-20T17:46:40Z"
    )


@pytest.mark.parametrize(
    ("text", "dialect", "part"),
    [
        ("0 9 1 * 1", None, "day 1 and weekday 1 are both set, so it fires on days that match either"),
        ("0 9 */2 * 1", None, "day */2 and weekday 1 must both match"),
        ("*/7 * * * *", None, "minute */7 is uneven: 7 does not divide 60"),
        ("0 */5 * * *", None, "hour */5 is uneven: 5 does not divide 24"),
        ("0 9 */2 * *", None, "day */2 begins anew with each month"),
        ("5/20 * * * *", None, "minute 5/20 is read as every 20 from 5 on"),
        ("0 9 29 2 *", None, "29 February comes only in leap years"),
        ("0 9 31 * *", None, "months without a day 31 are skipped"),
        ("0 9 1,30 * *", None, "months without a day 30 are skipped"),
        ("0 9 31W * *", None, "months without a day 31 are skipped"),
        ("0 9 1W * *", None, "W stays within its month"),
        ("* * * * * *", "seconds", "it fires 60 times in each minute that matches"),
        ("H H * * *", None, "H is spread by the schedule's name"),
        (
            "30 2 * * *",
            None,
            "2026-03-08 02:30:00 does not exist in America/New_York: it fires at 2026-03-08T07:00:00Z",
        ),
        ("30 1 * * *", None, "2026-11-01 01:30:00 comes twice in America/New_York: it fires the first time"),
        ("0 0 0 1 1 ? 2020", "quartz", "its last tick was 2020-01-01T05:00:00Z: it will not fire again"),
    ],
)
def test_what_is_legal_but_surprising_is_told(text: str, dialect: str | None, part: str) -> None:
    """Each kind of surprise has its sentence."""
    assert any(part in warning for warning in warnings(text, dialect)), warnings(text, dialect)


@pytest.mark.parametrize(
    "text",
    ["0 9 * * *", "*/15 * * * *", "0 0 1 * *", "0 9 * * 1-5", "0 0 L * *", "@monthly", "every 1h", "*/2 2 * * *"],
)
def test_plain_rules_are_not_warned_about(text: str) -> None:
    """A warning is worth reading because it is rare."""
    assert warnings(text) == []


def test_policies_change_what_is_told_about_clock_changes() -> None:
    """The sentence says what will really happen."""
    assert "it does not fire (dst_gap: skip)" in warnings("30 2 * * *", dst_gap="skip")[0]
    assert "2026-03-08T07:30:00Z (dst_gap: shift)" in warnings("30 2 * * *", dst_gap="shift")[0]
    assert "it fires both times (dst_fold: both)" in warnings("30 1 * * *", dst_fold="both")[0]
    assert "does not exist" in parse_once("2027-03-14T02:30", options=OPTIONS).warnings[0]


def test_an_hour_without_a_zone_and_options_without_effect_are_told() -> None:
    """Rules that name no hour need no zone; an interval has no use for clock policies, nor cron for an anchor."""
    assert warnings("0 9 * * *", zone_given=False) == [
        "no time zone is given, so its hours are those of America/New_York"
    ]
    assert warnings("*/5 * * * *", zone_given=False) == []
    assert warnings("0 9 * * *", anchor=0) == [
        "anchor says nothing here: only an interval, a cycle or a recurrence rule has one"
    ]
    assert warnings("every 1h", dst_gap="skip")[0].startswith("dst_gap and dst_fold say nothing here")


def test_ordinals() -> None:
    """English has its exceptions."""
    assert [ordinal(number) for number in (1, 2, 3, 4, 11, 13, 21, 22)] == [
        *("1st", "2nd", "3rd", "4th", "11th", "13th", "21st", "22nd"),
    ]


def test_a_stable_offset_is_the_same_in_every_release() -> None:
    """Fixed numbers: a change here would move every spread schedule in the world."""
    assert stable_offset("nightly-report", 120 * SECOND) == 42_904_551
    assert stable_offset("anything", 1) == stable_offset("anything", 0) == stable_offset("anything", -5) == 0
    assert {stable_offset(f"key-{number}", 10) for number in range(200)} == set(range(10))


def test_a_description_can_be_made_from_a_stored_timetable() -> None:
    """Nothing but the timetable is needed."""
    timetable = rules.Timetable(rule=rules.CronRule(expr="@weekly", dialect="unix"), timezone="Europe/Madrid")
    assert describe(timetable) == "At 00:00 on Sunday (Europe/Madrid)"
