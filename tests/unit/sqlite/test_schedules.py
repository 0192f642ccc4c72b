"""Every tick has its fate, also where a run could not be inserted or its schedule goes."""

from __future__ import annotations

from puntual.model.schedule import Fate, FateReason, Stretch
from puntual.store.requests import Page, RunFilter, ScheduleWrite, Selection, TickFilter
from puntual.store.sqlite import SqliteStore
from puntual.testing.conformance.build import (
    MINUTE,
    NOW,
    cursor_at,
    deciding,
    plan_to,
    put,
    schedule,
    tick,
    tick_run,
    writing,
)


async def test_a_tick_whose_key_was_taken_in_its_own_round_is_skipped(store: SqliteStore) -> None:
    """Two schedules with one unique key come due together: one runs, and the other's tick has a fate all the same."""
    await put(store, schedule("a"), schedule("b"))
    decide = deciding(lambda seen: plan_to(seen, 1, runs=(tick_run(seen, 1, unique_key="k"),)))
    planned = await store.plan(decide, now=NOW)
    assert (planned.schedules, planned.runs) == (2, 1)
    rows = {row.schedule: row for row in (await store.list_ticks(TickFilter(), Page())).items}
    (run,) = (await store.list_runs(RunFilter(), Page())).items
    loser = rows["a" if run.schedule == "b" else "b"]
    assert (loser.number, loser.tick_at, loser.fate, loser.reason) == (1, tick(1), Fate.SKIPPED, FateReason.OVERLAP)
    assert rows[run.schedule or ""].fate is Fate.PLANNED


async def test_the_open_stretch_of_a_removed_schedule_is_kept(store: SqliteStore) -> None:
    """Its ticks were passed over, and are told as long as ticks are."""
    passed = Stretch(1, tick(1), tick(3), 3, at_least=False, fate=Fate.MISSED, reason=FateReason.DOWN)
    await put(store, schedule(cursor=cursor_at(3, stretch=passed)))
    await store.change_schedules(Selection(names=("nightly",)), writing(ScheduleWrite(name="nightly")), now=NOW)
    (row,) = (await store.list_ticks(TickFilter(schedule="nightly"), Page())).items
    assert (row.number, row.count, row.fate) == (1, 3, Fate.MISSED)


async def test_a_full_round_of_schedules_is_looked_at_in_the_order_of_their_time(store: SqliteStore) -> None:
    """Whoever has waited longest is planned first."""
    late = [schedule(f"s{n}", cursor=cursor_at(0, look_at=NOW - n * MINUTE)) for n in range(5)]
    await put(store, *late)
    seen: list[str] = []
    await store.plan(deciding(lambda one: seen.append(one.name)), limit=3, now=NOW)
    assert seen == ["s4", "s3", "s2"]
