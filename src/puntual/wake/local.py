"""Hints within one process: they call whoever waits, at once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import asynccontextmanager
from functools import partial

from puntual.wake.contract import ANY_QUEUE

_Callbacks = list[Callable[[], None]]


class LocalWake:
    """The wake of a single process. Other processes on the same database find the work by polling."""

    #: What is heard here, is.
    trouble: str | None = None

    def __init__(self) -> None:
        self._runs: list[tuple[frozenset[str] | None, Callable[[], None]]] = []
        self._schedules: _Callbacks = []
        self._cancels: _Callbacks = []

    def hint(self, queues: Iterable[str]) -> None:
        """Wakes the claimers of these queues."""
        named = set(queues)
        if not named:
            return
        for served, callback in self._runs:
            if served is None or ANY_QUEUE in named or not named.isdisjoint(served):
                callback()

    def hint_planner(self) -> None:
        """Wakes the planners."""
        _call(self._schedules)

    def hint_cancels(self) -> None:
        """Lets the workers ask what is to be stopped."""
        _call(self._cancels)

    def subscribe(
        self,
        *,
        queues: Collection[str] | None = None,
        runs: Callable[[], None] | None = None,
        schedules: Callable[[], None] | None = None,
        cancels: Callable[[], None] | None = None,
    ) -> Callable[[], None]:
        """Adds callbacks, and gives what takes them away again."""
        taken: list[Callable[[], None]] = []
        if runs is not None:
            entry = (None if queues is None else frozenset(queues), runs)
            self._runs.append(entry)
            taken.append(partial(self._runs.remove, entry))
        for callbacks, callback in ((self._schedules, schedules), (self._cancels, cancels)):
            if callback is not None:
                callbacks.append(callback)
                taken.append(partial(callbacks.remove, callback))

        def leave() -> None:
            while taken:
                taken.pop()()

        return leave

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """There is nobody else to hear."""
        yield

    async def close(self) -> None:
        """There is nothing to send."""


def _call(callbacks: _Callbacks) -> None:
    for callback in callbacks:
        callback()
