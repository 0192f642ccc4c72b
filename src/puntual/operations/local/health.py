"""Whether every part does its work: the database, the loops of this process, workers, upkeep, and the disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from puntual.app import App
from puntual.model.errors import PuntualError
from puntual.model.fleet import Worker
from puntual.model.instant import MINUTE, SECOND
from puntual.store.requests import Snapshot

#: A run that waits longer than this although it is due means that nobody keeps up.
LAG_US: Final = MINUTE
#: SQLite needs room for its log beside what is written.
LEAST_FREE: Final = 256 << 20


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at, and a sentence."""

    name: str
    ok: bool
    text: str


async def checks(app: App) -> list[Check]:
    """Everything, the database first; without it the rest that needs it is left out."""
    found = list(loops(app))
    snapshot = await _snapshot(app)
    if isinstance(snapshot, Check):
        return [snapshot, *found]
    found += [waiting(snapshot), _workers(snapshot.workers), _upkeep(snapshot), await _planning(app), _disk(app)]
    return [Check(name="store", ok=True, text=f"The database answers; its schema is {snapshot.schema}."), *found]


async def ready(app: App) -> list[Check]:
    """What this process needs to be of use: the database, and its own loops. Its texts tell nothing of the inside."""
    reached = await _reached(app)
    text = "The database answers." if reached else "The database does not answer."
    found = [Check(name="store", ok=reached, text=text)]
    for loop in loops(app):
        text = f"The loop {loop.name.removeprefix('loop ')} {'works' if loop.ok else 'fails'}."
        found.append(Check(name=loop.name, ok=loop.ok, text=text))
    return found


def loops(app: App) -> Iterator[Check]:
    """The loops that run in this process."""
    for health in app.node.health() if app.node is not None else ():
        bad = f"It failed {health.failures} times in a row: {health.error}"
        text = "Its last step succeeded." if health.good else bad
        yield Check(name=f"loop {health.name}", ok=health.good, text=text)


async def _reached(app: App) -> bool:
    try:
        await app.store.ping()
    except PuntualError:
        return False
    return True


async def _snapshot(app: App) -> Snapshot | Check:
    try:
        return await app.store.snapshot()
    except PuntualError as error:
        return Check(name="store", ok=False, text=error.message)


def waiting(snapshot: Snapshot) -> Check:
    """Whether a run that is due waits longer than it should."""
    waiting = [queue for queue in snapshot.queues if queue.oldest_due_at is not None and not queue.paused]
    oldest = min(waiting, key=lambda queue: queue.oldest_due_at or 0, default=None)
    if oldest is None or oldest.oldest_due_at is None or snapshot.now <= oldest.oldest_due_at:
        return Check(name="lag", ok=True, text="No run is waiting past its time.")
    late = snapshot.now - oldest.oldest_due_at
    text = f"The oldest due run has waited {late / SECOND:.1f} s, in queue {oldest.name}."
    return Check(name="lag", ok=late <= LAG_US or _paused(snapshot), text=text)


def _paused(snapshot: Snapshot) -> bool:
    return snapshot.paused is not None and snapshot.paused.active(snapshot.now)


def _workers(workers: Sequence[Worker]) -> Check:
    live = [worker for worker in workers if not worker.draining]
    if not live:
        return Check(name="workers", ok=False, text="No worker is alive: puntual worker or puntual serve starts one.")
    text = "1 worker is alive." if len(live) == 1 else f"{len(live):,} workers are alive."
    return Check(name="workers", ok=True, text=text)


def _upkeep(snapshot: Snapshot) -> Check:
    """Whoever plans also takes part in the upkeep, so that a held lease says that a scheduler lives."""
    held = snapshot.upkeep_until is not None and snapshot.upkeep_until > snapshot.now
    text = "A scheduler holds the upkeep lease." if held else "Nobody holds the upkeep lease: no scheduler is alive."
    return Check(name="scheduler", ok=held, text=text)


async def _planning(app: App) -> Check:
    """Whether every schedule can be planned; it is looked at again and again, so this mends itself with its cause."""
    found = (await app.store.tally(app.clock.now())).unplanned
    if not found.count:
        return Check(name="schedules", ok=True, text="Every schedule can be planned.")
    others = f" and {found.count - 1:,} more" if found.count > 1 else ""
    text = f"{found.first[0]}{others} cannot be planned: puntual schedule show {found.first[0]} says why."
    return Check(name="schedules", ok=False, text=text)


def _disk(app: App) -> Check:
    folder = Path(app.settings.database_path).absolute().parent
    free = shutil.disk_usage(folder).free
    return Check(name="disk", ok=free >= LEAST_FREE, text=f"{free / (1 << 30):.1f} GB are free in {folder}.")
