from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import pytest

from puntual.model.call import Call
from puntual.model.errors import InvalidError
from puntual.model.run import Run as RunRow
from puntual.model.task import TaskRegistry

T = TypeVar("T")


class Recorder:
    """A client that only remembers, and is what joins a transaction too."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, object, Call]] = []
        self.connection: object = None

    async def enqueue_calls(self, calls: Sequence[Call]) -> Sequence[str]:
        """As if they had been inserted."""
        self.asked += [("await", self.connection, call) for call in calls]
        return ["run"] * len(calls)

    def enqueue_calls_sync(self, calls: Sequence[Call]) -> Sequence[str]:
        """As if they had been inserted on this thread."""
        self.asked += [("sync", self.connection, call) for call in calls]
        return ["run"] * len(calls)

    def joined(self, connection: object) -> Recorder:
        """The same, with the connection."""
        self.connection = connection
        return self

    async def finished(self, run_id: str, *, timeout: str | None) -> RunRow:
        """Nobody waits here."""
        raise NotImplementedError

    def _block(self, work: Coroutine[Any, Any, T]) -> T:
        raise NotImplementedError


def note(text: str) -> None:
    """Takes a text."""


async def test_a_connection_is_the_clients_affair() -> None:
    """Calls go through what joins its transaction: awaited, or on the caller's own thread."""
    registry, client, mine = TaskRegistry(), Recorder(), object()
    registry.connect(client)
    task = registry.task(note)
    joined = task.options(connection=mine, queue="mail")
    call = task.options(queue="mail").call("x")
    assert (await joined.enqueue("x")).id == "run"
    assert joined.enqueue_sync("x").id == "run"
    assert client.asked == [("await", mine, call), ("sync", mine, call)]


async def test_further_options_keep_the_connection() -> None:
    """A run that was meant for a transaction must not slip out of it unseen."""
    registry, client, mine = TaskRegistry(), Recorder(), object()
    registry.connect(client)
    joined = registry.task(note).options(connection=mine)
    await joined.options(queue="mail").enqueue("x")
    assert [(connection, call.options.queue) for _, connection, call in client.asked] == [(mine, "mail")]
    assert joined.options(connection=None).call("x").task == joined.name


async def test_the_task_itself_has_none() -> None:
    """Options are of what they return; without a connection nothing is joined."""
    registry, client = TaskRegistry(), Recorder()
    registry.connect(client)
    task = registry.task(note)
    task.options(connection=object())
    await task.enqueue("x")
    await task.options(connection=None).enqueue("x")
    assert [connection for _, connection, _ in client.asked] == [None, None]


def test_a_call_carries_no_connection() -> None:
    """It is a value, which may be enqueued anywhere."""
    with pytest.raises(InvalidError, match=r"give it to enqueue_many\(calls, connection=...\)"):
        TaskRegistry().task(note).options(connection=object()).call("x")
