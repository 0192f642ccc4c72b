"""What this process counts of its own work, from its start; empty where it neither plans nor works."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client import Metric

from puntual.api.metrics.family import counter, counters, gauge, gauges, histograms
from puntual.app import VERSION
from puntual.engine.metrics import QueueMetrics
from puntual.engine.node import Node
from puntual.engine.offset import Offset
from puntual.model.instant import SECOND
from puntual.model.run import RunState

_ENDS: Final = (RunState.SUCCEEDED, RunState.DEAD, RunState.CANCELLED)

_Rows = tuple[tuple[str, str, Callable[[Node], float]], ...]
_GAUGES: Final[_Rows] = (
    ("running_attempts", "Attempts under way; the runs of a batch are one call.", lambda node: node.executor.running),
    ("slots", "How many attempts may be under way; a batch takes one.", lambda node: node.concurrency),
    ("held_runs", "Runs claimed and not settled: not due yet, in line, or under way.", lambda node: len(node.held)),
)
_COUNTERS: Final[_Rows] = (
    ("claims", "Claims made, fruitless ones included.", lambda node: node.claimer.claims),
    ("claimed_runs", "Runs that claims got.", lambda node: node.claimer.taken),
    ("unstarted_claims", "Claimed runs given back without an attempt.", lambda node: node.settler.metrics.unstarted),
    ("sweeps", "Claims that looked at everything from its beginning.", lambda node: node.claimer.sweeps),
    (
        "sweep_overlooked_runs",
        "Runs that a sweep got and every other claim would have passed over.",
        lambda node: node.claimer.overlooked,
    ),
    ("planned_schedules", "Schedules moved on to their next tick.", lambda node: node.planner.schedules),
    ("planned_runs", "Runs that planning made.", lambda node: node.planner.runs),
    ("ended_leases", "Overdue leases that rescue ended here.", lambda node: node.rescuer.leases),
    ("rescued_runs", "Runs whose worker was gone, and that rescue settled here.", lambda node: node.rescuer.runs),
)


def process(node: Node | None, offset: Offset | None) -> Iterator[Metric]:
    """Every family."""
    yield gauges("puntual_build_info", "1; the release is its label.", ("version",), [((VERSION,), 1)])
    seconds = None if offset is None else offset.us / SECOND
    text = "What the database's clock shows more than this machine's, by the quickest of the last answers."
    yield gauge("puntual_clock_offset_seconds", text, seconds)
    yield from _runs({} if node is None else node.settler.metrics.queues)
    for name, text, read in _GAUGES:
        yield gauge(f"puntual_{name}", text, None if node is None else read(node))
    for name, text, read in _COUNTERS:
        yield counter(f"puntual_{name}", text, None if node is None else read(node))
    yield from _troubles(node)


def _runs(queues: dict[str, QueueMetrics]) -> Iterator[Metric]:
    found = sorted(queues.items())
    outcomes = [((name, kind.value), count) for name, each in found for kind, count in each.outcomes.items()]
    text = "Attempts whose end is written, by what they produced; those of a lost worker are counted by rescue."
    yield counters("puntual_attempts", text, ("queue", "outcome"), outcomes)
    ends = [((name, state.value), each.states[state]) for name, each in found for state in _ENDS]
    yield counters("puntual_runs", "Runs that ended, by how.", ("queue", "state"), ends)
    text = "From due to the first start of each run, told when that attempt has ended."
    lateness = [(name, each.lateness) for name, each in found]
    yield histograms("puntual_run_lateness_seconds", text, "queue", lateness)
    duration = [(name, each.duration) for name, each in found]
    yield histograms("puntual_attempt_duration_seconds", "From start to end of each attempt.", "queue", duration)


def _troubles(node: Node | None) -> Iterator[Metric]:
    errors = [] if node is None else list(node.store_errors.items())
    text = "Errors of the database, by the loop that asked and the error's code."
    yield counters("puntual_database_errors", text, ("loop", "code"), errors)
    failures = [] if node is None else [((health.name,), health.failures) for health in node.health()]
    yield gauges(
        "puntual_loop_failures", "How many times in a row a loop has failed; 0: it works.", ("loop",), failures
    )
