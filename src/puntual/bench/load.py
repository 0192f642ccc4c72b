"""The app that is measured with: one task that does nothing, which leaves only our own work to be seen."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any, Final, TypeAlias

from puntual.app import App
from puntual.model.call import Call
from puntual.model.handle import Run
from puntual.model.run import NewRun
from puntual.model.task import Task

NOOP: Final = "bench.noop"
Noop: TypeAlias = Task[..., Coroutine[Any, Any, None]]


async def nothing(i: int) -> None:
    """Does nothing, with one argument."""


async def nothing_at_all(runs: list[Run]) -> None:
    """Does nothing for all of them."""


def add_noop(app: App) -> Noop:
    """Registers the task that does nothing."""
    return app.task(name=NOOP)(nothing)


def add_many(app: App) -> Noop:
    """Registers the task that does nothing for many runs at once."""
    return app.task(name=NOOP, batch=2_000)(nothing_at_all)


def calls(task: Noop, count: int) -> list[Call]:
    """That many calls, each with an argument of its own."""
    return [task.call(i=i) for i in range(count)]


def new_runs(app: App, task: Noop, count: int) -> Sequence[NewRun]:
    """That many runs, not inserted yet."""
    core = app.core
    made = calls(task, count)
    return [call.new_run(id) for id, call in zip(core.new_run_ids(count), made, strict=True)]


#: For ``--app puntual.bench.load:app``.
app: Final = App()
add_noop(app)
