"""What somebody who asks for work should know at once: nobody is there to do it, or nobody knows the task."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from puntual.app import App
from puntual.model.fleet import Worker
from puntual.model.instant import format_instant
from puntual.model.run import COMMAND_TASK, HTTP_TASK
from puntual.model.schedule import Pause
from puntual.operations.local import living

#: What was read of the fleet is good for this long, in seconds: warnings must cost an enqueue nothing.
_FRESH: Final = 1.0


#: Whoever says all of these asks nothing of the task's own options that would be missed.
OWN_OPTIONS: Final = ("queue", "max_attempts", "timeout")


class _Seen(msgspec.Struct, frozen=True, kw_only=True):
    at: float
    alive: bool
    tasks: frozenset[str]
    pause: Pause | None


class Warnings:
    """The warnings that replies carry, from a look at the fleet that is at most a second old."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._seen: _Seen | None = None

    def forget(self) -> None:
        """Something was changed here: look again."""
        self._seen = None

    async def of_fleet(self) -> list[str]:
        """Nobody works, or everything is paused."""
        seen = await self._look()
        found = [] if seen.alive else ["no worker is alive: puntual worker or puntual serve starts one"]
        return found if seen.pause is None else [*found, _paused(seen.pause)]

    async def of_task(self, task: str) -> str | None:
        """No living worker has the task; where none lives, the app here knows no such task, but one like it."""
        seen = await self._look()
        if task in seen.tasks:
            return None
        here = frozenset({HTTP_TASK, COMMAND_TASK, *self._app.registry.names()})
        meant = None if task in here else living.nearest(task, seen.tasks | here)
        if meant is None and not seen.alive:
            return None
        return f"no living worker has a task {task}" + (f"; the nearest is {meant}" if meant else "")

    async def of_tasks(self, tasks: Iterable[str]) -> list[str]:
        """All there is to say to somebody who asks for these tasks."""
        found = await self.of_fleet()
        for task in dict.fromkeys(tasks):
            text = await self.of_task(task)
            found += [] if text is None else [text]
        return found

    def of_policy(self, task: str) -> list[str]:
        """The task's own options stand in code that was not loaded here."""
        if task in (HTTP_TASK, COMMAND_TASK) or task in self._app.registry.names():
            return []
        unknown = f"the task {task} is not registered here, so its own queue, retries and timeout are not known"
        return [f"{unknown} and defaults apply: set PUNTUAL_APP=MODULE:APP, or say them"]

    async def _look(self) -> _Seen:
        steady = self._app.clock.steady()
        seen = self._seen
        if seen is None or not 0 <= steady - seen.at < _FRESH:
            store = self._app.store
            workers, pause, now = await store.list_workers(), await store.paused_all(), await store.now()
            self._seen = seen = _seen(steady, workers, pause if pause is not None and pause.active(now) else None, now)
        return seen


def _seen(at: float, workers: list[Worker], pause: Pause | None, now: int) -> _Seen:
    live = living.working(workers, now)
    return _Seen(at=at, alive=bool(live), tasks=frozenset(task for each in live for task in each.tasks), pause=pause)


def _paused(pause: Pause) -> str:
    reason = "" if pause.reason is None else f" ({pause.reason})"
    return (
        f"everything is paused until {'it is resumed' if pause.until is None else format_instant(pause.until)}{reason}"
    )
