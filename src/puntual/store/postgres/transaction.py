"""What an operation is given: a connection, the store's time, and how long history is kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from puntual.store.postgres.statements import sql
from puntual.store.requests import Retention

if TYPE_CHECKING:
    from asyncpg import Record

    from puntual.store.postgres.pool import Connection


class Tx:
    """One operation on one connection.

    Args:
        connection: inside a transaction, or, for operations of a single statement, outside any.
        retention: how long what is over is kept.
        given: the time to go by, microseconds; None for the database's clock.
        now: the time of this operation, as far as it was read already; 0 in operations of a single statement.
    """

    def __init__(self, connection: Connection, retention: Retention, *, given: int | None, now: int) -> None:
        self.connection = connection
        self.retention = retention
        self.given = given
        self.now = now

    async def value(self, name: str, *parameters: object) -> Any:  # noqa: ANN401 - whatever the statement selects
        """The one value that a statement gives back, None when there is no row."""
        return await self.connection.fetchval(sql(name), *parameters)

    async def text(self, name: str, *parameters: object) -> str:
        """The one text that a statement gives back."""
        return str(await self.value(name, *parameters))

    async def row(self, name: str, *parameters: object) -> Record | None:
        """The one row that a statement gives back."""
        return await self.connection.fetchrow(sql(name), *parameters)

    async def rows(self, name: str, *parameters: object) -> list[Record]:
        """All rows that a statement gives back."""
        return await self.connection.fetch(sql(name), *parameters)

    async def change(self, name: str, *parameters: object) -> int:
        """Writes, and gives back how many rows."""
        return affected(await self.connection.execute(sql(name), *parameters))

    async def execute(self, statement: str, parameters: Sequence[object]) -> Any:  # noqa: ANN401 - as ``value``
        """As ``value``, for a statement that was put together from our own texts."""
        return await self.connection.fetchval(statement, *parameters)

    @asynccontextmanager
    async def part(self) -> AsyncIterator[None]:
        """What is done inside is undone by whatever exception leaves it, and nothing else is; parts may nest."""
        async with self.connection.transaction():
            yield


def affected(tag: str) -> int:
    """How many rows a command says that it wrote: its tag ends with the number."""
    number = tag.rpartition(" ")[2]
    return int(number) if number.isdigit() else 0
