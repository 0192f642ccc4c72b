"""Counts what the PostgreSQL connections of this process execute."""

from __future__ import annotations

from typing import Any

from asyncpg.connection import Connection


class PostgresStatements:
    """All statements, and the transactions among them, once it is told to begin.

    asyncpg has one way down for statements with answers and one for those without: both are watched. A statement
    outside ``BEGIN`` and ``COMMIT`` is a transaction of its own.
    """

    def __init__(self) -> None:
        self.all = 0
        self.commits = 0
        self._counting = False
        watched: Any = Connection  # There is no public place to count at.
        answered, executed = watched._execute, watched.execute  # noqa: SLF001 - as above

        async def answer(connection: Any, query: str, *rest: Any, **options: Any) -> Any:  # noqa: ANN401 - asyncpg's
            self._note(connection, query)
            return await answered(connection, query, *rest, **options)

        async def execute(connection: Any, query: str, *rest: Any, **options: Any) -> Any:  # noqa: ANN401 - asyncpg's
            if not rest:
                self._note(connection, query)
            return await executed(connection, query, *rest, **options)

        watched._execute, watched.execute = answer, execute  # noqa: SLF001 - as above

    def begin(self) -> None:
        """Counts from now on."""
        self._counting = True

    def _note(self, connection: Any, query: str) -> None:  # noqa: ANN401 - asyncpg's
        if self._counting:
            self.all += 1
            alone = not (connection.is_in_transaction() or query.startswith("BEGIN"))
            self.commits += alone or query.startswith("COMMIT")
