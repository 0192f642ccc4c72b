"""The keys that say what is to be done become one target, checked by whoever knows that kind."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from puntual.manifest.context import ManifestContext
from puntual.manifest.errors import nearest
from puntual.manifest.keys import ARGS, HTTP, TARGETS, TASK
from puntual.manifest.kinds import read_text, wrong
from puntual.model.errors import InvalidManifestError, InvalidPayloadError, TaskUnknownError
from puntual.model.payload import encode
from puntual.model.run import COMMAND_TASK, HTTP_TASK
from puntual.model.schedule import Target
from puntual.model.task import Task

#: Sent as they stand, these would reach somebody else's server: until they are filled in, they are refused.
_TEMPLATE: Final = re.compile(
    r"\$\{\s*(?:tick_at|due_at|previous_tick_at|run\.id|attempt|schedule|args\.|secrets\.)[^}]*\}"
)


def read_target(written: Mapping[str, object], path: str, context: ManifestContext) -> Target:
    """The one target among the keys of a schedule.

    Raises:
        InvalidManifestError: there is none, there are several, or it holds what this release cannot fill in.
        InvalidError: it is not one that can be executed; an InvalidPayloadError: its arguments do not fit the task.
        TaskUnknownError: no such task is registered here.
    """
    prefix = f"{path}." if path else ""
    found = [key for key in TARGETS if key in written]
    if not found:
        raise InvalidManifestError(
            "it does not say what to do: give it one of http, task and command", field=path or TASK
        )
    if len(found) > 1:
        raise InvalidManifestError(
            f"{' and '.join(found)} both say what to do: keep one of them", field=prefix + found[1]
        )
    key = found[0]
    if ARGS in written and key != TASK:
        raise InvalidManifestError(f"args go with `task`; {key} has all that it needs in itself", field=prefix + ARGS)
    for part in (key, ARGS):
        _refuse_templates(written.get(part), prefix + part)
    if key == TASK:
        name = _task(written[key], prefix + key, context)
        args = _args(written.get(ARGS, {}), prefix + ARGS, context.max_payload)
        _refuse_unfit(args, (context.checks.tasks or {}).get(name), prefix)
        return Target(name, args)
    if key != HTTP and isinstance(written[key], str):
        raise wrong(
            written[key], "a list, like [/bin/echo, hi], or {shell: 'echo hi'} for a line of a shell", prefix + key
        )
    check = context.checks.http if key == HTTP else context.checks.command
    return Target(HTTP_TASK if key == HTTP else COMMAND_TASK, check(written[key], field=prefix + key))


def _task(value: object, field: str, context: ManifestContext) -> str:
    name = read_text(value, field, "the name of a task, like reports.nightly")
    if name in (HTTP_TASK, COMMAND_TASK):
        raise InvalidManifestError(f"{name} is no task to call by name: write what to do under `{name}:`", field=field)
    known = context.checks.tasks
    if known is not None and name not in known:
        meant = nearest(name, sorted(known))
        way_out = f"did you mean {meant}?" if meant else "is its module imported by the app?"
        raise TaskUnknownError(f"no task {name!r} is registered here: {way_out}", field=field)
    return name


def _args(value: object, field: str, most: int) -> str:
    if not isinstance(value, dict):
        raise wrong(value, "a mapping of names to values", field)
    return encode(value, field=field, max_bytes=most)


def _refuse_unfit(args: str, task: Task[..., object] | None, prefix: str) -> None:
    """The task's function, where it is known here, must be able to take them."""
    if task is not None:
        try:
            task.signature.read(args)
        except InvalidPayloadError as error:
            raise InvalidPayloadError(error.message, hint=error.hint, field=f"{prefix}{error.field}") from None


def _refuse_templates(value: object, field: str) -> None:
    for text, place in _texts(value, field):
        found = _TEMPLATE.search(text)
        if found is not None:
            raise InvalidManifestError(
                f"{found[0][:60]} is not filled in by this release yet: write the value itself", field=place
            )


def _texts(value: object, field: str) -> Iterator[tuple[str, str]]:
    """Every text in a tree, with its dotted path."""
    if isinstance(value, str):
        yield value, field
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _texts(item, f"{field}[{place}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item, f"{field}.{key}")
