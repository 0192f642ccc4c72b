"""A body that asks for a run becomes a ``NewRun``, checked as far as this process can."""

from __future__ import annotations

from typing import Final, cast

from puntual.app import App
from puntual.model import payload
from puntual.model.call import Call, CallKeywords, CallOptions, check_name
from puntual.model.errors import ConflictError, InvalidError, TaskUnknownError
from puntual.model.ids import check_run_id
from puntual.model.instant import SECOND
from puntual.model.policy import RetryPolicy, RunPolicy
from puntual.model.run import COMMAND_TASK, HTTP_TASK, NewRun, Run
from puntual.model.task import Task
from puntual.operations.bodies import EnqueueBody

_HTTP: Final = CallOptions(policy=RunPolicy(timeout_us=30 * SECOND))
_COMMAND: Final = CallOptions(policy=RunPolicy(retry=RetryPolicy(max_attempts=1)))
_PLAIN: Final = CallOptions()
_CHANGES: Final = ("queue", "delay", "at", "priority", "unique_key", "tags", "max_attempts", "timeout")


def new_run(app: App, body: EnqueueBody, fresh_id: str) -> NewRun:
    """The run to insert, under the id that the body asks for, or the fresh one.

    A task that is not registered here is taken as it is: a worker elsewhere may know it. One that is has its own
    options, and its arguments must fit its function.

    Raises:
        InvalidError: something cannot be used; ``field`` names it.
    """
    task = _registered(app, body.task)
    changes = {name: value for name in _CHANGES if (value := getattr(body, name)) is not None}
    options = _options(body.task, task)
    if changes:
        options = options.changed(cast("CallKeywords", changes))
    run_id = fresh_id if body.id is None else check_run_id(body.id)
    return Call(body.task, _args(app, body.task, task, body.args), options).new_run(run_id)


def check_args(app: App, name: str, args: dict[str, object]) -> str:
    """The arguments as JSON text, if the task takes them.

    Raises:
        InvalidError: they cannot be used; ``field`` begins with ``args``.
    """
    return _args(app, name, _registered(app, name), args)


def _args(app: App, name: str, task: Task[..., object] | None, args: dict[str, object]) -> str:
    context = app.context() if name in (HTTP_TASK, COMMAND_TASK) else None
    if context is not None:
        check = context.checks.http if name == HTTP_TASK else context.checks.command
        text = check(args, field="args")
        return payload.sized(text.encode(), field="args", max_bytes=app.settings.max_payload)
    text = payload.encode(args, field="args", max_bytes=app.settings.max_payload)
    if task is not None:
        task.signature.read(text)
    return text


def refuse_another(row: Run, new: NewRun) -> None:
    """A repeat asks for the same thing.

    Raises:
        ConflictError: the run that stands under the id is of another task, has other arguments or another origin.
    """
    what = _difference(row, new)
    if what is not None:
        raise ConflictError(f"Run {row.id} stands already, with another {what}: nothing was changed.", field="id")


def _difference(row: Run, new: NewRun) -> str | None:
    if row.task != new.task:
        return "task"
    if row.args != new.args and payload.digest(row.args) != payload.digest(new.args):
        return "set of arguments"
    if row.origin is not new.origin:
        return "origin"
    return None if row.schedule == new.schedule or new.schedule is None else "schedule"


def _registered(app: App, name: str) -> Task[..., object] | None:
    if name in (HTTP_TASK, COMMAND_TASK):
        return None
    try:
        return app.registry.get(name)
    except TaskUnknownError:
        check_name(name, field="task")
        if name.startswith("_"):
            raise InvalidError(f"task is {name!r}; names that begin with _ are puntual's own.", field="task") from None
        return None


def _options(name: str, task: Task[..., object] | None) -> CallOptions:
    if task is not None:
        return task.defaults
    return {HTTP_TASK: _HTTP, COMMAND_TASK: _COMMAND}.get(name, _PLAIN)


def by_place(error: InvalidError, place: int) -> InvalidError:
    """The same error, of one body in a list."""
    field = f"runs.{place}" + (f".{error.field}" if error.field else "")
    return type(error)(f"Run {place + 1} of the list: {error.message}", hint=error.hint, field=field)
