"""Where the databases of a benchmark are made, and what a database does there without anything of ours above it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from puntual.model.run import NewRun


class Bare(Protocol):
    """A new database, and the store's own statements for it, made beforehand: no Python for each run."""

    async def seconds(self, transactions: Sequence[Any]) -> float:
        """How long transactions take, one after another, each committed durably."""
        ...

    def enqueue(self, runs: Sequence[NewRun], batch: int) -> list[Any]:
        """The transactions that insert runs, that many in each."""
        ...

    def drain(self, runs: Sequence[NewRun], claimed: int, settled: int) -> list[Any]:
        """The transactions that claim and settle runs which were inserted into an empty database, so many at a time."""
        ...


class Home(AbstractAsyncContextManager["Home"], Protocol):
    """A kind of database, and where new ones are made; leaving it removes them."""

    @property
    def kind(self) -> str:
        """``sqlite`` or ``postgres``."""
        ...

    async def facts(self) -> dict[str, object]:
        """The machine and the database, as far as figures depend on them."""
        ...

    async def database(self) -> str:
        """The URL of a database that nobody has used yet; it goes with the home."""
        ...

    def bare(self) -> AbstractAsyncContextManager[Bare]:
        """A database for the floor."""
        ...

    async def add_future(self, url: str, count: int, now: int) -> None:
        """Adds pending runs that are not due while anything is measured, in one lane with those that are measured."""
        ...

    async def add_history(self, url: str, count: int, now: int) -> None:
        """Adds finished runs: ten queues, two tasks, one in a hundred dead."""
        ...
