"""The database of a simulated world: each operation happens at one instant, whole or not at all, on a real store."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from puntual.model.run import NewRun
from puntual.simulate.clocks import SimClock
from puntual.store.contract import Store
from puntual.store.requests import Beat, BeatReply, Enqueued, Retention
from puntual.store.sqlite import SqliteStore

T = TypeVar("T")
_RETENTION = Retention()
#: A file system in memory, where there is one and nobody says TMPDIR.
_MEMORY = "/dev/shm"  # noqa: S108 - a folder of an unguessable name is made in it


class Database(Protocol):
    """A real store that does one operation after another while time stands still."""

    clock: SimClock

    async def open(self) -> None:
        """Makes it, empty."""
        ...

    async def close(self) -> None:
        """Leaves nothing behind."""
        ...

    def do(self, operation: Callable[[Store], Coroutine[Any, Any, T]], *, who: str = "") -> T:
        """Does an operation now, for the process of this name."""
        ...

    def beat(self, beat: Beat) -> BeatReply:
        """Answers a heartbeat now."""
        ...

    def keep(self) -> None:
        """Remembers all that is committed now: a standby has received it."""
        ...

    def fail_over(self) -> None:
        """Goes back to what was kept: the standby is promoted, and what came later is lost."""
        ...


class OpenTransaction(Protocol):
    """A transaction of somebody's that stays open."""

    def end(self, *, commit: bool) -> list[Enqueued] | None:
        """Commits it, or rolls it back. Gives what was enqueued by it; None where nothing was, or it had gone."""
        ...


class Server(Database, Protocol):
    """A database of many connections, and what befalls only such a one."""

    def cut_next(self) -> None:
        """The connection of the next operation ends after its work, before its commit."""
        ...

    def begin_enqueue(self, runs: Sequence[NewRun]) -> OpenTransaction:
        """An application enqueues in a transaction of its own, which stays open."""
        ...

    def begin_claim(self, limit: int) -> OpenTransaction:
        """A claim takes up to so many pending runs, and has not committed."""
        ...

    def lose_days(self) -> bool:
        """No day of history has a place of its own; False where a transaction is in the way."""
        ...

    def lose_lane(self, queue: str) -> None:
        """Nobody has ever written the name of this queue."""
        ...

    def has_lane(self, queue: str) -> bool:
        """Whether claimers look at this queue."""
        ...


class SqliteDatabase:
    """SQLite in memory, driven inline."""

    def __init__(self, clock: SimClock) -> None:
        self.clock = clock
        self._store = self._of(":memory:")
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._kept = 0
        self._left: list[SqliteStore] = []

    async def open(self) -> None:
        """As ``Database.open``."""
        await self._store.open()

    async def close(self) -> None:
        """As ``Database.close``."""
        for store in (*self._left, self._store):
            await store.close()
        if self._folder is not None:
            self._folder.cleanup()

    def do(self, operation: Callable[[Store], Coroutine[Any, Any, T]], *, who: str = "") -> T:  # noqa: ARG002 - all share it
        """As ``Database.do``; an inline store never suspends."""
        return at_once(operation(self._store))

    def beat(self, beat: Beat) -> BeatReply:
        """As ``Database.beat``."""
        return self._store.heartbeat_line().beat(beat)

    def keep(self) -> None:
        """As ``Database.keep``."""
        self._folder = self._folder or tempfile.TemporaryDirectory(
            prefix="puntual-simulate-", dir=_MEMORY if "TMPDIR" not in os.environ and Path(_MEMORY).is_dir() else None
        )
        self._kept += 1
        self.do(lambda store: store.backup(self._standby()))

    def fail_over(self) -> None:
        """As ``Database.fail_over``."""
        self._left.append(self._store)
        self._store = self._of(self._standby())
        at_once(self._store.open())

    def _standby(self) -> str:
        assert self._folder is not None, "nothing was kept"
        return str(Path(self._folder.name) / f"{self._kept}.db")

    def _of(self, path: str) -> SqliteStore:
        return SqliteStore(path, clock=self.clock, retention=_RETENTION, inline=True)


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never suspends."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    work.close()
    raise RuntimeError("An operation on an inline store has suspended.")
