"""Runs, their attempts and the tick record as replies show them."""

from __future__ import annotations

import base64
from typing import Any, NotRequired, TypedDict

import msgspec

from puntual.model.attempt import Attempt
from puntual.model.instant import format_instant
from puntual.model.run import NewRun, Run, RunState
from puntual.model.schedule import Tick
from puntual.operations.shapes.units import ms, time
from puntual.store.requests import Response


class ErrorShape(TypedDict):
    """Why an attempt failed."""

    type: str
    message: str
    trace: str | None


class AttemptShape(TypedDict):
    """One attempt that was started and has ended."""

    number: int
    worker: str
    started_at: str
    finished_at: str
    outcome: str
    status_code: int | None
    error: ErrorShape | None
    timings: dict[str, float] | None


class RunShape(TypedDict):
    """A run. ``lateness_ms`` is its first start less ``due_at``; ``next_try_at`` is when a pending one goes next."""

    id: str
    task: str
    args: Any
    queue: str
    priority: str
    state: str
    reason: str | None
    origin: str
    replay_of: str | None
    schedule: str | None
    tick_at: str | None
    due_at: str
    next_try_at: str | None
    created_at: str
    started_at: str | None
    finished_at: str | None
    lateness_ms: int | float | None
    attempt: int
    max_attempts: int
    released: int
    worker: str | None
    cancel_requested: bool
    discarded_at: str | None
    unique_key: str | None
    result: Any
    tags: list[str]
    attempts: list[AttemptShape]
    existing: NotRequired[bool]
    warnings: NotRequired[list[str]]


class RunOfTick(TypedDict):
    """The run that a tick made."""

    id: str
    state: str | None


class TickShape(TypedDict):
    """A tick, or a stretch of ticks with one fate; it has ``at_least`` instead of ``count`` where that is capped."""

    schedule: str
    number: int
    tick_at: str
    last_tick_at: str
    count: NotRequired[int]
    at_least: NotRequired[int]
    fate: str
    reason: str | None
    run: RunOfTick | None
    lateness_ms: int | float | None


def run_shape(run: Run) -> RunShape:
    """The run with its attempts."""
    return {
        "id": run.id,
        "task": run.task,
        "args": msgspec.json.decode(run.args),
        "queue": run.queue,
        "priority": run.priority.word,
        "state": run.state.value,
        "reason": run.reason,
        "origin": run.origin.value,
        "replay_of": run.replay_of,
        "schedule": run.schedule,
        "tick_at": time(run.tick_at),
        "due_at": format_instant(run.due_at),
        "next_try_at": format_instant(run.claim_at) if run.state is RunState.PENDING else None,
        "created_at": format_instant(run.created_at),
        "started_at": time(run.started_at),
        "finished_at": time(run.finished_at),
        "lateness_ms": None if run.started_at is None else ms(run.started_at - run.due_at),
        "attempt": run.attempt,
        "max_attempts": run.max_attempts,
        "released": run.released,
        "worker": run.worker,
        "cancel_requested": run.cancel_requested,
        "discarded_at": time(run.discarded_at),
        "unique_key": run.unique_key,
        "result": None if run.result is None else msgspec.json.decode(run.result),
        "tags": list(run.tags),
        "attempts": [_attempt(attempt) for attempt in run.attempts],
    }


def fresh_shape(new: NewRun, now: int) -> RunShape:
    """A run that was inserted just now, without reading it back: that would cost twice as much again as the insert.

    Args:
        new: what was inserted.
        now: the store's time of the insert.
    """
    due_at = now + new.delay_us if new.due_at is None else new.due_at
    return {
        "id": new.id,
        "task": new.task,
        "args": msgspec.json.decode(new.args),
        "queue": new.queue,
        "priority": new.priority.word,
        "state": RunState.PENDING.value,
        "reason": None,
        "origin": new.origin.value,
        "replay_of": new.replay_of,
        "schedule": new.schedule,
        "tick_at": time(new.tick_at),
        "due_at": format_instant(due_at),
        "next_try_at": format_instant(max(due_at, now)),
        "created_at": format_instant(now),
        "started_at": None,
        "finished_at": None,
        "lateness_ms": None,
        "attempt": 0,
        "max_attempts": new.max_attempts,
        "released": 0,
        "worker": None,
        "cancel_requested": False,
        "discarded_at": None,
        "unique_key": new.unique_key,
        "result": None,
        "tags": list(new.tags),
        "attempts": [],
    }


def _attempt(attempt: Attempt) -> AttemptShape:
    error = attempt.error
    return {
        "number": attempt.number,
        "worker": attempt.worker,
        "started_at": format_instant(attempt.started_at),
        "finished_at": format_instant(attempt.finished_at),
        "outcome": attempt.outcome.value,
        "status_code": attempt.status_code,
        "error": None if error is None else {"type": error.type, "message": error.message, "trace": error.trace},
        "timings": attempt.timings,
    }


def tick_shape(tick: Tick) -> TickShape:
    """One row of the tick record."""
    shape: TickShape = {
        "schedule": tick.schedule,
        "number": tick.number,
        "tick_at": format_instant(tick.tick_at),
        "last_tick_at": format_instant(tick.last_tick_at),
        "fate": tick.fate.value,
        "reason": None if tick.reason is None else tick.reason.value,
        "run": None if tick.run_id is None else {"id": tick.run_id, "state": tick.run_state and tick.run_state.value},
        "lateness_ms": ms(tick.lateness_us),
    }
    shape["at_least" if tick.at_least else "count"] = tick.count
    return shape


def response_shape(response: Response) -> dict[str, Any]:
    """The kept answer: its body as text where it is UTF-8, else in base64."""
    try:
        body, encoding = response.body.decode(), "utf-8"
    except UnicodeDecodeError:
        body, encoding = base64.b64encode(response.body).decode(), "base64"
    return {
        "run": response.run_id,
        "attempt": response.attempt,
        "body": body,
        "encoding": encoding,
        "content_type": response.content_type,
        "headers": [list(header) for header in response.headers],
        "truncated": response.truncated,
    }
