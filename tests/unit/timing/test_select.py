"""The wrappers alone: each agrees with its own list, from any side, at any cap, and asks its ticks only so often."""

from __future__ import annotations

from random import Random

import pytest

from puntual.model.instant import DAY, EARLIEST, HOUR, LATEST, MINUTE, SECOND, Instant, parse_instant
from puntual.timing import rule as rules
from puntual.timing.clock import day_number
from puntual.timing.interval import IntervalTicks
from puntual.timing.merge import ListedTicks, Ticks, UnionTicks, merged
from puntual.timing.select import ApartTicks, NthTicks, nth_after, shared
from puntual.timing.zone import load_zone

NOW = parse_instant("2026-12-01T02:00:00Z")
EXTREMES = (-(10**40), EARLIEST - 1, EARLIEST, 0, LATEST, LATEST + 1, 10**40)
WEEKEND = rules.DaysRule(weekday="SAT,SUN")
HOURLY = rules.IntervalRule(period_us=HOUR, anchor=0)


class Counting:
    """Ticks that count how often they are asked."""

    def __init__(self, ticks: Ticks) -> None:
        self._ticks = ticks
        self.asked = 0

    def next(self, after: Instant) -> Instant | None:
        """Counts, then asks."""
        self.asked += 1
        return self._ticks.next(after)

    def previous(self, at: Instant) -> Instant | None:
        """Counts, then asks."""
        self.asked += 1
        return self._ticks.previous(at)

    def count(self, after: Instant, until: Instant, cap: int) -> int:
        """Counts, then asks."""
        self.asked += 1
        return self._ticks.count(after, until, cap)


def agrees(ticks: Ticks, expected: list[Instant], random: Random) -> None:
    """Asks at random places, and compares with the whole list."""
    low, high = expected[0] - DAY, expected[-1]
    for _ in range(60):
        after, until = sorted(random.randrange(low, high) for _ in range(2))
        inside = [tick for tick in expected if after < tick <= until]
        cap = random.choice((1, 5, len(inside) + 1, 10**9))
        assert ticks.count(after, until, cap) == min(cap, len(inside))
        assert ticks.next(after) == next(tick for tick in expected if tick > after)
        assert ticks.previous(until) == next((tick for tick in reversed(expected) if tick <= until), None)


@pytest.mark.parametrize("seed", range(8))
def test_each_wrapper_has_the_ticks_of_its_list(seed: int) -> None:
    """On lists that are drawn, so that nothing is regular."""
    random = Random(seed)
    some = sorted({NOW + MINUTE * random.randrange(1, 40_000) for _ in range(600)})
    others = sorted({*random.sample(some, 200), *(NOW + MINUTE * random.randrange(40_000) for _ in range(300))})
    agrees(ApartTicks(ListedTicks(tuple(some)), ListedTicks(tuple(others))), sorted({*some} - {*others}), random)
    grid = range(NOW, NOW + 40_000 * MINUTE, 7 * HOUR)
    parts = [ListedTicks(tuple(each)) for each in (some, others, grid)]
    agrees(UnionTicks(tuple(parts)), sorted({*some, *others, *grid}), random)
    assert merged(parts).count(0, LATEST, 10**9) == len({*some, *others, *grid})
    nth = random.choice((2, 3, 40, 100))
    agrees(NthTicks(ListedTicks(tuple(some)), nth, some[9]), some[9::nth], random)
    assert shared(ListedTicks(tuple(some)), ListedTicks(tuple(others)), 0, LATEST) == len({*some} & {*others})
    for number in (1, 2, 33, 500):
        assert nth_after(ListedTicks(tuple(some)), some[3], number) == some[3 + number]
    assert nth_after(ListedTicks(tuple(some)), some[3], 1_000) is None


TIMETABLES = [
    rules.SelectRule(rule=HOURLY, without=(WEEKEND,)),
    rules.SelectRule(rule=HOURLY, without=(rules.CronRule(expr="0 12 * * *", dialect="unix"),)),
    rules.SelectRule(rule=HOURLY, every_nth=5, counted_from=NOW),
    rules.SelectRule(rule=HOURLY, every_nth=5, max_ticks=100, counted_from=NOW),
    rules.SelectRule(rule=rules.CronRule(expr="0 0 29 2 *", dialect="unix"), without=(WEEKEND,)),
    rules.SelectRule(rule=rules.CronRule(expr="0 * * * *", dialect="unix"), without=(HOURLY, WEEKEND)),
    rules.AnyRule(
        rules=(rules.CronRule(expr="0 0 29 2 *", dialect="unix"), rules.CronRule(expr="@daily", dialect="unix"))
    ),
]


@pytest.mark.parametrize("rule", TIMETABLES, ids=lambda rule: str(rule)[:60])
def test_no_instant_is_too_far(rule: rules.Rule) -> None:
    """From beyond the years 1 to 9999 in, each answer is within them and on the right side."""
    compiled = rules.compile(rules.Timetable(rule=rule, timezone="Pacific/Apia"))
    for at in EXTREMES:
        later, earlier = compiled.next(at), compiled.previous(at)
        assert later is None or later > at
        assert earlier is None or earlier <= at
        assert compiled.count(at, at, 10) == 0
        assert compiled.count(10**40, at, 10) == 0
        assert compiled.count(-(10**40), at, 3) <= 3


def test_an_nth_tick_is_found_by_counts() -> None:
    """The millionth second costs a handful of questions, not a million."""
    seconds = Counting(IntervalTicks(1_000_000, 0))
    assert nth_after(seconds, NOW - 1, 1_000_000) == NOW + 999_999 * 1_000_000
    assert seconds.asked < 130
    nth = NthTicks(seconds, 10_000, NOW)
    seconds.asked = 0
    assert nth.previous(NOW + 365 * DAY) == NOW + 365 * DAY // (10_000 * 1_000_000) * 10_000 * 1_000_000
    assert seconds.asked < 130


def test_counting_goes_on_where_it_stood() -> None:
    """A planner that asks tick after tick counts each hour once, not all of them since the start."""
    ticks = Counting(UnionTicks((IntervalTicks(HOUR, 0), IntervalTicks(5 * HOUR, MINUTE))))
    nth = NthTicks(ticks, 2, NOW)
    late = NOW + 3_650 * DAY
    first = nth.next(late)
    assert first is not None
    tick, expected = first, []
    for _ in range(50):
        expected.append(tick)
        after = nth.next(tick)
        assert after is not None
        tick = after
    ticks.asked = 0
    assert NthTicks(ticks, 2, NOW).next(expected[9]) == expected[10]
    assert ticks.asked < 10
    assert nth.count(late, expected[-1], 10**9) == len(expected)


def test_a_day_that_a_clock_change_shows_twice_is_left_out_whole() -> None:
    """In Havana 00:30 comes twice; set back over midnight, a day has two parts, and both are left out."""
    for name, day, change in (
        ("America/Havana", "2026-11-01", "2026-11-01T05:00:00Z"),
        ("America/Asuncion", "2023-03-25", "2023-03-26T03:00:00Z"),
        ("America/St_Johns", "2008-11-01", "2008-11-02T02:31:00Z"),
    ):
        rule = rules.SelectRule(
            rule=rules.IntervalRule(period_us=10 * MINUTE, anchor=0), without=(rules.DaysRule(first=day, last=day),)
        )
        compiled = rules.compile(rules.Timetable(rule=rule, timezone=name))
        zone, around = load_zone(name), parse_instant(change) // (10 * MINUTE) * (10 * MINUTE)
        low, high = around - 3 * DAY - 1, around + 3 * DAY
        expected = [
            tick
            for tick in range(low + 1, high + 1, 10 * MINUTE)
            if day_number(day) != (tick // SECOND + zone.offset(tick)) // 86_400
        ]
        assert compiled.between(low, high, 10_000) == expected
        assert compiled.count(low, high, 10_000) == len(expected)
        back, tick = [], compiled.previous(high)
        while tick is not None and tick > low:
            back.append(tick)
            tick = compiled.previous(tick - 1)
        assert back[::-1] == expected


def test_dense_exceptions_are_counted_in_pieces() -> None:
    """Where nearly all is taken away, a small count ends soon."""
    minutes, most = IntervalTicks(MINUTE, 0), ListedTicks(tuple(range(NOW, NOW + 6_000 * MINUTE, MINUTE)))
    apart = ApartTicks(minutes, most)
    assert apart.count(NOW - 1, NOW + 6_000 * MINUTE, 10) == 1
    assert apart.count(NOW - 1, NOW + 12_000 * MINUTE, 10**9) == 6_001
    assert apart.next(NOW - 1) == NOW + 6_000 * MINUTE
    assert apart.previous(NOW + 5_999 * MINUTE) == NOW - MINUTE
