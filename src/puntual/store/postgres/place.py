"""Where the database is and how it is reached: one URL, which may name several hosts."""

from __future__ import annotations

import asyncio
import re
import socket
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, unquote, urlsplit

import asyncpg
import msgspec
from asyncpg.connect_utils import SessionAttribute

from puntual.model.errors import StoreUnavailableError, StoreUnusableError
from puntual.store.postgres.errors import CAUGHT, refusal

if TYPE_CHECKING:
    from asyncpg import Record

#: Hot statements meet tables that were empty a minute ago: a plan made then must not read the whole table now, so each
#: row that is asked for is looked up by itself. And a node that froze inside a transaction must not keep its locks.
_DIRECT: Final = {
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
    "statement_timeout": "30s",
    "lock_timeout": "10s",
    "idle_in_transaction_session_timeout": "15s",
}
#: Seconds: to connect to the one host, or to each of several; for an answer, a little longer than the server tries.
_TO_CONNECT: Final = 10.0
_TO_CONNECT_EACH: Final = 5.0
ANSWER: Final = 35.0
#: A line that is dead is found out after about 25 s: nothing comes for 10 s, then three probes go unanswered.
_KEEPALIVE: Final = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 25_000}
OLDEST: Final = 14
#: Of a URL with several hosts the next is tried after these.
_NEXT_HOST: Final = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.TargetServerAttributeNotMatched,
)


class Place(msgspec.Struct, frozen=True):
    """A checked URL and what lies between us and the server.

    ``pooler`` says that a transaction pooler does: nothing that outlives a transaction may be kept on a connection.
    ``most`` is how many connections one process makes for its operations.
    """

    url: str
    pooler: bool = False
    most: int = 10

    def __repr__(self) -> str:
        """Without the password."""
        return f"Place({self.name!r} at {self.where!r}, pooler={self.pooler})"

    @property
    def hosts(self) -> tuple[str, ...]:
        """As the URL names them, with their ports; none where it leaves that to the environment."""
        named = urlsplit(self.url).netloc.rpartition("@")[2]
        return tuple(named.split(",")) if named else ()

    @property
    def where(self) -> str:
        """The hosts, in words."""
        return ", ".join(map(unquote, self.hosts)) or "its socket"

    @property
    def name(self) -> str:
        """Of the database."""
        parts = urlsplit(self.url)
        return unquote(parts.path.strip("/")) or parse_qs(parts.query).get("dbname", ["?"])[-1]

    async def connect(self, *, patience: float | None = None, answer: float = ANSWER) -> asyncpg.Connection[Record]:
        """Makes a connection, to the first host that can be written to.

        Args:
            patience: seconds that each host may take to let us in; None for what suits their number.
            answer: seconds to wait for the answer to any statement.

        Raises:
            StoreUnavailableError: none of them can now; it will pass.
            StoreUnusableError: the URL, the role, the database or the server is not one we can work with.
        """
        refusals = []
        hosts = self.hosts
        patience = patience or (_TO_CONNECT_EACH if len(hosts) > 1 else _TO_CONNECT)
        for host in hosts or ("",):
            shown = unquote(host) or self.where
            try:
                connection = await self._connect_to(host, answer, patience)
            except _NEXT_HOST as error:
                refusals.append(refusal(error, host=shown, name=self.name))
            except CAUGHT as error:
                raise refusal(error, host=shown, name=self.name) from error
            else:
                self._check(connection)
                return connection
        if len(refusals) == 1:
            raise refusals[0]
        unusable = [found for found in refusals if isinstance(found, StoreUnusableError)]
        raise unusable[0] if unusable else StoreUnavailableError(" ".join(found.message for found in refusals))

    async def _connect_to(self, host: str, answer: float, patience: float) -> asyncpg.Connection[Record]:
        name, port = _host_and_port(host)
        named = "application_name" in parse_qs(urlsplit(self.url).query)
        connection = await asyncpg.connect(
            self.url,
            host=name,
            port=port,
            timeout=patience,
            command_timeout=answer,
            statement_cache_size=0 if self.pooler else 200,
            target_session_attrs=SessionAttribute.read_write,
            server_settings={
                **({} if named else {"application_name": "puntual"}),
                **({} if self.pooler else _DIRECT),
            },
        )
        _keep_alive(connection)
        return connection

    def _check(self, connection: asyncpg.Connection[Record]) -> None:
        version = connection.get_server_version().major
        encoding = connection.get_settings().server_encoding
        wrong = None
        if version < OLDEST:
            wrong = f"PostgreSQL at {self.where} is version {version}: puntual needs {OLDEST} or newer."
        elif encoding != "UTF8":
            remedy = f"createdb --encoding UTF8 --template template0 {self.name}"
            wrong = f"The database {self.name} is in {encoding}: puntual needs one that `{remedy}` makes."
        if wrong is not None:
            connection.terminate()
            raise StoreUnusableError(wrong)


def _host_and_port(host: str) -> tuple[str | None, int | None]:
    """The parts of a host as a URL names it; None leaves it to the environment."""
    if not host:
        return None, None
    found = re.fullmatch(r"\[(?P<six>[^\]]+)\](?::(?P<port6>\d+))?|(?P<name>[^:]*)(?::(?P<port>\d+))?", host)
    assert found is not None, "the settings have checked it"
    port = found["port6"] or found["port"]
    return unquote(found["six"] or found["name"]), int(port) if port else None


def _keep_alive(connection: asyncpg.Connection[Record]) -> None:
    """Lets the system find out that the other end is gone, which may never answer to what was sent."""
    # asyncpg has no public way to its socket.
    transport: asyncio.BaseTransport = connection._transport  # type: ignore[attr-defined]  # noqa: SLF001 - as above
    line = transport.get_extra_info("socket")
    if line is None or line.family not in (socket.AF_INET, socket.AF_INET6):
        return
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        # Not every system has all of them.
        if (option := getattr(socket, name, None)) is not None:
            line.setsockopt(socket.IPPROTO_TCP, option, value)
