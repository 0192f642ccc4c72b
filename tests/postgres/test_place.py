from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import asyncpg
import pytest

from puntual.model.errors import PuntualError, StoreUnavailableError, StoreUnusableError
from puntual.store.postgres import Place
from tests.support.databases import server
from tests.support.postgres import free_port


async def refused(place: Place, *, patience: float | None = None) -> PuntualError:
    """The error that connecting ends with."""
    with pytest.raises(PuntualError) as caught:
        await place.connect(patience=patience)
    return caught.value


@asynccontextmanager
async def answering(code: str, text: str) -> AsyncIterator[int]:
    """The port of a server that lets nobody in, for the reason of that SQLSTATE."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        length = int.from_bytes(await reader.readexactly(4), "big")
        if (await reader.readexactly(length - 4)).startswith(b"\x04\xd2\x16\x2f"):  # It asks for TLS.
            writer.write(b"N")
            length = int.from_bytes(await reader.readexactly(4), "big")
            await reader.readexactly(length - 4)
        fields = b"".join(
            kind + value.encode() + b"\0" for kind, value in ((b"S", "FATAL"), (b"C", code), (b"M", text))
        )
        writer.write(b"E" + (len(fields) + 5).to_bytes(4, "big") + fields + b"\0")
        with suppress(ConnectionError):
            await writer.drain()
        writer.close()

    listener = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()
        await listener.wait_closed()


class TestWords:
    def test_a_place_is_shown_without_its_password(self) -> None:
        """Whoever logs or prints one shows where it is, and not how to get in."""
        place = Place("postgresql://ana:hunter2@a:1,b:2/jobs?sslpassword=hunter2")
        assert "hunter2" not in f"{place} {place!r}"
        assert (place.hosts, place.name) == (("a:1", "b:2"), "jobs")

    def test_a_database_may_be_named_among_the_options(self) -> None:
        """And what stands in a URL is taken as what it means."""
        assert Place("postgresql://a/my%20jobs").name == "my jobs"
        assert Place("postgresql:///?dbname=jobs&host=/run/postgresql").name == "jobs"
        assert Place("postgresql:///?dbname=jobs").hosts == ()


class TestConnecting:
    async def test_the_line_finds_out_that_the_other_end_is_gone(self, url: str) -> None:
        """Keepalives are on, and what was sent and not acknowledged ends the connection."""
        connection = await Place(url).connect()
        try:
            line = connection._transport.get_extra_info("socket")  # type: ignore[attr-defined]  # not public
            assert line.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            assert line.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 25_000
        finally:
            await connection.close()

    async def test_of_several_hosts_the_first_that_works_is_taken(self, url: str) -> None:
        """One that refuses, and one that is starting up, are passed over."""
        async with answering("57P03", "the database system is starting up") as port:
            hosts = f"postgres@127.0.0.1:{free_port()},127.0.0.1:{port},"
            connection = await Place(url.replace("postgres@", hosts)).connect()
            try:
                assert await connection.fetchval("SELECT 1") == 1
            finally:
                await connection.close()

    async def test_the_name_of_the_program_can_be_given(self, url: str) -> None:
        """What a URL says of it stands."""
        for given, expected in (("", "puntual"), ("?application_name=mine", "mine")):
            connection = await Place(url + given).connect()
            try:
                assert await connection.fetchval("SHOW application_name") == expected
            finally:
                await connection.close()


class TestRefusals:
    async def test_a_missing_database_names_what_makes_one(self, url: str) -> None:
        """With its name and host."""
        error = await refused(Place(url + "_nowhere"))
        assert isinstance(error, StoreUnusableError)
        name = url.rpartition("/")[2] + "_nowhere"
        assert f"There is no database {name} at 127.0.0.1" in error.message
        assert f"`createdb {name}`" in error.message

    @pytest.mark.parametrize(
        ("code", "text", "expected"),
        [
            ("57P03", "the database system is starting up", "is starting up or shutting down"),
            ("53300", "sorry, too many clients already", "has no connection left"),
        ],
    )
    async def test_what_passes_is_unavailable(self, code: str, text: str, expected: str) -> None:
        """A server that is starting up, or full, may be asked again."""
        async with answering(code, text) as port:
            error = await refused(Place(f"postgresql://ana:hunter2@127.0.0.1:{port}/jobs"))
        assert isinstance(error, StoreUnavailableError)
        assert expected in error.message
        assert text in error.message

    @pytest.mark.parametrize(
        ("code", "text", "expected"),
        [
            ("28P01", 'password authentication failed for user "ana"', "check its user and password"),
            ("28000", 'no pg_hba.conf entry for host "127.0.0.1"', "check its user and password"),
            ("42501", 'permission denied for database "jobs"', "grant it CONNECT"),
            ("08P01", "unsupported startup parameter: jit", "set POOLER=transaction"),
        ],
    )
    async def test_what_stays_is_unusable(self, code: str, text: str, expected: str) -> None:
        """A wrong password, a missing right and a pooler need somebody to change something."""
        async with answering(code, text) as port:
            error = await refused(Place(f"postgresql://ana:hunter2@127.0.0.1:{port}/jobs"))
        assert isinstance(error, StoreUnusableError)
        assert expected in error.message
        assert text in error.message
        assert "hunter2" not in error.message

    async def test_a_server_that_asks_for_a_password_and_gets_none_says_so(self) -> None:
        """The sentence is that of a wrong one."""
        at = server()
        await asyncio.to_thread(at.execute, "CREATE ROLE locked LOGIN PASSWORD 'hunter2'")
        rules = at.data / "pg_hba.conf"
        before = rules.read_text()
        try:
            rules.write_text("host all locked 127.0.0.1/32 scram-sha-256\n" + before)
            await asyncio.to_thread(at.execute, "SELECT pg_reload_conf()")
            for who in ("locked", "locked:wrong"):
                error = await refused(Place(at.url().replace("postgres@", f"{who}@")))
                assert isinstance(error, StoreUnusableError)
                assert "check its user and password" in error.message
        finally:
            rules.write_text(before)
            await asyncio.to_thread(at.execute, "SELECT pg_reload_conf()")
            await asyncio.to_thread(at.execute, "DROP ROLE locked")

    async def test_a_host_where_nobody_listens_is_unavailable(self) -> None:
        """The sentence has its address."""
        port = free_port()
        error = await refused(Place(f"postgresql://ana:hunter2@127.0.0.1:{port}/jobs"))
        assert isinstance(error, StoreUnavailableError)
        assert f"PostgreSQL at 127.0.0.1:{port} cannot be reached" in error.message
        assert "hunter2" not in error.message

    async def test_a_host_that_does_not_answer_is_given_up(self) -> None:
        """A connection is not waited for any longer than was said."""
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]
            error = await refused(Place(f"postgresql://127.0.0.1:{port}/jobs"), patience=0.05)
        assert isinstance(error, StoreUnavailableError)
        assert "does not answer" in error.message

    async def test_of_several_hosts_each_says_why(self) -> None:
        """Whoever reads it sees which one to look at."""
        one = free_port()
        async with answering("57P03", "the database system is starting up") as two:
            error = await refused(Place(f"postgresql://127.0.0.1:{one},127.0.0.1:{two}/jobs"))
        assert isinstance(error, StoreUnavailableError)
        assert f"127.0.0.1:{one} cannot be reached" in error.message
        assert f"127.0.0.1:{two} is starting up" in error.message

    async def test_a_server_that_is_too_old_is_refused(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """With its version, and the oldest that will do."""
        old = asyncpg.ServerVersion(13, 11, 0, "final", 0)
        monkeypatch.setattr(asyncpg.Connection, "get_server_version", lambda _: old)
        error = await refused(Place(url))
        assert isinstance(error, StoreUnusableError)
        assert "is version 13: puntual needs 14 or newer" in error.message

    async def test_a_database_that_cannot_hold_every_letter_is_refused(self) -> None:
        """Another encoding than UTF-8 would refuse some names and arguments, and only later."""
        at = server()
        await asyncio.to_thread(
            at.execute, "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        )
        try:
            error = await refused(Place(at.url("latin")))
        finally:
            await asyncio.to_thread(at.execute, "DROP DATABASE latin WITH (FORCE)")
        assert isinstance(error, StoreUnusableError)
        assert "is in LATIN1" in error.message

    async def test_a_standby_says_that_it_is_one(self, url: str) -> None:
        """A database that can only be read is none to work with; a failover may make it one."""
        at, name = server(), url.rpartition("/")[2]
        await asyncio.to_thread(at.execute, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        error = await refused(Place(url))
        assert isinstance(error, StoreUnavailableError)
        assert "is a standby, or read-only" in error.message
