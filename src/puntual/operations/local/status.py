"""How things stand: one sentence, then what failed, what was missed or late and why, and what is coming.

The sentence and ``counts`` are of all that there is; the lists beside them name the newest hundred of each kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from puntual.app import App
from puntual.engine.due import compiled
from puntual.model.instant import HOUR, MINUTE, SECOND, format_instant
from puntual.model.payload import safe_text
from puntual.model.run import Run, RunState
from puntual.model.schedule import Fate, Schedule, Tick
from puntual.operations.contract import Json
from puntual.operations.local import living
from puntual.operations.local.base import all_runs
from puntual.operations.local.health import unknown_words
from puntual.operations.shapes import pause_shape, queue_shape, tick_shape
from puntual.operations.shapes.schedules import next_due
from puntual.operations.shapes.units import time
from puntual.store.requests import MOST_NAMED, Counted, Page, RunFilter, Snapshot, Tally, TickFilter

_SHOWN: Final = MOST_NAMED
_ROWS: Final = 1_000
#: How much of an error stands in the sentence.
_LETTERS: Final = 120
#: How many parts of the tick record are read for the lists; the counts are of all.
_PARTS: Final = 20


async def status(app: App, since: int, now: int) -> Json:
    """The reply of ``puntual status``.

    Args:
        app: whose database.
        since: how far to look back.
        now: the moment of asking.
    """
    store = app.store
    snapshot = await store.snapshot()
    tally = await store.tally(since)
    runs = await _runs(app, (*tally.dead.first, *tally.retrying.first, *tally.late.first))
    missed = await _missed(app, TickFilter(fates=(Fate.MISSED, Fate.COALESCED), since=since, until=now))
    schedules = await store.list_schedules()
    found: dict[str, Any] = {
        "counts": {name: _count(counted) for name, counted in _counts(tally).items()},
        "failed": [_failed(runs[key]) for key in (*tally.dead.first, *tally.retrying.first) if key in runs],
        "missed": [tick_shape(tick) for tick in missed if tick.fate is Fate.MISSED][:_SHOWN],
        "late": [tick_shape(_tick(runs[key])) for key in tally.late.first if key in runs],
        "unplanned": list(tally.unplanned.first),
        "coming": _coming(schedules, now),
        "down": _stretches(missed),
        "paused": pause_shape(snapshot.paused, now),
        "queues": [queue_shape(queue) for queue in snapshot.queues],
        "unknown": _unknown(app, snapshot),
    }
    found["failures"] = _grouped(found["failed"])
    wrong = _wrong(snapshot, schedules)
    happened = _happened(tally)
    sentence = _sentence(wrong, happened, found, since, snapshot)
    return {"sentence": sentence, "ok": not wrong and not happened, "since": time(since), "now": time(now), **found}


async def _runs(app: App, ids: Sequence[str]) -> dict[str, Run]:
    if not ids:
        return {}
    rows = await all_runs(app.store, RunFilter(ids=tuple(ids)))
    return {run.id: run for run in rows}


async def _missed(app: App, where: TickFilter) -> list[Tick]:
    """The newest thousand rows of those fates."""
    found: list[Tick] = []
    page = Page(limit=_ROWS)
    for _ in range(_PARTS):
        part = await app.store.list_ticks(where, page)
        found += part.items
        if part.next is None or len(found) >= _ROWS:
            break
        page = msgspec.structs.replace(page, after=part.next)
    return found


def _counts(tally: Tally) -> dict[str, Counted]:
    kinds = ("dead", "retrying", "missed", "late", "unplanned")
    return {kind: getattr(tally, kind) for kind in kinds}


def _count(counted: Counted) -> Json:
    return {"at_least" if counted.at_least else "count": counted.count}


def _tick(run: Run) -> Tick:
    """The row of the tick record that a late run is."""
    assert run.schedule is not None
    assert run.tick_number is not None
    assert run.tick_at is not None
    return Tick(
        schedule=run.schedule,
        number=run.tick_number,
        tick_at=run.tick_at,
        last_tick_at=run.tick_at,
        run_id=run.id,
        run_state=run.state,
        lateness_us=None if run.started_at is None else run.started_at - run.due_at,
    )


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
            "ticks": compiled(schedule.spec.timetable).open_count(max(now, at - 1), now + HOUR, 10_000),
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


def _grouped(failed: Sequence[Json]) -> list[Json]:
    """What failed, by what it was: how often, and why the last time; the most frequent first."""
    groups: dict[tuple[str, str], list[Json]] = {}
    for item in failed:
        groups.setdefault((item["schedule"] or item["task"], item["state"]), []).append(item)
    grouped = [
        {"name": name, "state": state, "count": len(items), "last": items[0]["id"], "why": items[0]["why"]}
        for (name, state), items in groups.items()
    ]
    return sorted(grouped, key=lambda group: -int(group["count"]))


def _unknown(app: App, snapshot: Snapshot) -> list[Json]:
    """The tasks that due runs wait for and no living worker has."""
    live = living.working(snapshot.workers, snapshot.now)
    known = {*app.registry.names(), *(task for worker in live for task in worker.tasks)}
    return [
        {
            "task": waiting.task,
            "due": waiting.due,
            "oldest_due_at": time(waiting.oldest_due_at),
            "nearest": living.nearest(waiting.task, known - {waiting.task}),
        }
        for waiting in living.unknown(snapshot)[:_SHOWN]
    ]


def _wrong(snapshot: Snapshot, schedules: Sequence[Schedule]) -> list[str]:
    """What is wrong now, the worst first, each as a sentence without its stop."""
    said = (
        living.nobody(snapshot, planning=bool(schedules)),
        living.not_planned(schedules, snapshot),
        unknown_words(snapshot),
        living.lagging(snapshot),
    )
    return [text for text in said if text is not None]


def _happened(tally: Tally) -> list[str]:
    """What went wrong, as parts of a sentence."""
    kinds = (
        (tally.unplanned, "schedule cannot be planned", "schedules cannot be planned"),
        (tally.dead, "run died", "runs died"),
        (tally.retrying, "run failed and is being tried again", "runs failed and are being tried again"),
        (tally.missed, "tick was missed", "ticks were missed"),
        (tally.late, "tick ran late", "ticks ran late"),
    )
    return [_counted(kind.count, one, many, at_least=kind.at_least) for kind, one, many in kinds if kind.count]


def _sentence(wrong: Sequence[str], happened: Sequence[str], found: Json, since: int, snapshot: Snapshot) -> str:
    """What is wrong now, then what went wrong, then what is coming."""
    back = f"since {format_instant(since // SECOND * SECOND)}"
    parts = list(wrong)
    if snapshot.paused is not None and living.is_paused(snapshot):
        parts.append(living.paused_words(snapshot.paused))
    if happened:
        said = happened[0] if len(happened) == 1 else f"{', '.join(happened[:-1])} and {happened[-1]}"
        often = next((group for group in found["failures"] if group["count"] > 1), None)
        named = f" ({often['name']} {often['count']} times, last: {_short(often['why'])})" if often else ""
        parts.append(f"{said} {back}{named}")
    else:
        good = "nothing failed, nothing was missed and nothing started more than a minute late"
        parts.append(f"{good} {back}" if parts else f"All is well {back}: {good}")
    count = len(found["coming"])
    parts.append(_counted(count, "schedule is due", "schedules are due", at_least=count == _SHOWN) + " within the hour")
    sentence = "; ".join([parts[0], *(f"{part[0].lower()}{part[1:]}" for part in parts[1:])])
    return f"{sentence[0].upper()}{sentence[1:]}."


def _short(text: str) -> str:
    return safe_text(text, limit=_LETTERS)


def _counted(count: int, one: str, many: str, *, at_least: bool) -> str:
    return f"{'at least ' if at_least else ''}{count:,} {one if count == 1 else many}"
