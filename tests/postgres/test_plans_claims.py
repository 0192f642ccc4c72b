"""Claims and settles cost the same however many runs lie in the future, in history, or dead behind a held snapshot."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from puntual.model.attempt import OutcomeKind
from puntual.store.postgres import PostgresStore, claims, lanes
from puntual.store.postgres.statements import sql
from puntual.store.postgres.transaction import Tx
from puntual.testing.conformance.build import after, join, new_run, wanting
from tests.support.databases import database, opened

SECOND = 1_000_000
#: Pages of 8 kB that one look at one lane may read, and all that one run's claim or settle may touch.
PER_LANE, PER_RUN = 6, 40
#: What grows; what is configured, or who works, may be read whole.
GROWING = {"runs", "run_history", "run_history_other", "attempt_responses", "schedules"}

FUTURE = """
INSERT INTO puntual.runs (id, task, args, queue, priority, max_attempts, due_at, claim_at)
SELECT gen_random_uuid(), 'task', '{}', 'default', 2, 5, due, due
FROM generate_series(1, $1::integer) AS g, LATERAL (SELECT puntual.now_us() + 3600000000 + g AS due) AS later
"""
FINISHED = """
INSERT INTO puntual.run_history (
    id, task, args, queue, priority, state, origin, due_at, claim_at, created_at, finished_at, attempt, max_attempts,
    released, interrupted, lost, cancel_requested, tags, policy, attempts, expires_on
)
SELECT
    gen_random_uuid(), 'task', '{}', 'default', 2, 'succeeded', 'event', g, g, g, g, 1, 5, 0, 0, 0, false, '[]', '{}',
    '[]', 30000
FROM generate_series(1, $1::integer) AS g
"""


class Plan:
    """What the server did for one statement."""

    def __init__(self, name: str, node: dict[str, Any]) -> None:
        self.name = name
        self.pages = node["Shared Hit Blocks"] + node["Shared Read Blocks"]
        self.indexes: set[str] = set()
        self.scanned: set[str] = set()
        self._walk(node)

    def _walk(self, node: dict[str, Any]) -> None:
        if "Index Name" in node:
            self.indexes.add(node["Index Name"])
        if node["Node Type"] == "Seq Scan":
            self.scanned.add(node["Relation Name"])
        for part in node.get("Plans", ()):
            self._walk(part)


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """The plan of each statement of a claim or settle, tried and undone just before it is sent."""
    found: list[Plan] = []
    rows, row = Tx.rows, Tx.row

    async def note(tx: Tx, name: str, parameters: tuple[object, ...]) -> None:
        transaction = tx.connection.transaction()
        await transaction.start()
        text = await tx.connection.fetchval(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql(name)}", *parameters)
        await transaction.rollback()
        found.append(Plan(name, json.loads(text)[0]["Plan"]))

    async def noting_rows(tx: Tx, name: str, *parameters: object) -> list[asyncpg.Record]:
        await note(tx, name, parameters)
        return await rows(tx, name, *parameters)

    async def noting_row(tx: Tx, name: str, *parameters: object) -> asyncpg.Record | None:
        await note(tx, name, parameters)
        return await row(tx, name, *parameters)

    monkeypatch.setattr(Tx, "rows", noting_rows)
    monkeypatch.setattr(Tx, "row", noting_row)
    return found


@asynccontextmanager
async def _filled(count: int) -> AsyncIterator[PostgresStore]:
    async with database() as url, opened(url) as store:
        connection = await asyncpg.connect(url)
        await connection.execute("INSERT INTO puntual.lanes (queue) VALUES ('default')")
        await connection.execute(FUTURE, count, timeout=300)
        await connection.execute(FINISHED, count, timeout=300)
        await connection.execute("VACUUM ANALYZE puntual.runs")
        await connection.execute("ANALYZE puntual.run_history")
        await connection.close()
        await join(store, now=await store.now(), lease_us=600 * SECOND)
        yield store


async def _work(store: PostgresStore, plans: list[Plan]) -> dict[str, Plan]:
    """One look at nothing, claims in order and near, and a settle of each; gives the plans by what they were for."""
    runs = [new_run(number) for number in range(2_000)]
    assert (await store.claim(wanting())).runs == ()
    found = {"empty": plans[-1]}
    await store.enqueue(runs)
    claimed = await store.claim(wanting())
    found["in order"] = plans[-1]
    await store.settle([after(run, OutcomeKind.SUCCEEDED, now=claimed.now) for run in claimed.runs])
    found["end"] = plans[-1]
    claimed = await store.claim(wanting())
    found["near"] = plans[-1]
    await store.settle([after(run, OutcomeKind.FAILED, now=claimed.now) for run in claimed.runs])
    found["back"] = plans[-1]
    assert len(claimed.runs) == 100
    return found


def _check(found: dict[str, Plan]) -> None:
    names = {what: plan.name for what, plan in found.items()}
    assert names == {
        "empty": "claim_lanes",
        "in order": "claim_lanes",
        "end": "end_runs",
        "near": "claim_near",
        "back": "put_back_runs",
    }
    assert all(not plan.scanned & GROWING for plan in found.values())
    assert all("runs_claim" in found[what].indexes for what in ("empty", "in order", "near"))
    assert all("runs_pkey" in found[what].indexes for what in ("end", "back"))
    looked = lanes.PER_QUEUE * PER_LANE
    bounds = {"empty": looked, "in order": looked + 100 * PER_RUN}
    for what, plan in found.items():
        assert plan.pages <= bounds.get(what, 100 * PER_RUN), (what, plan.pages)


async def test_claims_and_settles_go_straight_to_their_rows(plans: list[Plan]) -> None:
    """Beside 100,000 runs of the future and as many in history, as beside none."""
    async with _filled(100_000) as store:
        _check(await _work(store, plans))


@pytest.mark.bench
@pytest.mark.timeout(600)
async def test_they_do_beside_millions(plans: list[Plan]) -> None:
    """A million of each, and no page more."""
    async with _filled(1_000_000) as store:
        _check(await _work(store, plans))


async def test_a_held_snapshot_makes_no_claim_dearer(
    url: str, plans: list[Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was claimed stays in the index as long as somebody may still see it; floors keep claims from reading it."""
    monkeypatch.setattr(lanes, "TRAIL_US", 0)
    monkeypatch.setattr(lanes, "_NOTE_US", 0)
    monkeypatch.setattr(claims, "_FRESH", 0.05)
    reader = await asyncpg.connect(url)
    async with opened(url) as store:
        await join(store, now=await store.now(), lease_us=600 * SECOND)
        transaction = reader.transaction(isolation="repeatable_read")
        await transaction.start()
        await reader.fetchval("SELECT count(*) FROM puntual.runs")
        await store.enqueue([new_run(number) for number in range(12_000)])
        plans.clear()
        while (claimed := await store.claim(wanting())).runs:
            await store.settle([after(run, OutcomeKind.SUCCEEDED, now=claimed.now) for run in claimed.runs])
        pages = [plan.pages for plan in plans if plan.name.startswith("claim_")]
        await store.claim(wanting(sweep=True))
        await transaction.rollback()
    await reader.close()
    first, last = pages[: len(pages) // 4], pages[-len(pages) // 4 : -1]
    assert sum(last) / len(last) < 1.5 * sum(first) / len(first)
    empty, sweep = pages[-1], plans[-1].pages
    assert sweep > 4 * empty
