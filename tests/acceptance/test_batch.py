"""Batch tasks end to end on SQLite: many runs in one call, each with a story of its own."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import puntual
from puntual.model.errors import RunDeadError
from puntual.settings import Settings


@pytest.fixture
def app(tmp_path: Path) -> puntual.App:
    """An app on a file of its own, with one slot."""
    return puntual.App(Settings(database_url=f"sqlite:///{tmp_path}/jobs.db", concurrency=1))


async def test_one_slot_works_off_a_backlog_in_full_calls(app: puntual.App) -> None:
    """However slow a call is: what is due goes into it."""
    sizes: list[int] = []

    @app.task(batch=50)
    async def index(runs: list[puntual.Run]) -> list[puntual.Outcome]:
        await asyncio.sleep(0.01)
        sizes.append(len(runs))
        return [puntual.Outcome.succeeded(run.args["doc"] * 2) for run in runs]

    async with app:
        ids = await app.enqueue_many([index.call(doc=number) for number in range(201)])
        async with app.running(roles=["worker"]):
            handles = [puntual.RunHandle(id, app.runs, index.read_result) for id in ids]
            results = [await handle.result(timeout="20s") for handle in handles]
    assert results == [2 * number for number in range(201)]
    assert sizes == [50, 50, 50, 50, 1]


async def test_one_bad_run_fails_alone(app: puntual.App) -> None:
    """Its company succeeds in the same attempt; it is retried, and dead with its own error."""
    calls: list[list[int]] = []

    @app.task(batch=10, max_attempts=2, backoff=puntual.fixed("1s"))
    def load(runs: list[puntual.Run]) -> None:
        rows = [run.args["row"] for run in runs]
        calls.append(rows)
        if 3 in rows:
            raise ValueError(f"row 3 of {len(rows)}")

    async with app:
        ids = await app.enqueue_many([load.call(row=row) for row in range(6)])
        bad = puntual.RunHandle(ids[3], app.runs, load.read_result)
        async with app.running(roles=["worker"]):
            with pytest.raises(RunDeadError):
                await bad.result(timeout="20s")
            found = [await app.runs.get(id) for id in ids]
    assert [(run.state, run.attempt) for run in found if run.id != bad.id] == [("succeeded", 1)] * 5
    assert calls == [[0, 1, 2, 3, 4, 5], [0], [1], [2], [3], [4], [5], [3]]
    story = found[3].row.attempts
    assert [attempt.error and attempt.error.message for attempt in story] == ["row 3 of 1"] * 2


async def test_each_run_is_steered_by_its_own_outcome(app: puntual.App) -> None:
    """Dead letters, follow-ups and snoozes stay per run."""
    receipts: asyncio.Queue[int] = asyncio.Queue()

    @app.task
    async def receipt(order: int) -> None:
        receipts.put_nowait(order)

    @app.task(batch=10)
    async def charge(runs: list[puntual.Run]) -> list[puntual.Outcome | puntual.Dead | puntual.Snooze]:
        for run in runs:
            run.then(receipt.call(run.args["order"]))
        return [puntual.Outcome.succeeded(), puntual.Dead("no such card"), puntual.Snooze("1h")]

    async with app:
        ids = await app.enqueue_many([charge.call(order=order) for order in range(3)])
        async with app.running(roles=["worker"]):
            assert await receipts.get() == 0
            found = [await app.runs.get(id) for id in ids]
    assert [run.state for run in found] == ["succeeded", "dead", "pending"]
    assert found[1].error == "Dead: no such card"
    assert receipts.empty()
