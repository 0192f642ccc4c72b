"""What only the next release knows of a row in a file is kept by this one."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from tests.support.more import Ask, StaysWhole


@pytest.fixture
def ask(path: str) -> Ask:
    """A hand in the file."""

    async def ask(statement: str) -> list[str]:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            return [text for (text,) in connection.execute(statement)]

    return ask


class TestNextRelease(StaysWhole):
    """On SQLite."""
