"""Every figure of this release: its unit, what measures it, and what it says in one line."""

from __future__ import annotations

from typing import Final

import msgspec

from puntual.bench import api, counts, drain, enqueue, http, latency, lookups, memory, schedules, timing
from puntual.bench.context import Family

_RATE: Final = "per second"
_MS: Final = "ms"
_MB: Final = "MB"


class Figure(msgspec.Struct, frozen=True):
    """One figure. Several may come from one family, which is then run once.

    ``at_least`` and ``at_most`` are what it shall reach on a quiet machine with two cores; ``ratio`` is the share of
    its floor that it shall reach on any.
    """

    unit: str
    family: Family
    line: str
    at_least: float | None = None
    at_most: float | None = None
    ratio: float | None = None


FIGURES: Final[dict[str, Figure]] = {
    "enqueue_single": Figure(_RATE, enqueue.single, "runs accepted from one caller who waits for each"),
    "enqueue_concurrent": Figure(
        _RATE, enqueue.concurrent, "runs accepted from a hundred callers who wait for each", at_least=8_000
    ),
    "enqueue_bulk": Figure(_RATE, enqueue.bulk, "runs accepted in bulk, from arguments", at_least=60_000),
    "enqueue_plain": Figure(_RATE, enqueue.plain, "runs accepted in bulk, from rows made beforehand"),
    "drain": Figure(
        _RATE, drain.one_process, "runs claimed, executed and written down by one process", at_least=15_000, ratio=0.3
    ),
    "drain_two_processes": Figure(_RATE, drain.two_processes, "the same by two processes on one file"),
    "backlog_ratio": Figure(
        "of drain", drain.behind_backlog, "drain with a million runs that are not due, to drain", at_least=0.9
    ),
    "pickup_p50_ms": Figure(
        _MS, latency.pickup, "from before the enqueue to the handler's first line, median", at_most=2
    ),
    "pickup_p99_ms": Figure(_MS, latency.pickup, "the same, 99 of 100", at_most=10),
    "burst_p50_ms": Figure(_MS, latency.burst, "lateness of 10,000 runs due at one instant, median"),
    "burst_p99_ms": Figure(_MS, latency.burst, "the same, 99 of 100", at_most=500),
    "schedules_p99_ms": Figure(
        _MS, schedules.same_instant, "lateness of 10,000 schedules of one instant, 99 of 100", at_most=500
    ),
    "schedules_missed": Figure("ticks", schedules.same_instant, "of those, ticks that did not run", at_most=0),
    "schedules_doubled": Figure("ticks", schedules.same_instant, "of those, ticks that ran twice", at_most=0),
    "next_per_second": Figure(_RATE, timing.next_ticks, "next ticks of compiled rules", at_least=100_000),
    "http_runs": Figure(_RATE, http.runs, "HTTP runs against a server on this machine"),
    "api_enqueue": Figure(_RATE, api.single, "runs accepted by the REST API, one for each request"),
    "api_batch_runs": Figure(_RATE, api.batches, "the same, a thousand for each request"),
    "idle_statements_per_second": Figure(_RATE, counts.idle, "SQL statements of a process with nothing to do"),
    "commits_per_1000_runs": Figure("commits", counts.commits, "transactions that a thousand runs of a backlog cost"),
    "worker_rss_mb": Figure(_MB, memory.worker, "memory of puntual worker after a thousand runs", at_most=70),
    "serve_rss_mb": Figure(_MB, memory.serve, "memory of puntual serve after a thousand runs", at_most=130),
    "rss_growth_mb": Figure(_MB, memory.growth, "memory after 200,000 runs less that after 20,000", at_most=10),
    "sweep_ms": Figure(_MS, lookups.sweep, "one sweep past a million runs that are not due, median"),
    "list_p95_ms": Figure(_MS, lookups.lists, "a page of runs out of a million, 95 of 100"),
}
