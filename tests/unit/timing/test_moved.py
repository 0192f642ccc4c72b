"""Ticks that move off closed days: what is left out and where a rule begins and ends is decided before they move."""

from __future__ import annotations

from typing import Final

import pytest

from puntual.model.errors import InvalidRuleError
from puntual.model.instant import format_instant, parse_instant
from puntual.timing import rule as rules
from puntual.timing.calendar import CalendarDays, Otherwise
from puntual.timing.recurrence.rule import RruleRule
from puntual.timing.rule import (
    AnyRule,
    Closures,
    CronRule,
    DaysRule,
    IntervalRule,
    OnceRule,
    PlainRule,
    SelectRule,
    Timetable,
)

SECOND: Final = 1_000_000
DAY: Final = 86_400 * SECOND
#: A Friday.
CHRISTMAS: Final = CalendarDays(name="x", version=1, dates=(parse_instant("2026-12-25T00:00:00Z") // DAY,))
CRON: Final = CronRule(expr="0 9 25 * *", dialect="unix")
RRULE: Final = RruleRule(expr="FREQ=MONTHLY;BYMONTHDAY=25;BYHOUR=9;BYMINUTE=0")
TIMES: Final = AnyRule(
    rules=tuple(OnceRule(wall=f"{month}-25T09:00:00") for month in ("2026-11", "2026-12", "2027-01"))
)
EXCEPTIONS: Final = (
    DaysRule(first="2026-12-25", last="2026-12-25"),
    OnceRule(wall="2026-12-25T09:00:00"),
    OnceRule(instant=parse_instant("2026-12-25T09:00:00Z")),
    CronRule(expr="0 9 25 12 *", dialect="unix"),
    RruleRule(expr="FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=25;BYHOUR=9;BYMINUTE=0"),
)


def days(rule: rules.Rule, otherwise: Otherwise = "next") -> list[str]:
    """The days of a rule's ticks in one winter, moved off Christmas and the weekends."""
    closures = Closures(exclude=("x",), otherwise=otherwise, calendars=(CHRISTMAS,))
    compiled = rules.compile(Timetable(rule=rule, closures=closures))
    ticks = compiled.between(parse_instant("2026-11-20T00:00:00Z"), parse_instant("2027-02-20T00:00:00Z"), 100)
    assert compiled.count(ticks[0] - 1, ticks[-1], 100) == len(ticks)
    return [format_instant(tick)[:10] for tick in ticks]


@pytest.mark.parametrize("without", EXCEPTIONS)
@pytest.mark.parametrize("rule", [CRON, RRULE, TIMES])
def test_every_exception_speaks_of_the_day_before_the_move(
    rule: PlainRule | AnyRule, without: PlainRule | DaysRule
) -> None:
    """The tick of the 25th is left out although it would have moved to the 28th, whatever the two are written as."""
    assert days(rule) == ["2026-11-25", "2026-12-28", "2027-01-25"]
    assert days(SelectRule(rule=rule, without=(without,))) == ["2026-11-25", "2027-01-25"]


@pytest.mark.parametrize("rule", [CRON, RRULE, TIMES])
def test_an_exception_does_not_speak_of_the_day_that_a_tick_moves_to(rule: PlainRule | AnyRule) -> None:
    """To leave the 28th out does not leave the tick of the 25th out."""
    without = DaysRule(first="2026-12-28", last="2026-12-28")
    assert days(SelectRule(rule=rule, without=(without,))) == ["2026-11-25", "2026-12-28", "2027-01-25"]


def test_an_until_does_not_cut_a_tick_that_moves_past_it() -> None:
    """The recurrence of the 25th lies before UNTIL, so it comes, on the 28th."""
    rule = RruleRule(expr="FREQ=MONTHLY;UNTIL=20261225T235959Z", dtstart="2026-11-25T09:00:00")
    assert days(rule) == ["2026-11-25", "2026-12-28"]


def test_a_dtstart_does_not_cut_a_tick_that_moves_before_it() -> None:
    """The first recurrence comes a day early, and counts."""
    rule = RruleRule(expr="FREQ=MONTHLY;COUNT=2", dtstart="2026-12-25T09:00:00")
    assert days(rule, "previous") == ["2026-12-24", "2027-01-25"]


def test_a_count_counts_before_ticks_fall_together() -> None:
    """Friday to Monday are four recurrences, although all of them come on Monday."""
    rule = RruleRule(expr="FREQ=DAILY;COUNT=4", dtstart="2026-12-25T09:00:00")
    assert days(rule) == ["2026-12-28"]


def test_an_interval_is_no_exception_of_what_moves() -> None:
    """It knows instants only, and before a move there are none."""
    with pytest.raises(InvalidRuleError, match="takes nothing away from ticks that move") as refused:
        days(SelectRule(rule=CRON, without=(IntervalRule(period_us=DAY, anchor=0),)))
    assert refused.value.field == "except"


@pytest.mark.parametrize(
    "rule",
    [
        CronRule(expr="0-59 0-59 0-23 * * *", dialect="seconds"),
        RruleRule(expr="FREQ=DAILY;BYHOUR=8,9,10;BYMINUTE=" + ",".join(map(str, range(60)))),
    ],
)
def test_what_comes_more_than_a_hundred_times_a_day_does_not_move(rule: PlainRule) -> None:
    """Written as fixed times or not: the times of a long holiday would all be looked at, each time."""
    with pytest.raises(InvalidRuleError, match="only fixed times move"):
        days(rule)
