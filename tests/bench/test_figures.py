"""The figures that this release shall reach, at full size, on a quiet machine with two cores (``pytest -m bench``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from puntual.bench import FIGURES, run
from puntual.settings import Settings

#: At least this much.
FLOORS = {
    "enqueue_bulk": 60_000,
    "enqueue_concurrent": 8_000,
    "drain": 15_000,
    "backlog_ratio": 0.9,
    "next_per_second": 100_000,
}
#: At most this much.
CEILINGS = {
    "pickup_p50_ms": 2,
    "pickup_p99_ms": 10,
    "burst_p99_ms": 500,
    "schedules_p99_ms": 500,
    "schedules_missed": 0,
    "schedules_doubled": 0,
    "worker_rss_mb": 70,
    "serve_rss_mb": 130,
    "rss_growth_mb": 10,
}
#: At least this share of the bare statements.
RATIOS = {"drain": 0.3}

pytestmark = [pytest.mark.bench, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Everything that has a target, measured once."""
    folder: Path = tmp_path_factory.mktemp("bench")
    settings = Settings(database_url=f"sqlite:///{folder}/puntual.db")
    names = [name for name in FIGURES if name in FLOORS or name in CEILINGS or name in RATIOS]
    measured = run(names, settings, runs=None, quick=False, report=lambda _event: None)
    return {result["name"]: result for result in measured}


@pytest.mark.parametrize("name", FLOORS)
def test_at_least(name: str, results: dict[str, dict[str, Any]]) -> None:
    """Rates reach what was promised."""
    assert results[name]["value"] >= FLOORS[name]


@pytest.mark.parametrize("name", CEILINGS)
def test_at_most(name: str, results: dict[str, dict[str, Any]]) -> None:
    """Latencies and memory stay within what was promised."""
    assert results[name]["value"] <= CEILINGS[name]


@pytest.mark.parametrize("name", RATIOS)
def test_share_of_the_floor(name: str, results: dict[str, dict[str, Any]]) -> None:
    """The engine costs no more than its share over the bare statements."""
    assert results[name]["ratio"] >= RATIOS[name]
