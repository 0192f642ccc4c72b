"""The engine agrees with the oracle around clock changes of all sorts of zones, under every policy."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Literal, get_args

import pytest

from puntual.model.errors import InvalidRuleError
from puntual.model.instant import SECOND, Instant, from_datetime
from puntual.timing import rule as rules
from puntual.timing.zone import Fold, Gap, zone_names
from tests.support import timing_oracle as oracle

if TYPE_CHECKING:
    from collections.abc import Iterator

ODD_ZONES = (
    *("America/New_York", "Europe/Berlin", "Europe/Dublin", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Beirut"),
    *("America/Asuncion", "America/Havana", "Asia/Tehran", "Pacific/Apia", "Asia/Pyongyang", "Africa/Casablanca"),
    *("Africa/Cairo", "Asia/Amman", "America/Nuuk", "Asia/Gaza", "Antarctica/Troll", "Pacific/Chatham", "Asia/Manila"),
    *(
        "America/Caracas",
        "Asia/Kathmandu",
        "Pacific/Kwajalein",
        "America/St_Johns",
        "Europe/Lisbon",
        "Antarctica/Casey",
    ),
)
CHUNKS = range(8)
RULES_A_CHUNK = 80


def changes_of(random: Random) -> tuple[str, datetime]:
    """A random zone and one of its clock changes, or any moment where it has none."""
    name = random.choice(ODD_ZONES) if random.random() < 0.6 else random.choice(sorted(zone_names()))
    first = random.choice((1916, 1942, 1970, 1985, 2000, 2010, 2018, 2024, 2036, 2058, 2098))
    found = oracle.changes(name, first, first + 2)
    return name, random.choice(found or (datetime(first, 5, 5, 1, 30, tzinfo=UTC),))


class Example:
    """One drawn rule in a zone and under policies, with the oracle's ticks of the days around a clock change."""

    def __init__(self, random: Random) -> None:
        self.zone, change = changes_of(random)
        local = change.astimezone(oracle.zone(self.zone))
        self.drawn = oracle.draw_rule(random, near=(local.hour, local.minute))
        self.gap: Gap | None = random.choice((None, *get_args(Gap)))
        self.fold: Fold | None = random.choice((None, *get_args(Fold)))
        self.dialect: Literal["unix", "seconds"] = "seconds" if random.random() < 0.2 else "unix"
        days = timedelta(hours=random.randint(3, 30) if self.dialect == "seconds" else random.randint(20, 60))
        self.span = (change - days, change + days)

    @property
    def low(self) -> Instant:
        """The span's first instant."""
        return from_datetime(self.span[0])

    @property
    def high(self) -> Instant:
        """The span's last instant."""
        return from_datetime(self.span[1])

    def compiled(self) -> rules.Compiled:
        """The engine's form."""
        expr = self.drawn.seconds if self.dialect == "seconds" else self.drawn.unix
        rule = rules.CronRule(expr=expr, dialect=self.dialect, dst_gap=self.gap, dst_fold=self.fold)
        return rules.compile(rules.Timetable(rule=rule, timezone=self.zone))

    def expected(self) -> list[Instant]:
        """The oracle's ticks."""
        seconds = self.dialect == "seconds"
        return oracle.ticks(self.drawn, self.zone, self.span, (self.gap, self.fold), seconds=seconds)

    def __str__(self) -> str:
        return f"{self.drawn.seconds} {self.dialect} {self.zone} gap={self.gap} fold={self.fold} {self.span}"


def examples(seed: int) -> Iterator[tuple[Example, rules.Compiled, list[Instant], Random]]:
    """Drawn rules that can fire, with what the oracle says; the seed repeats them."""
    random = Random(seed)
    for _ in range(RULES_A_CHUNK):
        example = Example(random)
        try:
            compiled = example.compiled()
        except InvalidRuleError:
            continue
        yield example, compiled, example.expected(), random


@pytest.mark.parametrize("seed", CHUNKS)
def test_next_enumerates_what_the_oracle_walks(seed: int) -> None:
    """From before the span, next gives exactly the oracle's ticks, strictly increasing."""
    for example, compiled, expected, _ in examples(seed):
        found = compiled.between(example.low - 1, example.high, len(expected) + 1)
        assert found == expected, f"seed {seed}: {example}"


@pytest.mark.parametrize("seed", CHUNKS)
def test_next_and_previous_answer_from_any_instant_in_any_order(seed: int) -> None:
    """An answer depends on the instant asked about and on nothing that was asked before."""
    for example, compiled, expected, random in examples(seed + 100):
        for _ in range(20):
            at = random.randrange(example.low, example.high)
            if expected and random.random() < 0.6:
                at = min(random.choice(expected) + random.choice((-SECOND, -1, 0, 1, SECOND)), example.high)
            later = [tick for tick in expected if tick > at]
            earlier = [tick for tick in expected if tick <= at]
            following, preceding = compiled.next(at), compiled.previous(at)
            context = f"seed {seed + 100}: {example} at {at}"
            assert following == later[0] if later else following is None or following > example.high, context
            assert preceding == earlier[-1] if earlier else preceding is None or preceding < example.low, context


@pytest.mark.parametrize("seed", CHUNKS)
def test_count_is_the_number_of_ticks_enumerated(seed: int) -> None:
    """Between any two instants, count is exact up to its cap."""
    for example, compiled, expected, random in examples(seed + 200):
        for _ in range(20):
            after, until = sorted(random.randrange(example.low, example.high) for _ in range(2))
            if expected and random.random() < 0.5:
                after = random.choice(expected) - random.choice((0, 1))
            exact = sum(after < tick <= until for tick in expected)
            cap = random.choice((3, 1_000_000))
            assert compiled.count(after, until, cap) == min(exact, cap), f"seed {seed + 200}: {example} {after} {until}"
