"""A page of the tick record costs the same however much history there is, and in however many days it lies."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import asyncpg
import pytest

from puntual.model.schedule import Fate
from puntual.store.postgres.partitions import date_of, make_days
from puntual.store.postgres.place import Place
from puntual.store.postgres.session import Session
from puntual.store.postgres.ticks import ROWS_READ, list_ticks
from puntual.store.requests import Page, Retention, TickFilter
from puntual.testing.conformance.build import NOW, tick
from tests.support.explained import Explaining
from tests.support.history import day_of

if TYPE_CHECKING:
    from asyncpg import Record

    Line = asyncpg.Connection[Record]

#: 1,000 schedules with 100 ticks each, spread over the days that there are.
_HISTORY = """
INSERT INTO puntual.run_history (
    id, task, args, queue, priority, state, origin, schedule_id, schedule, tick_at, tick_number, due_at, claim_at,
    created_at, started_at, finished_at, attempt, max_attempts, released, interrupted, lost, cancel_requested, tags,
    policy, attempts, expires_on
)
SELECT
    gen_random_uuid(), 'task', '{}', 'default', 2, CASE WHEN g % 1000 = 0 THEN 'cancelled' ELSE 'succeeded' END, 'tick',
    's' || g % 1000, 's' || g % 1000, $1::bigint + (g / 1000)::bigint * 60000000, g / 1000, 0, 0, 0,
    CASE WHEN g % 1000 > 0 THEN 1 END, 1, 1, 5, 0, 0, 0, false, '[]', '{}', '[]', $2::integer + g % 7
FROM generate_series(1000, 100999) AS g
"""


@pytest.fixture
async def tx(url: str) -> AsyncIterator[Explaining]:
    """Reads of 100,000 ticks that are over."""
    session = Session(Place(url=url), Retention())
    await session.open()
    try:
        await session.write(make_days, now=NOW)
    finally:
        await session.close()
    line: Line = await asyncpg.connect(url)
    try:
        await line.execute(_HISTORY, NOW, day_of(NOW) + 7)
        await line.execute("VACUUM ANALYZE puntual.run_history")
        yield Explaining(line, Retention(), given=NOW, now=NOW)
    finally:
        await line.close()


async def test_a_page_reads_its_own_ticks(tx: Explaining) -> None:
    """Each day is read from an index in the order of the list, and no further than the page is long."""
    pages = [
        (TickFilter(), None, "tick_at_schedule_tick_number_idx"),
        (TickFilter(until=tick(50)), None, "tick_at_schedule_tick_number_idx"),
        (TickFilter(), f"{tick(3)}:3:s500", "tick_at_schedule_tick_number_idx"),
        (TickFilter(schedule="s7"), None, "schedule_tick_at_tick_number_idx"),
        (TickFilter(schedule="s7"), f"{tick(60)}:60:s7", "schedule_tick_at_tick_number_idx"),
    ]
    filled = {f"run_history_{date_of(day_of(NOW) + 7 + day)}" for day in range(7)}
    for where, after, index in pages:
        page = await list_ticks(tx, where, Page(limit=50, after=after))
        assert len(page.items) == 50
        plan = tx.plans[-1]
        read = {name for name in plan.indexes if name.startswith(tuple(filled))}
        assert len(read) == len(filled)
        assert all(name.endswith(index) for name in read), read
        assert not filled & plan.scanned
        assert plan.pages < 600


async def test_what_is_rare_is_looked_for_within_bounds(tx: Explaining) -> None:
    """One tick in a thousand was skipped: a page reads so many, shows what it has found, and says where to go on."""
    where, found, rounds = TickFilter(fates=(Fate.SKIPPED,)), 0, 0
    part = await list_ticks(tx, where, Page(limit=500))
    while part.next is not None:
        found, rounds = found + len(part.items), rounds + 1
        part = await list_ticks(tx, where, Page(limit=500, after=part.next))
    assert found + len(part.items) == 100
    assert rounds == 100_000 // ROWS_READ - 1
