"""What only the next release knows of a row on PostgreSQL is kept by this one."""

from __future__ import annotations

import asyncpg
import pytest

from tests.support.more import Ask, StaysWhole


@pytest.fixture
def ask(url: str) -> Ask:
    """A hand in the database."""

    async def ask(statement: str) -> list[str]:
        connection = await asyncpg.connect(url, server_settings={"search_path": "puntual"})
        try:
            return [text for (text,) in await connection.fetch(statement)]
        finally:
            await connection.close()

    return ask


class TestNextRelease(StaysWhole):
    """On PostgreSQL."""
