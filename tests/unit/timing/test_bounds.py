"""Every question has an answer in a bounded number of steps, however odd the rule, the zone or the instant."""

from __future__ import annotations

import os
import time
from random import Random

import pytest

from puntual.model.errors import InvalidRuleError
from puntual.model.instant import DAY, EARLIEST, LATEST, SECOND, format_instant, parse_instant
from puntual.timing import rule as rules
from puntual.timing.cron.fields import CronDialect
from puntual.timing.cron.wall import WallPattern
from puntual.timing.ticks import count_ticks, next_tick, previous_tick, ticks_between
from puntual.timing.zone import load_zone

NOW = parse_instant("2026-01-01T00:00:00Z")
EXTREMES = (-(10**40), EARLIEST - 1, EARLIEST, 0, LATEST, LATEST + 1, 10**40)


def cron(expr: str, timezone: str = "America/New_York", dialect: CronDialect = "unix") -> rules.Timetable:
    """A cron timetable."""
    return rules.Timetable(rule=rules.CronRule(expr=expr, dialect=dialect), timezone=timezone)


TIMETABLES = [
    cron("* * * * * *", dialect="seconds"),
    cron("0 0 29 2 *"),
    cron("0 0 29 2 1#5", "UTC"),
    cron("0 0 */30 2 */6", "Pacific/Apia"),
    cron("0 0 0 29 2 ? 2096", dialect="quartz"),
    cron("0 0 0 31 12 ? 2099", dialect="quartz"),
    rules.Timetable(rule=rules.IntervalRule(period_us=SECOND, anchor=LATEST)),
    rules.Timetable(rule=rules.IntervalRule(period_us=100 * 366 * DAY, anchor=EARLIEST)),
    rules.Timetable(rule=rules.OnceRule(instant=0)),
    rules.Timetable(rule=rules.OnceRule(wall="9999-12-31T23:59:59"), timezone="Pacific/Apia"),
]
TIMETABLES += [
    rules.Timetable(
        rule=rules.AnyRule(rules=(rules.CronRule(expr="@daily", dialect="unix"), rules.OnceRule(instant=7)))
    ),
    rules.Timetable(rule=rules.CronRule(expr="@daily", dialect="unix"), start=NOW, end=NOW + DAY),
]


@pytest.mark.parametrize("timetable", TIMETABLES, ids=lambda timetable: str(timetable.rule)[:40])
def test_no_instant_is_too_far(timetable: rules.Timetable) -> None:
    """From beyond the years 1 to 9999 in, each answer lies within them and on the right side."""
    for at in EXTREMES:
        later, earlier = next_tick(timetable, at), previous_tick(timetable, at)
        assert later is None or (later > at and format_instant(later))
        assert earlier is None or (earlier <= at and format_instant(earlier))
        assert count_ticks(timetable, at, at, 10) == 0
        assert count_ticks(timetable, 10**40, at, 10) == 0
    assert 1 <= count_ticks(timetable, -(10**40), 10**40, 10) <= 10


class Counting(WallPattern):
    """A pattern that counts how often it is asked."""

    __slots__ = ("asked",)

    def first(self, wall: int) -> int | None:
        """Counts, then asks."""
        self.asked = getattr(self, "asked", 0) + 1
        return super().first(wall)


def test_a_leap_day_costs_a_handful_of_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stretches of a zone between now and the next match are passed over, not searched."""
    monkeypatch.setattr("puntual.timing.cron.grammar.WallPattern", Counting)
    rules.compile.cache_clear()
    compiled = rules.compile(cron("0 0 29 2 *", "Europe/Madrid"))
    rules.compile.cache_clear()
    assert compiled.next(parse_instant("2096-03-01T00:00:00Z")) == parse_instant("2104-02-28T23:00:00Z")
    pattern = compiled.next.__self__._pattern  # type: ignore[attr-defined] # the bound method's ticks, to look inside
    assert pattern.asked <= 6


def test_counts_of_ages_do_not_walk() -> None:
    """Eight thousand years of seconds are multiplied; a walk would not end within the test's time limit."""
    cap = 10**18
    seconds = count_ticks(cron("* * * * * *", "UTC", "seconds"), EARLIEST - 1, LATEST, cap)
    assert seconds == (LATEST + 1 - EARLIEST) // SECOND
    everywhere = count_ticks(cron("* * * * * *", dialect="seconds"), EARLIEST - 1, LATEST, cap)
    assert everywhere == seconds
    assert (
        count_ticks(cron("0 0 29 2 *", "UTC"), parse_instant("2000-01-01T00:00:00Z"), LATEST, cap) == 8_000 * 97 // 400
    )


@pytest.mark.parametrize("expr", ["0 0 30 2 *", "0 0 31 FEB,4,6 *", "0 0 31W 2-2 *", "0 0 30,31 2 *", "0 0 L-30 2 *"])
def test_impossible_expressions_are_refused_by_proof_not_by_search(expr: str) -> None:
    """Fourteen kinds of year are looked at, and no date of any of them matches."""
    with pytest.raises(InvalidRuleError, match="never fires"):
        rules.compile(cron(expr))


def test_a_rule_of_several_counts_what_they_share_once() -> None:
    """A union is counted exactly up to the cap."""
    random = Random(20260101)
    parts = (
        rules.CronRule(expr="*/10 * * * *", dialect="unix"),
        rules.CronRule(expr="0 9 * * *", dialect="unix"),
        rules.IntervalRule(period_us=7 * 60 * SECOND, anchor=NOW),
    )
    timetable = rules.Timetable(rule=rules.AnyRule(rules=parts), timezone="Europe/Madrid")
    singles = [rules.Timetable(rule=part, timezone="Europe/Madrid") for part in parts]
    for _ in range(30):
        after = NOW + random.randrange(100 * DAY)
        until = after + random.randrange(2 * DAY)
        expected = sorted({tick for single in singles for tick in ticks_between(single, after, until, 10_000)})
        assert ticks_between(timetable, after, until, 10_000) == expected
        assert count_ticks(timetable, after, until, 10_000) == len(expected)
        assert count_ticks(timetable, after, until, 5) == min(5, len(expected))
        assert previous_tick(timetable, until) == max(previous_tick(single, until) or 0 for single in singles)


def test_the_zone_of_the_process_has_no_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same question has the same answer wherever the program runs."""
    answers = set()
    for name in ("UTC", "America/New_York", "Asia/Kathmandu"):
        monkeypatch.setitem(os.environ, "TZ", name)
        time.tzset()
        rules.compile.cache_clear()
        answers.add(tuple(ticks_between(cron("30 2 * * *", "Europe/Berlin"), NOW, NOW + 400 * DAY, 500)))
    monkeypatch.undo()
    time.tzset()
    assert len(answers) == 1


@pytest.mark.parametrize("year", [2059, 2060, 2061, 2149, 2150, 2151, 9_997])
def test_how_far_a_zone_was_laid_out_before_changes_no_answer(year: int) -> None:
    """A zone just loaded knows its changes up to some year; asking across that year lays out the rest first."""
    for expr, expected in (
        ("0 12 15 7 *", f"{year + 1}-07-15T16:00:00Z"),
        ("0 12 15 1 *", f"{year + 1}-01-15T17:00:00Z"),
        ("30 1 1 8 *", f"{year + 1}-08-01T05:30:00Z"),
    ):
        load_zone.cache_clear()
        rules.compile.cache_clear()
        after = parse_instant(f"{year}-12-01T00:00:00Z")
        tick = next_tick(cron(expr), after)
        assert tick is not None
        assert format_instant(tick) == expected
        assert previous_tick(cron(expr), tick + DAY) == tick
        assert count_ticks(cron(expr), after, tick, 10) == 1
