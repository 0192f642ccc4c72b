"""``puntual bench --quick`` on PostgreSQL: every figure of it comes out in its shape, and no database stays behind."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest

from puntual.bench import FIGURES, run
from puntual.settings import Settings
from tests.support.databases import server

FAMILIES = [
    ("enqueue_single", "enqueue_bulk"),
    ("drain", "drain_batch"),
    ("claimers_64_ratio", "buffers_per_claim"),
    ("snapshot_ratio", "wal_bytes_per_run"),
    ("pickup_p50_ms", "burst_p99_ms", "plan_million_ratio"),
    ("sweep_ms", "list_p95_ms", "commits_per_1000_runs"),
]


@pytest.mark.parametrize("names", FAMILIES, ids=lambda names: str(names[0]))
def test_each_figure_comes_out_in_its_shape(names: tuple[str, ...]) -> None:
    """In the order asked, each with its unit."""
    results = _measured(names)
    assert [(one["name"], one["unit"]) for one in results] == [(name, FIGURES[name].unit) for name in names]
    assert all(one["value"] > 0 for one in results)


async def test_no_database_stays_behind() -> None:
    """What was made for a benchmark is dropped."""
    connection = await asyncpg.connect(server().url())
    try:
        left = await connection.fetch("SELECT datname FROM pg_database WHERE datname LIKE 'puntual_bench%'")
    finally:
        await connection.close()
    assert left == []


def test_the_machine_is_told_with_what_makes_a_commit_durable() -> None:
    """A figure of a server that may forget says so."""
    events: list[dict[str, Any]] = []
    run(["next_per_second"], Settings(database_url=server().url()), runs=None, quick=True, report=events.append)
    assert "fsync off, synchronous_commit off" in str(events[0]["database"])


def _measured(names: tuple[str, ...]) -> list[dict[str, Any]]:
    return run(names, Settings(database_url=server().url()), runs=None, quick=True, report=lambda _event: None)
