"""Where the database is and how it is reached: one URL, which may name several hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import asyncpg
import msgspec

if TYPE_CHECKING:
    from asyncpg import Record
    from asyncpg.pool import Pool

#: Hot statements meet tables that were empty a minute ago: a plan made then must not read the whole table now.
_DIRECT = {
    "enable_seqscan": "off",
    "jit": "off",
    "statement_timeout": "60s",
    "idle_in_transaction_session_timeout": "60s",
}


class Place(msgspec.Struct, frozen=True):
    """A checked URL and what lies between us and the server.

    ``pooler`` says that a transaction pooler does: nothing that outlives a transaction may be kept on a connection.
    """

    url: str
    pooler: bool = False
    most: int = 10

    async def make_pool(self) -> Pool[Record]:
        """Connects; of several hosts to the one that can be written to."""
        return await asyncpg.create_pool(
            self.url,
            min_size=1,
            max_size=self.most,
            timeout=10,
            command_timeout=60,
            statement_cache_size=0 if self.pooler else 200,
            target_session_attrs="read-write",
            server_settings={"application_name": "puntual", **({} if self.pooler else _DIRECT)},
            reset=_keep,
        )


async def _keep(connection: object) -> None:
    """Nothing to reset: no operation leaves anything on a connection, and asking would cost a round trip for each."""
