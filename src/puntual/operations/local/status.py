"""How things stand: one sentence, then what failed, what was missed or late and why, and what is coming."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from puntual.app import App
from puntual.engine.plan import compiled
from puntual.model.instant import HOUR, MINUTE, SECOND, format_instant
from puntual.model.run import LIVE_STATES, Run, RunState
from puntual.model.schedule import Fate, Schedule, Tick
from puntual.operations.contract import Json
from puntual.operations.shapes import pause_shape, queue_shape, tick_shape
from puntual.operations.shapes.schedules import next_due
from puntual.operations.shapes.units import time
from puntual.store.requests import Page, RunFilter, TickFilter

#: A tick whose run started later than this after its time is told as late.
LATE_US: Final = MINUTE
_SHOWN: Final = 100
_READ: Final = Page(limit=1_000)


async def status(app: App, since: int, now: int) -> Json:
    """The reply of ``puntual status``.

    Args:
        app: whose database.
        since: how far to look back.
        now: the moment of asking.
    """
    store = app.store
    snapshot = await store.snapshot()
    dead = await store.list_runs(RunFilter(states=(RunState.DEAD,)), _READ)
    live = await store.list_runs(RunFilter(states=LIVE_STATES), _READ)
    failed = [run for run in dead if (run.finished_at or 0) >= since] + [run for run in live if _failing(run)]
    missed = await store.list_ticks(TickFilter(fates=(Fate.MISSED, Fate.COALESCED), since=since, until=now), _READ)
    ran = await store.list_ticks(TickFilter(fates=(Fate.RAN,), since=since, until=now), _READ)
    late = [tick for tick in ran if (tick.lateness_us or 0) > LATE_US]
    found: dict[str, Any] = {
        "failed": [_failed(run) for run in failed[:_SHOWN]],
        "missed": [tick_shape(tick) for tick in missed if tick.fate is Fate.MISSED][:_SHOWN],
        "late": [tick_shape(tick) for tick in late[:_SHOWN]],
        "coming": _coming(await store.list_schedules(), now),
        "down": _stretches(missed),
        "paused": pause_shape(snapshot.paused, now),
        "queues": [queue_shape(queue) for queue in snapshot.queues],
    }
    trouble = _trouble(found)
    alive = any(not worker.draining for worker in snapshot.workers)
    sentence = _sentence(trouble, found, since, alive=alive)
    return {"sentence": sentence, "ok": alive and not trouble, "since": time(since), "now": time(now), **found}


def _failing(run: Run) -> bool:
    """Whether its last attempt that ended did not succeed, and it waits for another."""
    return bool(run.attempts) and run.charged > 0 and run.attempts[-1].error is not None


def _failed(run: Run) -> Json:
    last = run.attempts[-1] if run.attempts else None
    error = None if last is None else last.error
    waits = run.state is RunState.PENDING
    return {
        "id": run.id,
        "task": run.task,
        "schedule": run.schedule,
        "state": run.state.value,
        "reason": run.reason,
        "why": _why(run) if error is None else f"{error.type}: {error.message}",
        "tries": run.charged,
        "max_attempts": run.max_attempts,
        "next_try_at": format_instant(run.claim_at) if waits else None,
        "finished_at": time(run.finished_at),
    }


def _why(run: Run) -> str:
    last = run.attempts[-1] if run.attempts else None
    return "It was never started." if last is None else f"Its last attempt ended as {last.outcome.value}."


def _coming(schedules: Sequence[Schedule], now: int) -> list[Json]:
    """What is due within an hour, the earliest first."""
    due = [(at, schedule) for schedule in schedules if (at := next_due(schedule, now)) is not None and at <= now + HOUR]
    due.sort(key=lambda item: (item[0], item[1].name))
    return [
        {
            "schedule": schedule.name,
            "due_at": format_instant(at),
            "ticks": compiled(schedule.spec.timetable).count(max(now, at - 1), now + HOUR, 10_000),
        }
        for at, schedule in due[:_SHOWN]
    ]


def _stretches(missed: Sequence[Tick]) -> list[Json]:
    """When nothing was there to plan: the times of ticks that were missed or coalesced, those that touch as one."""
    merged: list[list[int]] = []
    for tick in sorted(missed, key=lambda tick: tick.tick_at):
        if merged and tick.tick_at <= merged[-1][1] + MINUTE:
            merged[-1][1] = max(merged[-1][1], tick.last_tick_at)
            merged[-1][2] += tick.count
        else:
            merged.append([tick.tick_at, tick.last_tick_at, tick.count])
    return [{"since": time(first), "until": time(last), "ticks": count} for first, last, count in reversed(merged)]


def _trouble(found: Json) -> list[str]:
    """What went wrong, as parts of a sentence."""
    parts = []
    dead = sum(1 for run in found["failed"] if run["state"] == RunState.DEAD)
    retrying = len(found["failed"]) - dead
    if dead:
        parts.append(_counted(dead, "run died", "runs died"))
    if retrying:
        parts.append(_counted(retrying, "run failed and is being tried again", "runs failed and are being tried again"))
    missed = sum(tick.get("count") or tick.get("at_least") or 0 for tick in found["missed"])
    if missed:
        parts.append(_counted(missed, "tick was missed", "ticks were missed"))
    if found["late"]:
        parts.append(_counted(len(found["late"]), "tick ran late", "ticks ran late"))
    return parts


def _sentence(trouble: Sequence[str], found: Json, since: int, *, alive: bool) -> str:
    coming = _counted(len(found["coming"]), "schedule is due", "schedules are due") + " within the hour"
    coming += ", but everything is paused" if found["paused"]["paused"] else ""
    coming += "" if alive else ", but no worker is alive"
    back = f"since {format_instant(since // SECOND * SECOND)}"
    if not trouble:
        good = "All is well" if alive else "Nothing went wrong"
        return f"{good} {back}: nothing failed, nothing was missed and nothing was late; {coming}."
    said = trouble[0] if len(trouble) == 1 else f"{', '.join(trouble[:-1])} and {trouble[-1]}"
    return f"{said[0].upper()}{said[1:]} {back}; {coming}."


def _counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"
