"""Rows of PostgreSQL's history, written as they are, and what its partitions are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import asyncpg

from puntual.model.ids import run_id
from puntual.testing.conformance.build import DAY, NOW, tick

if TYPE_CHECKING:
    from asyncpg import Record

_INSERT = """
INSERT INTO puntual.run_history (
    id, task, args, queue, priority, state, origin, schedule_id, schedule, tick_at, tick_number, due_at, claim_at,
    created_at, started_at, finished_at, attempt, max_attempts, released, interrupted, lost, cancel_requested, tags,
    policy, attempts, expires_on
)
SELECT
    id, 'task', '{}', 'default', 2, state, 'tick', 'id of ' || schedule, schedule, tick_at, number, tick_at, tick_at,
    tick_at, CASE WHEN state <> 'cancelled' THEN tick_at END, tick_at, 1, 5, 0, 0, 0, false, '[]', '{}', '[]', day
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::integer[])
AS given (id, state, schedule, number, tick_at, day)
"""
_RESPONSES = """
INSERT INTO puntual.attempt_responses (run_id, attempt, body, headers, truncated, expires_on)
SELECT id, 1, 'x', '[]', 0, day FROM unnest($1::uuid[], $2::integer[]) AS given (id, day)
"""


def day_of(instant: int) -> int:
    """Days since 1970."""
    return instant // DAY


async def add_ended(
    connection: asyncpg.Connection[Record],
    day: int,
    numbers: Sequence[int],
    *,
    schedule: str = "a",
    state: str = "succeeded",
) -> None:
    """Ticks whose runs are over, each with an answer kept, which may go on that day."""
    salt = f"{day} {schedule}".encode()
    ids = [run_id(NOW, number.to_bytes(3) + salt.rjust(16)[-7:]) for number in numbers]
    some = len(numbers)
    ticks = [tick(number) for number in numbers]
    await connection.execute(_INSERT, ids, [state] * some, [schedule] * some, list(numbers), ticks, [day] * some)
    await connection.execute(_RESPONSES, ids, [day] * some)


async def partitions(connection: asyncpg.Connection[Record], table: str = "run_history") -> list[str]:
    """The names of a table's partitions."""
    rows = await connection.fetch(
        "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = $1::text::regclass ORDER BY 1",
        f"puntual.{table}",
    )
    return [name.removeprefix("puntual.") for (name,) in rows]


async def stretches(connection: asyncpg.Connection[Record]) -> list[tuple[str, int, int, str]]:
    """All that is folded: schedule, first number, count, fate."""
    rows = await connection.fetch("SELECT schedule, number, count, fate FROM puntual.tick_stretches ORDER BY 1, 2")
    return [tuple(row) for row in rows]


async def put_stretches(connection: asyncpg.Connection[Record], *given: tuple[str, int, int, str]) -> None:
    """Stretches as they would have been folded: schedule, first number, count, fate."""
    for schedule, number, count, fate in given:
        await connection.execute(
            "INSERT INTO puntual.tick_stretches VALUES ($1, $2, $3, $4, $5, $6, false, $7, $8)",
            f"id of {schedule}",
            number,
            schedule,
            tick(number),
            tick(number + count - 1),
            count,
            fate,
            "cancelled" if fate == "skipped" else None,
        )
