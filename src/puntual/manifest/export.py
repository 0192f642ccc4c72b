"""Schedules are written back as a manifest that is read to the same schedules, on this server or on another."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import msgspec

from puntual.manifest.calendars import calendar_mapping
from puntual.manifest.dump import dump_documents
from puntual.manifest.keys import (
    ARGS,
    COMMAND,
    DESCRIPTION,
    HTTP,
    PAUSED,
    POLICY_KEYS,
    RETRY,
    RETRY_KEYS,
    RULES,
    SIFT_KEYS,
    TASK,
    TIMES,
    ZONE_KEYS,
    Key,
)
from puntual.manifest.rules import start_of
from puntual.model.errors import InvalidRuleError
from puntual.model.fleet import Queue
from puntual.model.run import COMMAND_TASK, HTTP_TASK
from puntual.model.schedule import Schedule, ScheduleSpec, Target
from puntual.timing.calendar import Calendar
from puntual.timing.rule import read_timetable


def to_manifest(schedules: Sequence[Schedule], queues: Sequence[Queue] = (), calendars: Sequence[Calendar] = ()) -> str:
    """A YAML text with one document for each owner, in a stable order; what was left to the defaults is left out.

    Only the time zone is always written, since another server's default may be another one. A pause without an end is
    written too; one with an end is not. Limits of queues stand in the first document.
    """
    owners: dict[str, dict[str, object]] = {}
    for schedule in sorted(schedules, key=lambda schedule: (schedule.spec.owner or "", schedule.name)):
        written = to_mapping(schedule.spec, paused=_paused(schedule))
        owners.setdefault(schedule.spec.owner or "", {})[schedule.name] = written
    days: dict[str, dict[str, object]] = {}
    for calendar in sorted(calendars, key=lambda calendar: (calendar.owner or "", calendar.name)):
        owners.setdefault(calendar.owner or "", {})
        days.setdefault(calendar.owner or "", {})[calendar.name] = calendar_mapping(calendar.spec)
    limits = {queue.name: {"concurrency": queue.concurrency} for queue in queues if queue.concurrency is not None}
    documents = [
        {
            **({"owner": owner} if owner else {}),
            **({"calendars": days[owner]} if owner in days else {}),
            **({"queues": dict(sorted(limits.items()))} if limits and place == 0 else {}),
            "schedules": named,
        }
        for place, (owner, named) in enumerate(sorted(owners.items()) or [("", {})])
    ]
    return dump_documents(documents)


def to_mapping(spec: ScheduleSpec, *, paused: bool = False) -> dict[str, object]:
    """The keys and values of one schedule as a manifest holds them; `read_schedule` takes them back to the same."""
    about = [key for key in POLICY_KEYS if key.name == DESCRIPTION]
    written = _written(about, spec, "", spec)
    written |= {
        key: spec.source[key] for key in (*RULES, *(each.name for each in SIFT_KEYS), *TIMES) if key in spec.source
    }
    written |= start_of(spec.timetable)
    with suppress(InvalidRuleError):
        written["timezone"] = read_timetable(spec.timetable).timezone
    written |= {key.name: spec.source[key.name] for key in ZONE_KEYS if key.name in spec.source}
    written |= _target(spec.target)
    retry = _written(RETRY_KEYS, spec.retry, f"{RETRY}.", spec)
    if retry:
        written[RETRY] = retry
    written |= _written([key for key in POLICY_KEYS if key.name != DESCRIPTION], spec, "", spec)
    if paused:
        written[PAUSED] = True
    return written


def _written(keys: Sequence[Key], struct: msgspec.Struct, prefix: str, spec: ScheduleSpec) -> dict[str, object]:
    """The keys that somebody wrote, and those whose value is not the usual one, wherever it came from."""
    written: dict[str, object] = {}
    for key in keys:
        value = getattr(struct, key.attribute)
        if prefix + key.name not in spec.defaulted or value != key.default_for(spec.target.task):
            written[key.name] = key.kind.write(value)
    return written


def _target(target: Target) -> dict[str, object]:
    args: object = msgspec.json.decode(target.args)
    if target.task == HTTP_TASK:
        return {HTTP: args}
    if target.task == COMMAND_TASK:
        return {COMMAND: args["argv"] if isinstance(args, dict) and [*args] == ["argv"] else args}
    return {TASK: target.task, **({ARGS: args} if args else {})}


def _paused(schedule: Schedule) -> bool:
    return schedule.pause is not None and schedule.pause.until is None
