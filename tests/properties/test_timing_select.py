"""Any of several rules, except others, each n-th, at most so many: all as an oracle that walks and sifts has it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import NamedTuple, get_args

import pytest

from puntual.model.errors import InvalidRuleError
from puntual.model.instant import HOUR, MINUTE, Instant, from_datetime, to_datetime
from puntual.timing import rule as rules
from puntual.timing.zone import Fold, Gap, zone_names
from tests.support import timing_oracle as oracle
from tests.support.timing_oracle import Drawn

SEEDS = range(12)
RULES_A_SEED = 25
ODD_ZONES = (
    *("America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Beirut", "UTC"),
    *("America/Havana", "Pacific/Apia", "Africa/Casablanca", "America/Asuncion", "Antarctica/Troll", "Asia/Kathmandu"),
)


class Timed(NamedTuple):
    """A cron rule with its policies, as text and as sets."""

    drawn: Drawn
    gap: Gap | None
    fold: Fold | None

    @property
    def rule(self) -> rules.CronRule:
        """What a timetable holds."""
        return rules.CronRule(expr=self.drawn.unix, dialect="unix", dst_gap=self.gap, dst_fold=self.fold)


class Example:
    """A random combination, and the ticks of a span that the oracle gives it."""

    def __init__(self, random: Random) -> None:
        self.zone = random.choice(ODD_ZONES) if random.random() < 0.7 else random.choice(sorted(zone_names()))
        changes = oracle.changes(self.zone, 2010, 2012)
        middle = random.choice(changes or (datetime(2011, 5, 5, 1, 30, tzinfo=UTC),))
        around = timedelta(days=random.randint(2, 12))
        self.span = middle - around, middle + around
        local = middle.astimezone(oracle.zone(self.zone))
        near = (local.hour, local.minute)
        self.timed = [self.draw(random, near) for _ in range(random.choice((0, 1, 1, 2, 3)))]
        self.periods = [
            rules.IntervalRule(period_us=random.choice((15 * MINUTE, HOUR, 7 * HOUR, 26 * HOUR)), anchor=self.low)
            for _ in range(random.choice((0, 0, 1)) if self.timed else 1)
        ]
        self.off_days = [oracle.draw_rule(random) for _ in range(random.choice((0, 1, 2)))]
        self.off_times = [oracle.draw_rule(random, near=near) for _ in range(random.choice((0, 0, 1)))]
        first = (middle + timedelta(days=random.randint(-5, 5))).date()
        self.off_dates = (first, first + timedelta(days=random.randint(0, 3))) if random.random() < 0.5 else None
        self.nth = random.choice((1, 1, 2, 3, 50))
        self.most = random.choice((None, None, 1, 7, 400))

    @staticmethod
    def draw(random: Random, near: tuple[int, int]) -> Timed:
        """One cron rule, often with policies of its own."""
        gap = random.choice((None, None, *get_args(Gap)))
        return Timed(oracle.draw_rule(random, near=near), gap, random.choice((None, None, *get_args(Fold))))

    @property
    def low(self) -> Instant:
        """The span's first instant."""
        return from_datetime(self.span[0])

    @property
    def high(self) -> Instant:
        """The span's last instant."""
        return from_datetime(self.span[1])

    def timetable(self) -> rules.Timetable:
        """The engine's form."""
        parts: tuple[rules.PlainRule, ...] = (*(each.rule for each in self.timed), *self.periods)
        without: list[rules.PlainRule | rules.DaysRule] = [
            rules.DaysRule(day=each.day.text, month=each.month.text, weekday=each.weekday.text)
            for each in self.off_days
        ]
        without += [rules.CronRule(expr=each.unix, dialect="unix") for each in self.off_times]
        if self.off_dates:
            without.append(rules.DaysRule(first=str(self.off_dates[0]), last=str(self.off_dates[1])))
        rule = rules.SelectRule(
            rule=rules.AnyRule(rules=parts) if len(parts) > 1 else parts[0],
            without=tuple(without),
            every_nth=self.nth,
            max_ticks=self.most,
            counted_from=None if self.nth == 1 and self.most is None else self.low,
        )
        return rules.Timetable(rule=rule, timezone=self.zone)

    def expected(self) -> list[Instant]:
        """The oracle's ticks."""
        found: set[datetime] = set()
        for each in self.timed:
            elapsed = each.drawn.minute.wild or each.drawn.hour.wild
            gap = each.gap or ("skip" if elapsed else "boundary")
            fold = each.fold or ("both" if elapsed else "first")
            for wall in oracle.walls(each.drawn, self.span, seconds=False):
                if not self.is_off(wall):
                    found.update(oracle.resolve(wall, self.zone, gap, fold))
        for period in self.periods:
            for tick in range(self.low, self.high + 1, period.period_us):
                moment = to_datetime(tick)
                if not self.is_off(moment.astimezone(oracle.zone(self.zone)).replace(tzinfo=None, fold=0)):
                    found.add(moment)
        ticks = sorted(from_datetime(moment) for moment in found if self.span[0] <= moment <= self.span[1])
        return ticks[:: self.nth][: self.most]

    def is_off(self, wall: datetime) -> bool:
        """Whether something takes a local time away."""
        day: date = wall.date()
        if self.off_dates and self.off_dates[0] <= day <= self.off_dates[1]:
            return True
        if any(each.matches_day(day) for each in self.off_days):
            return True
        return any(
            each.matches_day(day) and wall.hour in each.hour.values and wall.minute in each.minute.values
            for each in self.off_times
        )


def compiled_or_refused(timetable: rules.Timetable) -> rules.Compiled | None:
    """None where a part has no date at all, or kinds of rules mix too densely to count; no other refusal is right."""
    try:
        return rules.compile(timetable)
    except InvalidRuleError as error:
        if "never fires" in error.message or "too many ticks to be counted" in error.message:
            return None
        raise


@pytest.mark.parametrize("seed", SEEDS)
def test_every_combination_has_the_ticks_of_the_oracle(seed: int) -> None:
    """Enumerated, searched backwards and counted, around clock changes of odd zones."""
    random = Random(seed)
    for place in range(RULES_A_SEED):
        example = Example(random)
        timetable = example.timetable()
        which = f"seed {seed}, rule {place}: {timetable}"
        compiled = compiled_or_refused(timetable)
        if compiled is None:
            continue
        expected = example.expected()
        assert compiled.between(example.low - 1, example.high, len(expected) + 1) == expected, which
        assert compiled.count(example.low - 1, example.high, 1_000_000) == len(expected), which
        for _ in range(10):
            low, high = sorted(random.randrange(example.low, example.high) for _ in range(2))
            inside = [tick for tick in expected if low < tick <= high]
            assert compiled.count(low, high, 10**9) == len(inside), (which, low, high)
            assert compiled.count(low, high, 3) == min(3, len(inside)), (which, low, high)
            before = [tick for tick in expected if tick <= high]
            found = compiled.previous(high)
            assert found == before[-1] if before else found is None or found < example.low, (which, high)
            after = [tick for tick in expected if tick > low]
            later = compiled.next(low)
            assert later == after[0] if after else later is None or later > example.high, (which, low)
