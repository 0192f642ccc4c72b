from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from puntual.model.errors import InvalidRuleError
from puntual.model.instant import DAY, HOUR, format_instant, parse_instant
from puntual.timing import rule as rules
from puntual.timing.calendar import CalendarDays
from puntual.timing.describe import sentences
from puntual.timing.parse import Parsed, RuleOptions, parse_any, parse_interval, parse_rule, parse_times
from puntual.timing.rule import CronRule, DaysRule, OnceRule, SelectRule
from puntual.timing.sift import written_at

NOW = parse_instant("2026-12-01T02:00:00Z")


def options(*without: str, timezone: str = "UTC", **more: object) -> RuleOptions:
    """Options with these exceptions."""
    return RuleOptions(now=NOW, timezone=timezone, without=without, **more)  # type: ignore[arg-type] # as each test says


def parsed(text: str | Sequence[str], *without: str, **more: object) -> Parsed:
    """A rule with these exceptions."""
    own = options(*without, **more)  # type: ignore[arg-type] # as each test says
    return parse_rule(text, options=own) if isinstance(text, str) else parse_any(text, options=own)


def fires(found: Parsed, count: int = 5) -> list[str]:
    """Its next ticks from now on, without their seconds."""
    ticks = rules.compile(found.timetable).between(NOW, NOW + 4_000 * DAY, count)
    return [format_instant(tick)[:16] for tick in ticks]


def without(text: str, *, lang: str | None = None) -> object:
    """What one exception is read as."""
    rule = parse_rule("every 15 minutes", options=options(text, lang=lang)).timetable.rule
    assert isinstance(rule, SelectRule)
    return rule.without[0]


def refused(text: str | Sequence[str], *exceptions: str, **more: object) -> InvalidRuleError:
    """Why a rule with these exceptions is refused."""
    with pytest.raises(InvalidRuleError) as caught:
        parsed(text, *exceptions, **more)
    return caught.value


def test_a_rule_that_leaves_nothing_out_is_stored_as_ever() -> None:
    """So that old rows, and schedules without such keys, are what they were."""
    assert parsed("0 9 * * *").timetable.rule == CronRule(expr="0 9 * * *", dialect="unix")


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("2026-12-24", DaysRule(first="2026-12-24", last="2026-12-24")),
        ("2026-12-24..2027-01-02", DaysRule(first="2026-12-24", last="2027-01-02")),
        (" 2026-12-24 .. 2027-01-02 ", DaysRule(first="2026-12-24", last="2027-01-02")),
        ("weekends", DaysRule(weekday="SUN,SAT")),
        ("fines de semana", DaysRule(weekday="SUN,SAT")),
        ("mondays", DaysRule(weekday="MON")),
        ("first monday of the month", DaysRule(weekday="MON#1")),
        ("el primer lunes del mes", DaysRule(weekday="MON#1")),
        ("december 25", DaysRule(day="25", month="12")),
        ("25 de diciembre", DaysRule(day="25", month="12")),
        ("last working day of the month", DaysRule(working_days=(-1,))),
        ("every other friday counted from 2026-12-04", DaysRule(weekday="FRI", cycle_days=14, anchor="2026-12-04")),
        ("every 3 days counted from 2026-12-04", DaysRule(cycle_days=3, anchor="2026-12-04")),
        ("* * 25 12 *", DaysRule(day="25", month="12")),
        ("* * * * 6,0", DaysRule(weekday="6,0")),
    ],
)
def test_what_says_no_time_means_whole_days(text: str, days: DaysRule) -> None:
    """In both languages, in cron, and as dates."""
    assert without(text) == days


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("2026-12-24T09:00", OnceRule(wall="2026-12-24T09:00:00")),
        ("2026-12-24 09:00", OnceRule(wall="2026-12-24T09:00:00")),
        ("2026-12-24T09:00+01:00", OnceRule(instant=parse_instant("2026-12-24T08:00:00Z"))),
        ("every day at 12:00", CronRule(expr="0 12 * * *", dialect="unix")),
        ("0 12 * * *", CronRule(expr="0 12 * * *", dialect="unix")),
        ("every 2 hours", rules.IntervalRule(period_us=2 * HOUR, anchor=parse_instant("2026-12-01T00:00:00Z"))),
    ],
)
def test_what_says_a_time_takes_single_ticks(text: str, rule: object) -> None:
    """Those that coincide, and no others."""
    assert without(text) == rule


@pytest.mark.parametrize("lang", ["en", "es"])
def test_a_range_of_more_than_ten_years_is_refused(lang: str) -> None:
    """A rule that ends says so with its end; exceptions of thousands of years would be looked through in vain."""
    with pytest.raises(InvalidRuleError, match=r"ten years|diez años"):
        parsed("every day at 9:00", "2026-12-15..9000-12-31", language=lang)


def test_the_language_of_phrases_holds_for_exceptions() -> None:
    """One that is declared is the only one tried."""
    assert without("fines de semana", lang="es") == DaysRule(weekday="SUN,SAT")
    assert "is no word of a phrase" in refused("every 15 minutes", "fines de semana", lang="en").message


def test_days_are_those_of_the_zone() -> None:
    """The last hour of the 24th in Bogota is early on the 25th in UTC."""
    found = parsed("0 23 * * *", "2026-11-30..2026-12-24", timezone="America/Bogota")
    assert fires(found, 1) == ["2026-12-26T04:00"]
    found = parsed("every 12 hours", "2026-11-30..2026-12-24", timezone="America/Bogota")
    assert fires(found, 1) == ["2026-12-25T05:00"]


def test_a_time_that_the_clocks_skip_is_left_out_by_what_it_says() -> None:
    """02:30 would come at 03:00; the exception names it as the rule does, and what comes at 03:00 stays."""
    own = options("29 march", timezone="Europe/Madrid")
    assert not rules.compile(parse_rule("30 2 29 3 *", options=options(timezone="Europe/Madrid")).timetable).closed
    compiled = rules.compile(parse_rule("30 2 * * *", options=own).timetable)
    change = parse_instant("2026-03-29T01:00:00Z")
    assert compiled.between(change - DAY, change + DAY, 9) == [
        parse_instant("2026-03-28T01:30:00Z"),
        parse_instant("2026-03-30T00:30:00Z"),
    ]
    times = rules.compile(parse_rule("30 2 * * *", options=options("0 3 * * *", timezone="Europe/Madrid")).timetable)
    assert times.next(change - HOUR) == change


def test_the_steps_follow_each_other() -> None:
    """Exceptions, then each n-th of what is left, then at most so many of these, then the bounds."""
    every = ["2026-12-01T09:00", "2026-12-02T09:00", "2026-12-03T09:00", "2026-12-04T09:00", "2026-12-05T09:00"]
    assert fires(parsed("0 9 * * *")) == every
    assert fires(parsed("0 9 * * *", "2026-12-02")) == [every[0], *every[2:], "2026-12-06T09:00"]
    second = parsed("0 9 * * *", "2026-12-02", every_nth=2)
    assert fires(second, 3) == ["2026-12-01T09:00", "2026-12-04T09:00", "2026-12-06T09:00"]
    assert fires(parsed("0 9 * * *", "2026-12-02", every_nth=2, max_ticks=2)) == [every[0], every[3]]
    start, end = parse_instant("2026-12-02T00:00:00Z"), parse_instant("2026-12-05T12:00:00Z")
    bounded = parsed("0 9 * * *", "2026-12-02", every_nth=2, max_ticks=9, start=start, end=end)
    assert fires(bounded) == ["2026-12-03T09:00", "2026-12-05T09:00"]


def test_what_is_left_out_is_taken_before_a_closed_day_moves_it() -> None:
    """Of Saturday's and Sunday's tick, which would both move to Monday, the one that is left does."""
    fair = CalendarDays(name="fair", version=1, weekdays=(0, 6))
    closures = rules.Closures(exclude=("fair",), otherwise="next", calendars=(fair,))
    found = parsed("0 9 * * 6,0", "2026-12-05", "2026-12-12..2026-12-13", max_ticks=2, start=NOW)
    moved = msgspec.structs.replace(found.timetable, closures=closures)
    ticks = rules.compile(moved).between(NOW, NOW + 99 * DAY, 9)
    assert [format_instant(tick)[:10] for tick in ticks] == ["2026-12-07", "2026-12-21"]


def test_a_recurrence_rule_leaves_out_and_counts_too() -> None:
    """Its own COUNT comes first: it says what the rule is."""
    text = "DTSTART:20261201T090000\nRRULE:FREQ=WEEKLY;BYDAY=TU;COUNT=5"
    found = parse_rule(text, dialect="rrule", options=options("2026-12-08", "0 9 22 * *", every_nth=2, start=NOW))
    assert fires(found) == ["2026-12-01T09:00", "2026-12-29T09:00"]


def test_counting_begins_at_the_start() -> None:
    """Whatever the moment of writing, and a tick at the start is the first."""
    start = parse_instant("2026-11-20T09:00:00Z")
    found = parsed("0 9 * * *", every_nth=7, max_ticks=3, start=start)
    assert fires(found) == ["2026-12-04T09:00"]
    assert rules.compile(found.timetable).count(0, NOW + DAY * 99, 9) == 3
    assert not any("no start is given" in warning for warning in found.warnings)


def test_without_a_start_counting_begins_at_the_writing() -> None:
    """A tick at that very moment is over; what is counted from then on is said."""
    found = parsed("0 * * * *", max_ticks=2)
    assert fires(found) == ["2026-12-01T03:00", "2026-12-01T04:00"]
    assert rules.compile(found.timetable).previous(NOW) is None
    assert (
        "no start is given, so its ticks are counted from when the rule was written or changed last" in found.warnings
    )
    later = written_at(found.timetable, NOW + 10 * HOUR)
    tick = rules.compile(later).next(NOW)
    assert tick == NOW + 11 * HOUR
    bounded = parsed("0 * * * *", max_ticks=2, start=NOW).timetable
    assert written_at(bounded, NOW + 10 * HOUR) is bounded


def test_a_list_of_times_is_due_at_each() -> None:
    """In any order, once where two agree, local or with an offset."""
    times = ["2027-02-01T09:00", "2027-01-01T09:00", "2027-01-01T08:00Z"]
    found = parse_times(times, options=options(timezone="Europe/Madrid"))
    assert fires(found) == ["2027-01-01T08:00", "2027-02-01T08:00"]
    assert fires(parse_times(times, options=options("2027-01-01", timezone="Europe/Madrid"))) == ["2027-02-01T08:00"]
    assert fires(parse_times(times, options=options(max_ticks=1))) == ["2027-01-01T08:00"]
    assert found.description.startswith("Once at 2027-02-01T09:00:00, 2027-01-01T09:00:00 and 2027-01-01T08:00:00Z")


def test_a_list_of_times_names_the_one_that_is_none() -> None:
    """By its place."""
    with pytest.raises(InvalidRuleError, match=r"time 2 of the list: 'noon' is no time"):
        parse_times(["2027-01-01T09:00", "noon"], options=options())
    with pytest.raises(InvalidRuleError, match="has 1 to 1000"):
        parse_times([], options=options())


@pytest.mark.parametrize(
    ("rule", "exceptions"),
    [
        ("0 9 * * 1", ["mondays"]),
        ("0 9 * * *", ["every day"]),
        ("0 9 * * *", ["weekends", "weekdays"]),
        ("0 9 * * *", ["0 9 * * *"]),
        ("every 15 minutes", ["weekends", "weekdays"]),
        ("every 2 hours", ["every hour"]),
        ("every hour", ["0 * * * *"]),
        (["every monday at 9", "every tuesday at 9"], ["mondays", "tuesdays"]),
    ],
)
def test_a_rule_of_which_nothing_is_left_is_refused(rule: str | list[str], exceptions: list[str]) -> None:
    """Found in bounded time, whatever the kinds of rules."""
    assert refused(rule, *exceptions).message == "this never fires: what it leaves out is all that it has"


@pytest.mark.parametrize(
    ("exceptions", "field", "message"),
    [
        (["2026-02-30"], "except", "'2026-02-30' is no date"),
        (["2026-12-24..2026-12-01"], "except", "2026-12-01 lies before 2026-12-24"),
        (["weekends", "foo bar"], "except[1]", "'foo' is no word of a phrase"),
        (["9"], "except", "a unix cron expression has the fields"),
        (["every other friday"], "except", "says itself from when it counts"),
        (["first monday"], "except", "it is not said which of what this is"),
        (["61 * * * *"], "except", "61"),
        (["2026-12-24T25:00"], "except", "is no time"),
        ([""], "except", "the rule is empty"),
        (["weekends"] * 1_001, "except", "at most 1000 exceptions"),
    ],
)
def test_an_exception_that_is_none_is_named(exceptions: list[str], field: str, message: str) -> None:
    """With the key, its place in a list, and what would be right."""
    error = refused("every 15 minutes", *exceptions)
    assert error.field == field
    assert message in error.message


@pytest.mark.parametrize(
    ("key", "number"),
    [("every_nth", 0), ("every_nth", -1), ("every_nth", 10_001), ("max_ticks", 0), ("max_ticks", 10**7)],
)
def test_a_number_out_of_its_range_is_refused(key: str, number: int) -> None:
    """Also the one that would mean nothing."""
    error = refused("0 9 * * *", **{key: number})
    assert error.field == key
    assert f"{key} is a whole number from 1 to" in error.message


def test_what_cannot_be_counted_in_time_is_refused() -> None:
    """Intervals of which too many would have to be searched; a second's rule that another second's rule cuts."""
    assert "too many ticks to be counted" in refused(["every 1m", "* * * * *"], every_nth=2).message
    with pytest.raises(InvalidRuleError, match="more than a tick a minute"):
        parse_interval("1s", options=options("every 2s"))
    parse_interval("1s", options=options("weekends", every_nth=2, max_ticks=1_000_000))


def test_an_exception_that_takes_nothing_is_warned_about() -> None:
    """Most often it is a slip in its time."""
    found = parsed("0 9 * * *", "2026-12-24T09:30", "2026-12-25T09:00")
    assert found.warnings == ["except 2026-12-24T09:30:00 takes nothing away: the rule has no tick then"]


def test_an_anchor_is_not_that_of_an_exception() -> None:
    """It belongs to the rule beside it."""
    anchor = parse_instant("2026-12-01T00:30:00Z")
    found = parsed("every 7 hours", "every 2 hours", anchor=anchor)
    assert isinstance(found.timetable.rule, SelectRule)
    (exception,) = found.timetable.rule.without
    assert isinstance(exception, rules.IntervalRule)
    assert exception.anchor == parse_instant("2026-12-01T00:00:00Z")


def test_the_sentences_leave_nothing_out() -> None:
    """In both languages, in the order of the steps."""
    found = parsed(
        ["every weekday at 9:30", "saturday at 11"],
        *("2026-12-24", "2026-12-31..2027-01-02", "first monday of the month", "every friday at 9:30"),
        every_nth=2,
        max_ticks=10,
        timezone="Europe/Madrid",
    )
    assert sentences(found.timetable) == {
        "en": "At 09:30 on Monday to Friday; or at 11:00 on Saturday; except on 2026-12-24; from 2026-12-31 to "
        "2027-01-02; on the 1st Monday of the month; at 09:30 on Friday (Europe/Madrid), one of every 2 of these "
        "times, at most 10 times, counted from 2026-12-01T02:00:01Z",
        "es": "A las 09:30 de lunes a viernes; o bien a las 11:00 los sábados; salvo el 2026-12-24; del 2026-12-31 al "
        "2027-01-02; el primer lunes del mes; a las 09:30 los viernes (Europe/Madrid), una de cada 2 de estas veces, "
        "como mucho 10 veces, contando desde 2026-12-01T02:00:01Z",
    }
    once = parsed("every hour", "weekends", max_ticks=1, start=NOW)
    assert sentences(once.timetable) == {
        "en": "Every 1h, counted from 2026-12-01T00:00:00Z, except on Saturday and Sunday (UTC), at most once, "
        "from 2026-12-01T02:00:00Z",
        "es": "Cada 1h, contando desde 2026-12-01T00:00:00Z, salvo los sábados y domingos (UTC), como mucho una vez, "
        "desde 2026-12-01T02:00:00Z",
    }
