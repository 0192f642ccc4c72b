"""Reads manifests in tests: a context with checks that only shape what they are given, and the faults of a text."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from textwrap import dedent
from typing import Unpack

import msgspec
import pytest

from puntual.manifest import Manifest, ManifestContext, ManifestErrors, TargetChecks, read_manifest
from puntual.model.errors import InvalidError, PuntualError
from puntual.model.instant import parse_instant
from puntual.model.keywords import TaskKeywords
from puntual.model.schedule import Cursor, Pause, Schedule, ScheduleSpec
from puntual.model.task import Task, TaskRegistry

NOW = parse_instant("2026-05-28T20:26:40Z")


def check_http(args: object, *, field: str) -> str:
    """Takes any mapping with a url."""
    if not isinstance(args, dict) or "url" not in args:
        raise InvalidError(f"{field} has no url.", field=f"{field}.url")
    return json.dumps(args)


def check_command(args: object, *, field: str) -> str:
    """Takes a list as argv."""
    return json.dumps({"argv": args} if isinstance(args, list) else args)


CONTEXT = ManifestContext(now=NOW, checks=TargetChecks(http=check_http, command=check_command))


def context(**changes: object) -> ManifestContext:
    """The context of these tests, with some parts changed; ``tasks`` are those that are registered."""
    if "tasks" in changes:
        changes["checks"] = msgspec.structs.replace(CONTEXT.checks, tasks=changes.pop("tasks"))
    return msgspec.structs.replace(CONTEXT, **changes)


def registered(*functions: Callable[..., object], **options: Unpack[TaskKeywords]) -> Mapping[str, Task[..., object]]:
    """These functions as tasks under their own bare names, all with the same options."""
    registry = TaskRegistry()
    for function in functions:
        registry.register(function, {**options, "name": function.__name__})
    return registry.tasks


def read(text: str, **changes: object) -> Manifest:
    """The manifest of an indented text."""
    return read_manifest(dedent(text), source="m.yaml", context=context(**changes))


def read_spec(keys: str, **changes: object) -> ScheduleSpec:
    """The spec of one schedule whose keys are given as the inside of a flow mapping."""
    return read(f"schedules: {{job: {{{keys}}}}}", **changes).schedules[0].spec


def faults(text: str, **changes: object) -> list[PuntualError]:
    """All that is wrong with an indented text."""
    with pytest.raises(ManifestErrors) as caught:
        read(text, **changes)
    return list(caught.value.errors)


def fault(keys: str, **changes: object) -> PuntualError:
    """The one thing that is wrong with a schedule whose keys are given as the inside of a flow mapping."""
    (error,) = faults(f"schedules: {{job: {{{keys}}}}}", **changes)
    return error


def stored(spec: ScheduleSpec, pause: Pause | None = None) -> Schedule:
    """A schedule as a store would keep it."""
    cursor = Cursor(last_tick_at=NOW)
    return Schedule(id="id", revision=1, spec=spec, cursor=cursor, created_at=NOW, updated_at=NOW, pause=pause)
