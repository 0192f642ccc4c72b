"""What a statement reads: its plan as PostgreSQL ran it, on connections that let it choose freely."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from puntual.store.postgres.statements import sql
from puntual.store.postgres.transaction import Tx

if TYPE_CHECKING:
    from asyncpg import Connection, Record


class Explained:
    """A plan that was run.

    ``indexes`` are those that it read; ``scanned`` the tables that it read from end to end; ``pages`` how many pages of
    8 KB it looked at.
    """

    def __init__(self, plan: dict[str, Any]) -> None:
        nodes = list(_nodes(plan))
        self.indexes = {str(node["Index Name"]) for node in nodes if "Index Name" in node}
        self.scanned = {str(node["Relation Name"]) for node in nodes if node["Node Type"] == "Seq Scan"}
        self.pages = int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"])


async def explain(connection: Connection[Record], statement: str, *parameters: object) -> Explained:
    """Runs a statement, takes back what it wrote, and tells what it read."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        text = await connection.fetchval(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", *parameters)
    finally:
        await transaction.rollback()
    (found,) = json.loads(text)
    return Explained(found["Plan"])


class Explaining(Tx):
    """Explains each statement before it is run."""

    plans: list[Explained]

    async def value(self, name: str, *parameters: object) -> Any:
        """As ``Tx.value``."""
        return await self.execute(sql(name), parameters)

    async def execute(self, statement: str, parameters: Any) -> Any:
        """As ``Tx.execute``."""
        self.plans = [*getattr(self, "plans", []), await explain(self.connection, statement, *parameters)]
        return await super().execute(statement, parameters)


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from _nodes(inner)
