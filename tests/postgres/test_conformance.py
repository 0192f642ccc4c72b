"""PostgreSQL passes the whole suite."""

from __future__ import annotations

import pytest

from puntual.model.errors import StoreUnusableError
from puntual.store.contract import Store
from puntual.testing.conformance import *  # noqa: F403 - every class that the suite has, those to come too


class TestBackup:  # type: ignore[no-redef]  # the suite's own is for stores that make copies
    """Copies are not ours to make here, so the suite's own tests of them are left out."""

    async def test_it_is_left_to_the_servers_tools(self, store: Store) -> None:
        """The error names the tool."""
        with pytest.raises(StoreUnusableError, match="pg_dump"):
            await store.backup("copy.db")
