"""A schedule as replies show it: what it does and when, in which words, and which of its settings nobody chose."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

import msgspec

from puntual.engine.due import due, first_open, first_tick_due_after
from puntual.manifest import to_mapping
from puntual.model.errors import InvalidRuleError
from puntual.model.policy import RetryPolicy
from puntual.model.schedule import Schedule
from puntual.operations.shapes.runs import RunOfTick
from puntual.operations.shapes.units import ms, time
from puntual.timing.describe import describe
from puntual.timing.rule import AnyRule, Timetable, read_timetable


class TargetShape(TypedDict):
    """What is done: a task and its arguments; those of ``http`` and ``command`` are their request."""

    task: str
    args: Any


class SentenceShape(TypedDict):
    """The rule in words."""

    en: str
    es: str


class LastShape(TypedDict):
    """The last tick that is over."""

    tick_at: str | None
    fate: str
    run: RunOfTick | None


class RetryShape(TypedDict):
    """How often and when a run is tried again."""

    max_attempts: int
    backoff: str
    delay_ms: int | float | None
    max_delay_ms: int | float | None
    jitter: bool
    on: list[str]
    not_on: list[str]


class ScheduleShape(TypedDict):
    """A schedule. ``defaults`` names the settings that nobody wrote; ``written`` is what a manifest would hold.

    The answer to a change has ``claimed_ahead``: runs held already that the change does not reach.
    """

    name: str
    owner: str | None
    description: str
    target: TargetShape
    rule: dict[str, Any]
    sentence: SentenceShape
    timezone: str
    start: str | None
    end: str | None
    paused: bool
    paused_until: str | None
    pause_reason: str | None
    next_due_at: str | None
    last: LastShape | None
    queue: str
    priority: str
    tags: list[str]
    overlap: str
    misfire_policy: str
    misfire_grace_time_ms: int | float | None
    retry: RetryShape
    timeout_ms: int | float | None
    on_lost_lease: str
    spread_ms: int | float | None
    jitter_ms: int | float | None
    unique_key: str | None
    revision: int
    created_at: str | None
    updated_at: str | None
    warnings: list[str]
    defaults: list[str]
    written: dict[str, Any]
    claimed_ahead: NotRequired[list[str]]


def schedule_shape(schedule: Schedule, now: int) -> ScheduleShape:
    """The schedule as it stands.

    Args:
        schedule: as the store keeps it.
        now: decides whether its pause holds.
    """
    spec = schedule.spec
    timetable, sentence = _told(spec.timetable)
    pause = schedule.pause if schedule.pause is not None and schedule.pause.active(now) else None
    return {
        "name": spec.name,
        "owner": spec.owner,
        "description": spec.description,
        "target": {"task": spec.target.task, "args": msgspec.json.decode(spec.target.args)},
        "rule": msgspec.to_builtins(timetable.rule),
        "sentence": sentence,
        "timezone": timetable.timezone,
        "start": time(timetable.start),
        "end": time(timetable.end),
        "paused": pause is not None,
        "paused_until": time(pause.until) if pause else None,
        "pause_reason": pause.reason if pause else None,
        "next_due_at": time(next_due(schedule, now)),
        "last": _last(schedule),
        "queue": spec.queue,
        "priority": spec.priority.word,
        "tags": list(spec.tags),
        "overlap": spec.overlap.value,
        "misfire_policy": spec.misfire_policy.value,
        "misfire_grace_time_ms": ms(spec.misfire_grace_us),
        "retry": _retry(spec.retry),
        "timeout_ms": ms(spec.timeout_us),
        "on_lost_lease": spec.on_lost_lease.value,
        "spread_ms": ms(spec.spread_us),
        "jitter_ms": ms(spec.jitter_us),
        "unique_key": spec.unique_key,
        "revision": schedule.revision,
        "created_at": time(schedule.created_at),
        "updated_at": time(schedule.updated_at),
        "warnings": [*_trouble(schedule), *spec.warnings],
        "defaults": list(spec.defaulted),
        "written": written(schedule),
    }


def _told(text: str) -> tuple[Timetable, SentenceShape]:
    """A timetable with its sentence in each language; of one that cannot be read, an empty one with the reason."""
    try:
        timetable = read_timetable(text)
    except InvalidRuleError as error:
        return Timetable(rule=AnyRule(rules=())), {"en": error.message, "es": error.message}
    return timetable, {"en": describe(timetable, "en"), "es": describe(timetable, "es")}


def written(schedule: Schedule) -> dict[str, Any]:
    """What a manifest would hold of it; a pause without an end is written too."""
    endless = schedule.pause is not None and schedule.pause.until is None
    return to_mapping(schedule.spec, paused=endless)


def next_due(schedule: Schedule, now: int) -> int | None:
    """When its next tick is due that makes a run; None when there is none, or while a pause has no end."""
    try:
        return _next_due(schedule, now)
    except InvalidRuleError:
        return None  # Its planner says why, as the schedule's trouble.


def _next_due(schedule: Schedule, now: int) -> int | None:
    pause, spec, cursor = schedule.pause, schedule.spec, schedule.cursor
    if pause is None or not pause.active(now):
        tick = cursor.next_tick_at
        is_open = first_open(spec, tick)
        if is_open == tick:
            return cursor.next_due_at
    elif pause.until is None:
        return None
    else:
        is_open = first_open(spec, first_tick_due_after(spec, cursor.last_tick_at, pause.until))
    return None if is_open is None else due(spec, is_open)


def _trouble(schedule: Schedule) -> list[str]:
    """Why it cannot be planned, if it cannot."""
    trouble = schedule.cursor.trouble
    return [] if trouble is None else [f"cannot be planned: {trouble}"]


def _last(schedule: Schedule) -> LastShape | None:
    last = schedule.last
    if last is None:
        return None
    run: RunOfTick | None = None
    if last.run_id is not None:
        run = {"id": last.run_id, "state": last.run_state and last.run_state.value}
    return {"tick_at": time(last.tick_at), "fate": last.fate.value, "run": run}


def _retry(retry: RetryPolicy) -> RetryShape:
    return {
        "max_attempts": retry.max_attempts,
        "backoff": retry.backoff.value,
        "delay_ms": ms(retry.delay_us),
        "max_delay_ms": ms(retry.max_delay_us),
        "jitter": retry.jitter,
        "on": list(retry.on),
        "not_on": list(retry.not_on),
    }
