"""What a person wrote: which grammar reads it, how intervals find their anchor, and what is refused in which words."""

from __future__ import annotations

import msgspec
import pytest

from puntual.model.errors import InvalidError, InvalidRuleError, InvalidZoneError
from puntual.model.instant import DAY, HOUR, MINUTE, SECOND, format_instant, parse_instant
from puntual.timing import rule as rules
from puntual.timing.parse import RuleOptions, parse_any, parse_interval, parse_once, parse_rule

NOW = parse_instant("2026-03-10T15:20:30.5Z")
OPTIONS = RuleOptions(now=NOW)


def options(**changes: object) -> RuleOptions:
    """The options with some changed."""
    return msgspec.structs.replace(OPTIONS, **changes)


def fires(timetable: rules.Timetable, after: str, count: int = 3) -> list[str]:
    """The next ticks as text."""
    found = rules.compile(timetable).between(parse_instant(after), 1 << 60, count)
    return [format_instant(tick) for tick in found]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("@daily", rules.CronRule(expr="@daily", dialect="unix")),
        (" @Hourly ", rules.CronRule(expr="@Hourly", dialect="unix")),
        ("0  9 * *\t1-5", rules.CronRule(expr="0 9 * * 1-5", dialect="unix")),
        ("H H * * *", rules.CronRule(expr="H H * * *", dialect="unix")),
        ("every 15 minutes", rules.IntervalRule(period_us=15 * MINUTE, anchor=parse_instant("2026-03-10T00:00:00Z"))),
        ("@every 90m", rules.IntervalRule(period_us=90 * MINUTE, anchor=parse_instant("2026-03-10T00:00:00Z"))),
        ("24 dec at 18:00 yearly", rules.CronRule(expr="0 18 24 12 *", dialect="unix")),
        ("weekdays at 9:30", rules.CronRule(expr="30 9 * * MON-FRI", dialect="unix")),
        ("every weekday at 9", rules.CronRule(expr="0 9 * * MON-FRI", dialect="unix")),
        ("cada 15 minutos", rules.IntervalRule(period_us=15 * MINUTE, anchor=parse_instant("2026-03-10T00:00:00Z"))),
        ("Every PT1H", rules.IntervalRule(period_us=HOUR, anchor=parse_instant("2026-03-10T00:00:00Z"))),
    ],
)
def test_when_is_a_name_five_fields_every_or_a_phrase(text: str, rule: rules.Rule) -> None:
    """The order of reading: @name, five cron fields, every, else a phrase."""
    assert parse_rule(text, options=OPTIONS).timetable.rule == rule


@pytest.mark.parametrize(
    "text",
    [
        *("", "  ", "hello", "every weekday", "every day at nine thirty", "weekdays at", "cada 5 minutes", "noon"),
        *("at 5 pm", "0 9 * *", "* * * * * * * *", "2026-01-01T00:00:00Z", "@fortnightly", "every"),
        *("every 0 minutes", "every 0.5s", "every 999ms", "every month", "\0", "1", "tomorrow"),
    ],
)
def test_everything_else_is_refused(text: str) -> None:
    """Nothing is guessed at."""
    with pytest.raises(InvalidRuleError):
        parse_rule(text, options=OPTIONS)


def test_six_fields_without_a_dialect_show_both_readings() -> None:
    """The sentence says what each dialect would make of them."""
    with pytest.raises(InvalidRuleError) as caught:
        parse_rule("0 30 9 ? * 2", options=OPTIONS)
    assert "as seconds it is wrong (day: ? stands only in quartz" in caught.value.message
    assert "as quartz it means 'At 09:30 on Monday (UTC)'" in caught.value.message
    with pytest.raises(InvalidRuleError, match="as seconds it means 'At 09:30 on day 1"):
        parse_rule("0 30 9 1 1 *", options=OPTIONS)


def test_a_dialect_that_does_not_exist_is_refused_with_those_that_do() -> None:
    """Nothing is read as something near it."""
    with pytest.raises(InvalidRuleError, match="'cron' is no dialect: use one of unix"):
        parse_rule("0 9 * * *", dialect="cron", options=OPTIONS)


def test_a_period_that_divides_a_day_starts_at_the_local_midnight_before_it_was_written() -> None:
    """Midnight is that of the zone: 15:20 UTC on the 10th is already the 11th in Auckland."""
    parsed = parse_rule("every 8h", options=options(timezone="Pacific/Auckland"))
    assert parsed.timetable.rule == rules.IntervalRule(period_us=8 * HOUR, anchor=parse_instant("2026-03-10T11:00:00Z"))


def test_a_midnight_that_the_clocks_skip_is_the_moment_of_the_change() -> None:
    """Havana went from 23:59:59 to 01:00 on 8 March 2026."""
    now = parse_instant("2026-03-08T12:00:00Z")
    parsed = parse_interval("1h", options=options(now=now, timezone="America/Havana"))
    assert parsed.timetable.rule == rules.IntervalRule(period_us=HOUR, anchor=parse_instant("2026-03-08T05:00:00Z"))


@pytest.mark.parametrize("period", ["7m", "55 minutes", "5h", "2 days", "2 weeks", "25h"])
def test_any_other_period_is_refused_with_the_anchor_of_each_reading(period: str) -> None:
    """The two lines can be copied."""
    with pytest.raises(InvalidRuleError) as caught:
        parse_interval(period, options=options(timezone="America/New_York"))
    assert "anchor: 2026-03-10T15:20:30Z (from now)" in caught.value.message
    assert "anchor: 2026-03-10T04:00:00Z (from local midnight)" in caught.value.message
    assert caught.value.field == "anchor"


def test_an_anchor_is_a_grid_in_both_directions_that_no_clock_change_moves() -> None:
    """Ticks are anchor + k x period for every whole k, in elapsed time."""
    anchor = parse_instant("2026-06-01T12:00:00Z")
    parsed = parse_interval("2d", options=options(anchor=anchor, timezone="America/New_York"))
    assert fires(parsed.timetable, "2026-03-06T12:00:00Z") == [f"2026-03-{day:02}T12:00:00Z" for day in (7, 9, 11)]
    assert rules.compile(parsed.timetable).previous(anchor + DAY) == anchor


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        ("2027-01-01T00:00", {}, ["2027-01-01T05:00:00Z"]),
        ("2027-01-01 00:00:30", {}, ["2027-01-01T05:00:30Z"]),
        ("2027-01-01T00:00:00Z", {}, ["2027-01-01T00:00:00Z"]),
        ("2027-01-01T00:00+02:00", {}, ["2026-12-31T22:00:00Z"]),
        ("2027-03-14T02:30", {}, ["2027-03-14T07:00:00Z"]),
        ("2027-03-14T02:30", {"dst_gap": "shift"}, ["2027-03-14T07:30:00Z"]),
        ("2027-11-07T01:30", {}, ["2027-11-07T05:30:00Z"]),
        ("2027-11-07T01:30", {"dst_fold": "last"}, ["2027-11-07T06:30:00Z"]),
        ("2027-11-07T01:30", {"dst_fold": "both"}, ["2027-11-07T05:30:00Z", "2027-11-07T06:30:00Z"]),
    ],
)
def test_one_time_is_local_unless_it_has_an_offset(text: str, changes: dict[str, str], expected: list[str]) -> None:
    """Gaps and folds follow the same policies as repeated times."""
    parsed = parse_once(text, options=options(timezone="America/New_York", **changes))
    assert fires(parsed.timetable, "2026-01-01T00:00:00Z") == expected


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "2027-01-01", "2027-02-30T00:00", "2027-01-01T25:00", "01/02/2027 00:00"]
)
def test_what_is_no_time_is_refused(text: str) -> None:
    """A date needs a time of day."""
    with pytest.raises(InvalidError):
        parse_once(text, options=OPTIONS)


def test_a_time_that_the_policy_skips_can_never_fire() -> None:
    """With dst_gap skip, a time inside a gap is an error."""
    with pytest.raises(InvalidRuleError, match="never fires: the clocks skip that time"):
        parse_once("2027-03-14T02:30", options=options(timezone="America/New_York", dst_gap="skip"))


def test_a_list_is_due_when_any_of_its_rules_is() -> None:
    """What two rules share comes once."""
    parsed = parse_any(["0 9 * * *", "0 9,18 * * SAT", "every 12h"], options=OPTIONS)
    assert fires(parsed.timetable, "2026-03-13T18:00:00Z", 5) == [
        *("2026-03-14T00:00:00Z", "2026-03-14T09:00:00Z", "2026-03-14T12:00:00Z"),
        *("2026-03-14T18:00:00Z", "2026-03-15T00:00:00Z"),
    ]
    assert isinstance(parse_any(["@daily"], options=OPTIONS).timetable.rule, rules.CronRule)
    with pytest.raises(InvalidRuleError, match="at least one rule"):
        parse_any([], options=OPTIONS)
    with pytest.raises(InvalidRuleError, match="rule 2 of the list: minute: 99"):
        parse_any(["@daily", "99 * * * *"], options=OPTIONS)


def test_bounds_are_part_of_the_timetable_and_are_checked() -> None:
    """Both are included; a rule with no tick between them is refused."""
    start, end = parse_instant("2026-04-01T09:00:00Z"), parse_instant("2026-04-02T09:00:00Z")
    parsed = parse_rule("0 9 * * *", options=options(start=start, end=end))
    assert fires(parsed.timetable, "2026-01-01T00:00:00Z", 5) == ["2026-04-01T09:00:00Z", "2026-04-02T09:00:00Z"]
    with pytest.raises(InvalidRuleError, match="lies before start"):
        parse_rule("0 9 * * *", options=options(start=end, end=start))
    with pytest.raises(InvalidRuleError, match="no tick between its start and its end"):
        parse_rule("0 9 * * *", options=options(start=start + SECOND, end=end - SECOND))


@pytest.mark.parametrize(("field", "value"), [("dst_gap", "jump"), ("dst_fold", "first ")])
def test_unknown_policies_are_refused(field: str, value: str) -> None:
    """A policy that does not exist is no default."""
    with pytest.raises(InvalidRuleError, match=f"is no {field}: use one of") as caught:
        parse_rule("0 9 * * *", options=options(**{field: value}))
    assert caught.value.field == field


def test_an_unknown_zone_is_refused_whatever_the_rule() -> None:
    """Also for an interval, which its zone does not concern."""
    for text in ("0 9 * * *", "every 1h", "99 * * * *"):
        with pytest.raises(InvalidZoneError):
            parse_rule(text, options=options(timezone="Mars/Olympus"))


@pytest.mark.parametrize("text", ["0 9 * * *", "@weekly", "H H(0-6) * * 1-5", "every 90m", "*/7 * * * *"])
def test_a_timetable_read_again_from_json_has_the_same_ticks(text: str) -> None:
    """The stored form is the rule: nothing else is needed to go on."""
    parsed = parse_rule(text, options=options(timezone="Europe/Madrid", hash_key="nightly", dst_fold="last"))
    again = msgspec.json.decode(msgspec.json.encode(parsed.timetable), type=rules.Timetable)
    assert again == parsed.timetable
    assert fires(again, "2026-10-24T00:00:00Z", 50) == fires(parsed.timetable, "2026-10-24T00:00:00Z", 50)
