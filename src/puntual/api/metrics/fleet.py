"""What the database knows of the whole fleet: its queues, its workers and their leases. The same on every server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client import Metric

from puntual.api.metrics.family import Values, gauge, gauges
from puntual.engine.metrics import MOST_QUEUES, OTHER
from puntual.model.fleet import COUNTED_TO, Queue, Worker
from puntual.model.instant import SECOND
from puntual.operations.local import living
from puntual.store.requests import Snapshot

_ROLES: Final = ("scheduler", "worker")
_STATES: Final = ("live", "draining", "overdue")
_CAPPED: Final = f"counted to {COUNTED_TO:,} for each"
#: A number of a queue's, what it is called and means, and whether it is the worst or the sum of those told as one.
_QUEUES: Final[tuple[tuple[str, str, Callable[[Queue], float], bool], ...]] = (
    ("pending_runs", f"Runs that wait, due or not, {_CAPPED} queue.", lambda queue: queue.pending, False),
    ("due_runs", f"Runs that are due and not claimed, {_CAPPED} queue.", lambda queue: queue.due, False),
    ("running_runs", f"Runs that a worker holds, {_CAPPED} queue.", lambda queue: queue.running, False),
    ("dead_runs", f"Dead runs that nobody has discarded, {_CAPPED} queue.", lambda queue: queue.dead, False),
    ("paused", "Whether the queue is paused.", lambda queue: queue.paused, True),
)


def fleet(snapshot: Snapshot | None) -> Iterator[Metric]:
    """Every family, empty where the database did not answer."""
    yield from _queues(snapshot)
    yield from _workers(snapshot)
    upkeep = paused = unknown = None
    if snapshot is not None:
        upkeep = max((snapshot.upkeep_until or 0) - snapshot.now, 0) / SECOND
        paused = float(living.is_paused(snapshot))
        unknown = sum(task.due for task in living.unknown(snapshot))
    yield gauge("puntual_upkeep_lease_seconds", "How long the upkeep lease still stands; 0: nobody has it.", upkeep)
    yield gauge("puntual_paused", "Whether everything is paused.", paused)
    text = f"Due runs of tasks that no living worker has, {_CAPPED} task."
    yield gauge("puntual_unknown_task_due_runs", text, unknown)


def _queues(snapshot: Snapshot | None) -> Iterator[Metric]:
    labelled = _labelled(snapshot)
    for name, text, value, worst in _QUEUES:
        join: Callable[[list[float]], float] = max if worst else sum
        values = [((label,), join([value(queue) for queue in queues])) for label, queues in labelled.items()]
        yield gauges(f"puntual_queue_{name}", text, ("queue",), values)
    now = 0 if snapshot is None else snapshot.now
    oldest = [((label,), max(_waited(queue, now) for queue in queues)) for label, queues in labelled.items()]
    text = "How long the oldest due run has waited; 0: none waits."
    yield gauges("puntual_queue_oldest_due_seconds", text, ("queue",), oldest)


def _labelled(snapshot: Snapshot | None) -> dict[str, list[Queue]]:
    """Queues by what they are called here: the first by name each alone, the rest together."""
    found: dict[str, list[Queue]] = {}
    for queue in sorted(snapshot.queues, key=lambda queue: queue.name) if snapshot is not None else ():
        label = queue.name if len(found) < MOST_QUEUES else OTHER
        found.setdefault(label, []).append(queue)
    return found


def _waited(queue: Queue, now: int) -> float:
    return 0.0 if queue.oldest_due_at is None else max(now - queue.oldest_due_at, 0) / SECOND


def _workers(snapshot: Snapshot | None) -> Iterator[Metric]:
    states: Values = ()
    roles: Values = ()
    slots = None
    if snapshot is not None:
        counts = Counter(_state(worker, snapshot.now) for worker in snapshot.workers)
        states = [((state,), counts[state]) for state in _STATES]
        live = [worker for worker in snapshot.workers if worker.lease_until > snapshot.now]
        roles = [((role,), sum(role in worker.roles for worker in live)) for role in _ROLES]
        slots = sum(worker.concurrency for worker in living.working(live, snapshot.now))
    text = "Leases of workers that nobody has ended: live, draining (taking nothing more), or overdue."
    yield gauges("puntual_leases", text, ("state",), states)
    yield gauges("puntual_workers", "Processes whose lease stands, by role; one may have both.", ("role",), roles)
    yield gauge(
        "puntual_worker_slots", "How many attempts all workers together may have under way; a batch takes one.", slots
    )


def _state(worker: Worker, now: int) -> str:
    if worker.lease_until <= now:
        return "overdue"
    return "draining" if worker.draining else "live"
