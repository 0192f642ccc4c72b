"""Which days a rule fires on, over decades, against dates walked one by one."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from random import Random

import pytest

from puntual.model.errors import InvalidRuleError
from puntual.model.instant import DAY, from_datetime
from puntual.timing import rule as rules
from tests.support import timing_oracle as oracle

SEEDS = range(4)
RULES_A_SEED = 50


def midnight_rule(drawn: oracle.Drawn) -> rules.Compiled:
    """The drawn days at midnight in UTC."""
    expr = f"0 0 {drawn.day.text} {drawn.month.text} {drawn.weekday.text}"
    return rules.compile(rules.Timetable(rule=rules.CronRule(expr=expr, dialect="unix")))


def days_until(drawn: oracle.Drawn, first: date, years: int) -> list[date]:
    """The matching dates, by looking at each."""
    days = (first + timedelta(days=ahead) for ahead in range(years * 366))
    return [day for day in days if drawn.matches_day(day)]


@pytest.mark.parametrize("seed", SEEDS)
def test_days_over_decades(seed: int) -> None:
    """Steps, ranges, names, L, W and # pick the dates that a walk picks, over leap years and centuries."""
    random = Random(seed)
    for _ in range(RULES_A_SEED):
        drawn = oracle.draw_rule(random)
        first = date(random.choice((1895, 1968, 1999, 2024, 2096, 2395)), 1, 1)
        expected = [from_datetime(datetime(d.year, d.month, d.day, tzinfo=UTC)) for d in days_until(drawn, first, 12)]
        start = from_datetime(datetime(first.year, 1, 1, tzinfo=UTC))
        end = start + 12 * 366 * DAY - 1
        try:
            compiled = midnight_rule(drawn)
        except InvalidRuleError:
            assert not expected, f"seed {seed}: {drawn}"
            continue
        assert compiled.between(start - 1, end, len(expected) + 1) == expected, f"seed {seed}: {drawn}"
        assert compiled.count(start - 1, end, 1_000_000) == len(expected), f"seed {seed}: {drawn}"
        for _ in range(20):
            at = random.randrange(start, end)
            before = [tick for tick in expected if tick <= at]
            found = compiled.previous(at)
            assert found == before[-1] if before else found is None or found < start, f"seed {seed}: {drawn} {at}"


@pytest.mark.parametrize("seed", SEEDS)
def test_refused_as_impossible_means_that_no_date_matches(seed: int) -> None:
    """A day and months are refused exactly when no year has such a date."""
    random = Random(seed + 50)
    for _ in range(40):
        day = random.choice((28, 29, 30, 31))
        month = oracle.draw_numbers(random, 1, 12)
        possible = any(day <= oracle.length(date(2024, number, 1)) for number in month.values)
        timetable = rules.Timetable(rule=rules.CronRule(expr=f"0 0 {day} {month.text} *", dialect="unix"))
        if possible:
            assert rules.compile(timetable).next(0) is not None
        else:
            with pytest.raises(InvalidRuleError, match="never fires"):
                rules.compile(timetable)
