"""``puntual bench --quick``: every figure comes out in its shape; how fast the machine is, is not asked here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from puntual.bench import FIGURES, run
from puntual.model.errors import InvalidError
from puntual.settings import Settings

#: The figures of this release, by the names that users type.
NAMES = [
    *("enqueue_single", "enqueue_concurrent", "enqueue_bulk", "enqueue_plain"),
    *("drain", "drain_batch", "drain_two_processes", "backlog_ratio"),
    *("claimers_64_ratio", "snapshot_ratio"),
    *("pickup_p50_ms", "pickup_p99_ms"),
    *("burst_p50_ms", "burst_p99_ms"),
    *("schedules_p99_ms", "schedules_missed", "schedules_doubled"),
    *("schedules_100k_p99_ms", "plan_million_ratio"),
    *("misfire_ms", "misfire_cron_ms", "misfire_all_ms"),
    *("next_per_second", "next_calendar_per_second", "phrase_compile_us", "forecast_10k_s"),
    *("http_runs", "api_enqueue", "api_batch_runs"),
    *("idle_statements_per_second", "commits_per_1000_runs"),
    *("wal_bytes_per_run", "buffers_per_claim"),
    *("worker_rss_mb", "serve_rss_mb", "rss_growth_mb"),
    *("sweep_ms", "list_p95_ms"),
]
FLOORED = {
    *("enqueue_single", "enqueue_concurrent", "enqueue_bulk", "enqueue_plain"),
    *("drain", "drain_batch", "drain_two_processes"),
    *("pickup_p50_ms", "pickup_p99_ms", "http_runs", "api_enqueue", "api_batch_runs"),
}


def bench(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    """What ``puntual bench --quick`` answers, and that it leaves nothing behind."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PUNTUAL_")}
    environment["PUNTUAL_DATABASE_URL"] = f"sqlite:///{folder}/puntual.db"
    done = subprocess.run(
        [sys.executable, "-m", "puntual", "bench", "--quick", "--json", *arguments],
        capture_output=True,
        check=True,
        cwd=folder,
        env=environment,
        text=True,
    )
    assert list(folder.iterdir()) == []
    results: list[dict[str, Any]] = json.loads(done.stdout)["results"]
    return results


def test_the_names_are_those_that_users_type() -> None:
    """A figure that is missing, renamed or new is a change that users see."""
    assert list(FIGURES) == NAMES


def test_what_another_kind_of_database_has_is_refused_by_name(tmp_path: Path) -> None:
    """A figure of PostgreSQL says so where a file is measured."""
    settings = Settings(database_url=f"sqlite:///{tmp_path}/puntual.db")
    with pytest.raises(InvalidError, match="snapshot_ratio is not measured on this kind of database"):
        run(["snapshot_ratio"], settings, runs=None, quick=True, report=lambda _event: None)


@pytest.mark.parametrize(
    "names",
    [
        ("enqueue_single", "enqueue_concurrent", "enqueue_bulk", "enqueue_plain"),
        ("drain", "drain_batch", "drain_two_processes", "backlog_ratio"),
        ("pickup_p50_ms", "pickup_p99_ms", "burst_p50_ms", "burst_p99_ms"),
        ("schedules_p99_ms", "schedules_missed", "schedules_doubled", "next_per_second"),
        ("next_calendar_per_second", "phrase_compile_us", "forecast_10k_s"),
        ("misfire_ms", "misfire_cron_ms", "misfire_all_ms"),
        ("http_runs", "api_enqueue", "api_batch_runs"),
        ("idle_statements_per_second", "commits_per_1000_runs", "sweep_ms", "list_p95_ms"),
        ("worker_rss_mb", "serve_rss_mb", "rss_growth_mb"),
    ],
    ids=lambda names: names[0],
)
def test_each_figure_comes_out_in_its_shape(names: tuple[str, ...], tmp_path: Path) -> None:
    """Name, value and unit; a floor and its ratio beside each figure that has one, in the order asked."""
    results = bench(tmp_path, *names)
    assert [result["name"] for result in results] == list(names)
    for result in results:
        assert result["unit"] == FIGURES[result["name"]].unit
        assert set(result) - {"floor", "ratio"} == {"name", "value", "unit"}
        assert ("floor" in result) == ("ratio" in result) == (result["name"] in FLOORED)
        assert result["value"] >= 0 or result["name"] == "rss_growth_mb"


def test_no_tick_is_missed_or_doubled_and_commits_stay_few(tmp_path: Path) -> None:
    """What is not noisy holds at any speed: each tick once, and batches that share their commits."""
    results = bench(tmp_path, "schedules_missed", "schedules_doubled", "commits_per_1000_runs")
    missed, doubled, commits = (result["value"] for result in results)
    assert (missed, doubled) == (0, 0)
    assert commits < 50


def test_the_engine_keeps_a_share_of_what_the_database_can_do(tmp_path: Path) -> None:
    """Both are measured in the same minute, so the ratio holds where the rates do not; the bound is a loose one."""
    ratios = {result["name"]: result["ratio"] for result in bench(tmp_path, "enqueue_plain", "drain")}
    assert ratios["enqueue_plain"] > 0.1
    assert ratios["drain"] > 0.05


def test_a_name_that_is_none_is_refused_with_the_nearest(tmp_path: Path) -> None:
    """Nothing is measured before all names are known."""
    settings = Settings(database_url=f"sqlite:///{tmp_path}/puntual.db")
    events: list[dict[str, Any]] = []
    with pytest.raises(InvalidError, match="no benchmark 'drian' in this release: did you mean drain"):
        run(["next_per_second", "drian"], settings, runs=None, quick=True, report=events.append)
    assert events == []


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """The figures are those of the disk on which the database would lie, so another one will not do."""
    settings = Settings(database_url=f"sqlite:///{tmp_path}/gone/puntual.db")
    with pytest.raises(InvalidError, match="There is no folder"):
        run(["next_per_second"], settings, runs=None, quick=True, report=lambda _event: None)


def test_what_happens_is_told(tmp_path: Path) -> None:
    """The machine's facts first, then for each family its start and its progress, and each result."""
    settings = Settings(database_url=f"sqlite:///{tmp_path}/puntual.db")
    events: list[dict[str, Any]] = []
    results = run(["next_per_second"], settings, runs=None, quick=True, report=events.append)
    assert [event["event"] for event in events] == ["machine", "started", "progress", "result"]
    assert {"cores", "python", "database", "uvloop", "fsync_ms"} <= set(events[0])
    assert events[-1] == {"event": "result", **results[0]}
