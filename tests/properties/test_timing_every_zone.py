"""In every zone of the tz database, at every change of its clocks of 2000-2040, the engine agrees with `zoneinfo`."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product
from typing import get_args

import pytest

from puntual.model.instant import SECOND, from_datetime
from puntual.timing import rule as rules
from puntual.timing.zone import Fold, Gap, load_zone, zone_names
from tests.support import zone_walk as oracle

FIRST, LAST = 2000, 2040
CHUNKS = 8
POLICIES: tuple[tuple[Gap | None, Fold | None], ...] = (*product(get_args(Gap), get_args(Fold)), (None, None))


def test_every_name_is_looked_at() -> None:
    """Names with the same data are one zone to the engine as well, so that one of them stands for all."""
    assert {name for names in oracle.zones().values() for name in names} == zone_names()
    for first, names in oracle.zones().items():
        # As they are read: one that was asked about later years knows more of them.
        assert all(
            load_zone.__wrapped__(name).stretches() == load_zone.__wrapped__(first).stretches() for name in names
        )


def test_the_policies_differ_where_the_clocks_change() -> None:
    """So that an engine which ignored one of them would be found: at a change, each has ticks of its own."""
    here = oracle.zone("Europe/Madrid")
    changes = oracle.changes(here, 2026, 2026)
    judge = oracle.Judge(here, changes)
    spring, autumn = ([judge.ticks(oracle.near(change)[0], change, *pair) for pair in POLICIES] for change in changes)
    assert len({tuple(ticks) for ticks in spring}) == len(get_args(Gap))
    assert len({tuple(ticks) for ticks in autumn}) == len(get_args(Fold))


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_engine_agrees_with_zoneinfo_at_every_change(chunk: int) -> None:
    """Under every pair of policies, for rules that the change concerns: next, previous and count.

    Which of nine rules a pair of policies meets at a change turns with the change, so that over the changes of a zone
    each pair meets each rule.
    """
    low, high = (from_datetime(datetime(year, 1, 1, tzinfo=UTC)) // SECOND for year in (FIRST, LAST + 1))
    for name in sorted(oracle.zones())[chunk::CHUNKS]:
        here = oracle.zone(name)
        changes = oracle.changes(here, FIRST, LAST)
        known = [start for start in load_zone(name).stretches().starts if low < start < high]
        assert [from_datetime(change.moment) // SECOND for change in changes] == known, name
        judge = oracle.Judge(here, changes)
        for place, change in enumerate(changes):
            near = oracle.near(change)
            for turn, policies in enumerate(POLICIES):
                _check(name, judge, change, near[(place + turn) % len(near)], policies)


def _check(
    name: str,
    judge: oracle.Judge,
    change: oracle.Change,
    near: oracle.Near,
    policies: tuple[Gap | None, Fold | None],
) -> None:
    gap, fold = policies
    expected = judge.ticks(near, change, gap, fold)
    rule = rules.CronRule(expr=near.text, dialect="unix", dst_gap=gap, dst_fold=fold)
    compiled = rules.compile(rules.Timetable(rule=rule, timezone=name))
    low, high = (from_datetime(moment) for moment in change.window)
    context = f"{near.text} in {name} around {change.moment}, gap={gap}, fold={fold}"
    assert compiled.between(low - 1, high, len(expected) + 1) == expected, context
    assert compiled.count(low - 1, high, 1_000) == len(expected), context
    backwards = []
    at = compiled.previous(high)
    while at is not None and at >= low:
        backwards.append(at)
        at = compiled.previous(at - 1)
    assert backwards[::-1] == expected, context
