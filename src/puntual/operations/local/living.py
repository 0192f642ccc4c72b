"""Who lives and what waits because nobody does, by the store's clock: nobody may be left to end an overdue lease."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import get_close_matches
from typing import Final

from puntual.model.duration import format_duration
from puntual.model.fleet import Worker
from puntual.model.instant import MINUTE, SECOND, format_instant
from puntual.model.schedule import Pause, Schedule
from puntual.store.requests import Snapshot, WaitingTask

#: What is due and waits longer than this means that nobody keeps up.
LAG_US: Final = MINUTE
_STARTS: Final = "puntual serve starts them"


def working(workers: Sequence[Worker], now: int) -> list[Worker]:
    """The workers that live and take runs."""
    return [each for each in workers if each.lease_until > now and not each.draining and "worker" in each.roles]


def nobody(snapshot: Snapshot, *, planning: bool) -> str | None:
    """Which part of the work nobody does, as a sentence; a scheduler is needed where there is something to plan."""
    missing = [] if working(snapshot.workers, snapshot.now) else ["worker"]
    if planning and not scheduler_lives(snapshot):
        missing.append("scheduler")
    return f"No {' and no '.join(missing)} is alive ({_STARTS})" if missing else None


def scheduler_lives(snapshot: Snapshot) -> bool:
    """Whether anybody plans; who drains goes on planning."""
    return any(each.lease_until > snapshot.now and "scheduler" in each.roles for each in snapshot.workers)


def not_planned(schedules: Sequence[Schedule], snapshot: Snapshot) -> str | None:
    """Which schedules wait for a planner for longer than they should, as a sentence; paused ones do not wait."""
    now = snapshot.now
    if is_paused(snapshot):
        return None
    late = {
        each.name: looked
        for each in schedules
        if (looked := each.cursor.look_at) is not None
        and looked + LAG_US < now
        and not (each.pause is not None and each.pause.active(now))
    }
    if not late:
        return None
    first = min(late, key=lambda name: (late[name], name))
    many = "1 schedule has" if len(late) == 1 else f"{len(late):,} schedules have"
    named = first if len(late) == 1 else f"first {first}"
    return f"{many} not been planned for {spell(now - late[first])} ({named})"


def lagging(snapshot: Snapshot) -> str | None:
    """The oldest run that is due and waits longer than it should, as a sentence; in a paused queue none does."""
    oldest = oldest_due(snapshot)
    if oldest is None or is_paused(snapshot) or snapshot.now - oldest[0] <= LAG_US:
        return None
    return f"The oldest due run has waited {spell(snapshot.now - oldest[0])}, in queue {oldest[1]}"


def oldest_due(snapshot: Snapshot) -> tuple[int, str] | None:
    """Since when the oldest due run waits, and in which queue; queues that are paused are passed over."""
    due = [(queue.oldest_due_at, queue.name) for queue in snapshot.queues if queue.oldest_due_at and not queue.paused]
    return min(due, default=None)


def unknown(snapshot: Snapshot) -> list[WaitingTask]:
    """The tasks whose runs are due and that no living worker has, the longest waiting first."""
    known = {task for worker in working(snapshot.workers, snapshot.now) for task in worker.tasks}
    found = [waiting for waiting in snapshot.waiting if waiting.task not in known]
    return sorted(found, key=lambda waiting: (waiting.oldest_due_at, waiting.task))


def is_paused(snapshot: Snapshot) -> bool:
    """Whether everything is."""
    return snapshot.paused is not None and snapshot.paused.active(snapshot.now)


def paused_words(pause: Pause) -> str:
    """Since when, until when and why everything is paused."""
    until = "it is resumed" if pause.until is None else _second(pause.until)
    reason = "" if pause.reason is None else f" ({pause.reason})"
    return f"Everything is paused since {_second(pause.since)} until {until}{reason}"


def nearest(task: str, known: Collection[str]) -> str | None:
    """The task that was perhaps meant."""
    return next(iter(get_close_matches(task, sorted(known), 1)), None)


def spell(duration_us: int) -> str:
    """How long, to the second."""
    return format_duration(duration_us // SECOND * SECOND)


def _second(instant: int) -> str:
    return format_instant(instant // SECOND * SECOND)
