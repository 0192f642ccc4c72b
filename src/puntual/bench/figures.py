"""Every figure of this release: its unit, what measures it, what it shall reach, and what it says in one line."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final

import msgspec

from puntual.bench import api, counts, drain, enqueue, http, latency, lookups, memory, misfire, schedules, timing
from puntual.bench.context import Bench, Family, Measured

_RATE: Final = "per second"
_MS: Final = "ms"
_MB: Final = "MB"
_BOTH: Final = ("sqlite", "postgres")
_POSTGRES: Final = ("postgres",)


def _on_postgres(module: str, name: str) -> Family:
    """A family that needs the libraries of PostgreSQL, which whoever measures SQLite may not have."""

    async def family(bench: Bench) -> Mapping[str, Measured]:
        measure: Family = getattr(import_module(f"puntual.bench.postgres.{module}"), name)
        return await measure(bench)

    return family


class Target(msgspec.Struct, frozen=True):
    """What a figure shall reach on a quiet machine with two cores; ``ratio`` is the share of its floor, on any."""

    at_least: float | None = None
    at_most: float | None = None
    ratio: float | None = None


class Figure(msgspec.Struct, frozen=True):
    """One figure. Several may come from one family, which is then run once.

    ``kinds`` are the kinds of database on which it is measured, ``sqlite`` and ``postgres`` what it shall reach there.
    """

    unit: str
    family: Family
    line: str
    sqlite: Target = Target()
    postgres: Target = Target()
    kinds: tuple[str, ...] = _BOTH

    def target(self, kind: str) -> Target:
        """What it shall reach on that kind of database."""
        return self.sqlite if kind == "sqlite" else self.postgres


_ACCEPTED: Final[Mapping[str, Figure]] = {
    "enqueue_single": Figure(_RATE, enqueue.single, "runs accepted from one caller who waits for each"),
    "enqueue_concurrent": Figure(
        _RATE,
        enqueue.concurrent,
        "runs accepted from a hundred callers who wait for each",
        Target(at_least=8_000),
        Target(at_least=10_000),
    ),
    "enqueue_bulk": Figure(
        _RATE,
        enqueue.bulk,
        "runs accepted in bulk, from arguments",
        Target(at_least=60_000),
        Target(at_least=60_000),
    ),
    "enqueue_plain": Figure(
        _RATE, enqueue.plain, "runs accepted in bulk, from rows made beforehand", postgres=Target(at_least=90_000)
    ),
}
_DRAINED: Final[Mapping[str, Figure]] = {
    "drain": Figure(
        _RATE,
        drain.one_process,
        "runs claimed, executed and written down by one process",
        Target(at_least=15_000, ratio=0.3),
        Target(at_least=20_000, ratio=0.6),
    ),
    "drain_batch": Figure(
        _RATE,
        drain.in_batches,
        "the same, by a handler that takes many runs at once",
        postgres=Target(at_least=35_000),
    ),
    "drain_two_processes": Figure(
        _RATE, drain.two_processes, "the same by two processes on one database", postgres=Target(at_least=26_000)
    ),
    "backlog_ratio": Figure(
        "of drain",
        drain.behind_backlog,
        "drain with a million runs that are not due, to drain",
        Target(at_least=0.9),
        Target(at_least=0.9),
    ),
    "claimers_64_ratio": Figure(
        "of 4 claimers",
        _on_postgres("claimers", "many"),
        "runs claimed per second by 64 claimers at once, to those by 4",
        postgres=Target(at_least=1),
        kinds=_POSTGRES,
    ),
    "snapshot_ratio": Figure(
        "of the start",
        _on_postgres("snapshot", "held"),
        "drain at the end of 500,000 runs while a snapshot is held open, to that at the start",
        postgres=Target(at_least=0.85),
        kinds=_POSTGRES,
    ),
}
_LATE: Final[Mapping[str, Figure]] = {
    "pickup_p50_ms": Figure(
        _MS,
        latency.pickup,
        "from before the enqueue to the handler's first line, median",
        Target(at_most=2),
        Target(at_most=3),
    ),
    "pickup_p99_ms": Figure(_MS, latency.pickup, "the same, 99 of 100", Target(at_most=10), Target(at_most=6)),
    "burst_p50_ms": Figure(
        _MS, latency.burst, "lateness of 10,000 runs due at one instant, median", postgres=Target(at_most=150)
    ),
    "burst_p99_ms": Figure(_MS, latency.burst, "the same, 99 of 100", Target(at_most=500), Target(at_most=350)),
    "schedules_p99_ms": Figure(
        _MS,
        schedules.same_instant,
        "lateness of 10,000 schedules of one instant, 99 of 100",
        Target(at_most=500),
        Target(at_most=500),
    ),
    "schedules_missed": Figure(
        "ticks", schedules.same_instant, "of those, ticks that did not run", Target(at_most=0), Target(at_most=0)
    ),
    "schedules_doubled": Figure(
        "ticks", schedules.same_instant, "of those, ticks that ran twice", Target(at_most=0), Target(at_most=0)
    ),
    "schedules_100k_p99_ms": Figure(
        _MS,
        _on_postgres("planning", "hundred_thousand"),
        "lateness of 100,000 schedules spread over a minute, 99 of 100; none missed, none twice",
        postgres=Target(at_most=200),
        kinds=_POSTGRES,
    ),
    "plan_million_ratio": Figure(
        "of 10,000",
        _on_postgres("planning", "million"),
        "time to plan a fire among a million schedules, to that among 10,000",
        postgres=Target(at_most=1.5),
        kinds=_POSTGRES,
    ),
    "misfire_ms": Figure(
        _MS,
        misfire.ten_years,
        "deciding a misfire of ten years of a schedule of every second, with its transaction, median",
        Target(at_most=10),
        Target(at_most=10),
    ),
    "misfire_cron_ms": Figure(
        _MS,
        misfire.ten_years,
        "the same for a cron rule of every second in a zone",
        Target(at_most=10),
        Target(at_most=10),
    ),
    "misfire_all_ms": Figure(_MS, misfire.ten_years, "the same under fire_all: its first thousand runs"),
}
_OTHERS: Final[Mapping[str, Figure]] = {
    "next_per_second": Figure(_RATE, timing.next_ticks, "next ticks of compiled rules", Target(at_least=100_000)),
    "next_calendar_per_second": Figure(
        _RATE, timing.with_calendars, "next ticks of rules with a calendar", Target(at_least=20_000)
    ),
    "phrase_compile_us": Figure(
        "us", timing.phrases, "reading a phrase: rule, sentence and warnings", Target(at_most=1_000)
    ),
    "forecast_10k_s": Figure("s", timing.foreseen, "foreseeing a day of 10,000 schedules", Target(at_most=10)),
    "http_runs": Figure(_RATE, http.runs, "HTTP runs against a server on this machine"),
    "api_enqueue": Figure(_RATE, api.single, "runs accepted by the REST API, one for each request"),
    "api_batch_runs": Figure(_RATE, api.batches, "the same, a thousand for each request"),
    "idle_statements_per_second": Figure(
        _RATE,
        counts.idle,
        "SQL statements of idle workers: of one on SQLite, of twenty on PostgreSQL",
        postgres=Target(at_most=40),
    ),
    "commits_per_1000_runs": Figure("commits", counts.commits, "transactions that a thousand runs of a backlog cost"),
    "wal_bytes_per_run": Figure(
        "bytes", _on_postgres("costs", "wal"), "log that a run costs from its enqueue to its end", kinds=_POSTGRES
    ),
    "buffers_per_claim": Figure(
        "buffers",
        _on_postgres("claimers", "buffers"),
        "pages touched by a claim of 100 runs out of a backlog",
        kinds=_POSTGRES,
    ),
    "worker_rss_mb": Figure(_MB, memory.worker, "memory of puntual worker after a thousand runs", Target(at_most=70)),
    "serve_rss_mb": Figure(_MB, memory.serve, "memory of puntual serve after a thousand runs", Target(at_most=130)),
    "rss_growth_mb": Figure(
        _MB, memory.growth, "memory after 200,000 runs less that after 20,000", Target(at_most=10), Target(at_most=10)
    ),
    "sweep_ms": Figure(_MS, lookups.sweep, "one sweep past a million runs that are not due, median"),
    "list_p95_ms": Figure(_MS, lookups.lists, "a page of runs out of a million, 95 of 100"),
}
FIGURES: Final[dict[str, Figure]] = {**_ACCEPTED, **_DRAINED, **_LATE, **_OTHERS}
