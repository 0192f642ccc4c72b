"""What a plan makes of ticks that blackouts close: however often these begin, it ends, and every tick has one fate."""

from __future__ import annotations

from itertools import product

import msgspec
import pytest

from puntual.engine.plan import plan
from puntual.model.schedule import Fate, FateReason, MisfirePolicy, Overlap
from puntual.store.requests import PlanView, PlanWrite
from puntual.timing.rule import AnyRule, Blackout, Closures, IntervalRule, OnceRule, Timetable
from tests.support.plans import SECOND, START, History, every, shut

DAY = 86_400


def after(seconds: int, history: History, *, closing: bool) -> PlanWrite:
    """What one look so long after the start decides."""
    view = PlanView(schedule=history.schedule, live=())
    return plan(view, None, START + seconds * SECOND, 0, closing=closing)


@pytest.mark.parametrize(("overlap", "misfire"), [*product(Overlap, MisfirePolicy)])
@pytest.mark.parametrize("every_seconds", [1, 2])
def test_a_rule_that_ends_leaves_no_tick_of_years_undecided(
    overlap: Overlap, misfire: MisfirePolicy, every_seconds: int
) -> None:
    """An edit after ten years in which each other second, or each one, was closed is bounded and accounts for all."""
    spec = every(1, overlap=overlap, misfire_policy=misfire)
    history = History(shut(spec, every_seconds * SECOND, SECOND))
    write = after(3_650 * DAY, history, closing=True)
    stretches = [*write.stretches, *([write.cursor.stretch] if write.cursor.stretch else [])]
    assert len(stretches) <= 12_000
    assert write.cursor.next_tick_at == START + (3_650 * DAY + 1) * SECOND
    numbers = [
        *((run.tick_number or 0, run.tick_at, run.tick_at) for run in write.runs),
        *((stretch.number, stretch.tick_at, stretch.last_tick_at) for stretch in stretches),
    ]
    edge = START
    for _, first, last in sorted(numbers):
        assert first == edge + SECOND
        edge = last or 0
    assert edge == START + 3_650 * DAY * SECOND


def test_a_round_ends_where_blackouts_follow_each_other() -> None:
    """Stretches of one fate are one, and still each has to be found: the rest is for the next round."""
    history = History(shut(every(1), SECOND, SECOND))
    write = after(DAY, history, closing=False)
    assert write.cursor.look_at == START + DAY * SECOND
    assert write.cursor.stretch is not None
    assert write.cursor.stretch.count == 1_000
    assert write.cursor.stretch.reason is FateReason.BLACKOUT


def test_fire_once_blames_no_grace_for_what_it_cannot_see() -> None:
    """Open ticks behind very many closed stretches were missed because nothing was up: no grace was set."""
    seconds = AnyRule(rules=tuple(OnceRule(instant=START + second * SECOND) for second in range(10, 3_010)))
    timetable = Timetable(
        rule=IntervalRule(period_us=SECOND, anchor=START),
        closures=Closures(blackouts=(Blackout(rule=seconds, for_us=SECOND),)),
    )
    spec = msgspec.structs.replace(every(1), timetable=msgspec.json.encode(timetable).decode())
    write = after(3_000, History(spec), closing=False)
    (missed,) = write.stretches
    assert (missed.tick_at, missed.count) == (START + SECOND, 9)
    assert (missed.fate, missed.reason) == (Fate.MISSED, FateReason.DOWN)
