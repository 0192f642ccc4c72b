from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import asyncpg
import pytest
from structlog.testing import capture_logs

from puntual.store.contract import Store
from puntual.store.postgres import Place, PostgresStore
from puntual.wake.postgres import PostgresWake
from puntual.wake.teller import Teller
from tests.support.databases import database, opened

Send = Callable[[Sequence[str]], Awaitable[None]]


@asynccontextmanager
async def waking(url: str, send: Send | None = None) -> AsyncIterator[PostgresWake]:
    """A wake on a store of its own, as another process has it."""
    async with opened(url) as store:
        wake = PostgresWake(send or store.notify, Place(url).connect)
        try:
            yield wake
        finally:
            await wake.close()


@pytest.fixture
async def here(url: str) -> AsyncIterator[PostgresWake]:
    """The wake of one process."""
    async with waking(url) as wake:
        yield wake


@pytest.fixture
async def there(url: str) -> AsyncIterator[PostgresWake]:
    """The wake of another process."""
    async with waking(url) as wake:
        yield wake


async def listens(wake: PostgresWake) -> None:
    """Returns when it does: whoever begins to listen wakes everybody."""
    woken = asyncio.Event()
    leave = wake.subscribe(cancels=woken.set)
    await woken.wait()
    leave()


async def cut(url: str) -> None:
    """Ends every connection that listens."""
    connection = await asyncpg.connect(url)
    await connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE query ILIKE 'LISTEN%' AND datname = current_database()"
    )
    await connection.close()


class TestAcross:
    async def test_each_kind_of_hint_reaches_another_process(self, here: PostgresWake, there: PostgresWake) -> None:
        """Runs of a queue, schedules, cancels."""
        async with there.listening():
            await listens(there)
            heard: asyncio.Queue[str] = asyncio.Queue()
            there.subscribe(
                queues=["mail"],
                runs=lambda: heard.put_nowait("runs"),
                schedules=lambda: heard.put_nowait("schedules"),
                cancels=lambda: heard.put_nowait("cancels"),
            )
            here.hint(["mail"])
            assert await heard.get() == "runs"
            here.hint_planner()
            assert await heard.get() == "schedules"
            here.hint_cancels()
            assert await heard.get() == "cancels"
            here.hint(["*"])
            assert await heard.get() == "runs"

    async def test_a_queue_that_is_not_served_wakes_nobody(self, here: PostgresWake, there: PostgresWake) -> None:
        """The next hint that is for this node comes first."""
        async with there.listening():
            await listens(there)
            heard: asyncio.Queue[str] = asyncio.Queue()
            there.subscribe(queues=["mail"], runs=lambda: heard.put_nowait("runs"))
            there.subscribe(schedules=lambda: heard.put_nowait("schedules"))
            here.hint(["other"])
            here.hint_planner()
            assert await heard.get() == "schedules"

    async def test_this_process_is_woken_at_once(self, here: PostgresWake) -> None:
        """Before anything is sent, and whether anybody listens or not."""
        woken: list[str] = []
        here.subscribe(
            runs=lambda: woken.append("runs"),
            schedules=lambda: woken.append("schedules"),
            cancels=lambda: woken.append("cancels"),
        )
        here.hint(["mail"])
        here.hint_planner()
        here.hint_cancels()
        here.hint([])
        assert woken == ["runs", "schedules", "cancels"]

    async def test_what_others_send_that_is_no_hint_is_left_alone(self, url: str, there: PostgresWake) -> None:
        """The channel is open to everybody who may connect."""
        async with there.listening():
            await listens(there)
            heard = asyncio.Event()
            there.subscribe(runs=heard.set)
            connection = await asyncpg.connect(url)
            for text in ("", "nonsense", "probe:1", "runs"):
                await connection.execute("SELECT pg_notify('puntual', $1::text)", text)
            assert not heard.is_set()
            await connection.execute("SELECT pg_notify('puntual', 'runs:mail')")
            await connection.close()
            await heard.wait()

    async def test_hints_in_a_callers_transaction_come_with_its_commit(self, url: str, there: PostgresWake) -> None:
        """And not at all when it is rolled back."""
        async with there.listening():
            await listens(there)
            heard: asyncio.Queue[str] = asyncio.Queue()
            there.subscribe(queues=["kept"], runs=lambda: heard.put_nowait("kept"))
            there.subscribe(queues=["undone"], runs=lambda: heard.put_nowait("undone"))
            connection = await asyncpg.connect(url)
            transaction = connection.transaction()
            await transaction.start()
            await connection.execute("SELECT pg_notify('puntual', 'runs:undone')")
            await transaction.rollback()
            await connection.execute("SELECT pg_notify('puntual', 'runs:kept')")
            await connection.close()
            assert await heard.get() == "kept"


class TestListener:
    async def test_a_connection_that_is_cut_is_made_anew_and_everybody_is_woken(
        self, url: str, here: PostgresWake, there: PostgresWake
    ) -> None:
        """What was said meanwhile is lost, so that all there is may be looked at."""
        async with there.listening():
            await listens(there)
            with capture_logs() as logs:
                woken = [asyncio.Event() for _ in range(3)]
                there.subscribe(runs=woken[0].set, schedules=woken[1].set, cancels=woken[2].set)
                await cut(url)
                for event in woken:
                    await event.wait()
            assert [entry["event"] for entry in logs] == ["hints.not_heard", "hints.heard_again"]
            assert there.trouble is None
            woken[0].clear()
            here.hint(["mail"])
            await woken[0].wait()

    async def test_a_listener_in_the_wrong_place_says_so(self, store: Store) -> None:
        """It hears nothing of what it sends itself, as behind a pooler; it goes on trying, and says it once."""
        assert isinstance(store, PostgresStore)
        async with database(migrated=False) as elsewhere:
            wake = PostgresWake(store.notify, Place(elsewhere).connect)
            wake.probe_takes = 0.05
            with capture_logs() as logs:
                async with wake.listening():
                    for _ in range(3):
                        await _connects(wake)
                    assert wake.trouble is not None
                    assert "LISTEN_URL" in wake.trouble
            assert [entry["event"] for entry in logs] == ["hints.not_heard"]
            assert wake.trouble is None
            await wake.close()

    async def test_a_listener_that_goes_deaf_is_found_out(self, store: Store, url: str) -> None:
        """It asks itself again and again."""
        assert isinstance(store, PostgresStore)
        deaf = False

        async def send(texts: Sequence[str]) -> None:
            if not deaf:
                await store.notify(texts)

        async with waking(url, send) as wake:
            wake.probe_every, wake.probe_takes = 0.01, 0.05
            async with wake.listening():
                await listens(wake)
                deaf = True
                while wake.trouble is None:  # noqa: ASYNC110 - it has nobody to tell
                    await asyncio.sleep(0.001)
                deaf = False
                await listens(wake)
                assert wake.trouble is None

    async def test_a_server_that_is_away_is_waited_for(self, url: str, store: Store) -> None:
        """Its trouble says why; nobody is told anything else."""
        assert isinstance(store, PostgresStore)
        away, tried = True, asyncio.Event()

        async def connect() -> asyncpg.Connection[asyncpg.Record]:
            tried.set()
            if away:
                raise OSError("gone fishing")
            return await Place(url).connect()

        wake = PostgresWake(store.notify, connect)
        async with wake.listening():
            await tried.wait()
            tried.clear()
            await tried.wait()
            assert wake.trouble is not None
            assert "gone fishing" in wake.trouble
            away = False
            await listens(wake)
            assert wake.trouble is None
        await wake.close()


async def _connects(wake: PostgresWake) -> None:
    """Returns when the listener connects once more."""
    connects, made = asyncio.Event(), wake._connect

    async def connect() -> asyncpg.Connection[asyncpg.Record]:
        connects.set()
        return await made()

    wake._connect = connect
    await connects.wait()
    wake._connect = made


class TestTeller:
    async def test_a_word_is_sent_at_once_and_once_more_for_all_that_follow(self) -> None:
        """A thousand hints in a moment are two."""
        sent: list[str] = []
        twice = asyncio.Event()

        async def send(texts: Sequence[str]) -> None:
            sent.extend(texts)
            if len(sent) == 2:
                twice.set()

        teller = Teller(send)
        for _ in range(1000):
            teller.say("runs:mail")
        await asyncio.sleep(0)
        assert sent == ["runs:mail"]
        await twice.wait()
        await teller.close()
        assert sent == ["runs:mail"] * 2

    async def test_closing_sends_what_waits_for_its_turn(self) -> None:
        """A client that enqueues and leaves has told everybody."""
        sent: list[str] = []

        async def send(texts: Sequence[str]) -> None:
            sent.extend(texts)

        teller = Teller(send)
        teller.say("runs:a")
        await asyncio.sleep(0)
        teller.say("runs:a")
        teller.say("runs:b")
        await teller.close()
        assert sorted(sent) == ["runs:a", "runs:a", "runs:b"]
        await teller.close()

    async def test_what_is_said_while_something_is_sent_goes_together(self) -> None:
        """However slow the database is, there is one transaction under way."""
        sent: list[list[str]] = []
        go = asyncio.Event()

        async def send(texts: Sequence[str]) -> None:
            sent.append(list(texts))
            await go.wait()

        teller = Teller(send)
        teller.say("runs:0")
        await asyncio.sleep(0)
        for number in range(1, 50):
            teller.say(f"runs:{number}")
            await asyncio.sleep(0)
        go.set()
        await teller.close()
        assert sent == [["runs:0"], [f"runs:{number}" for number in range(1, 50)]]

    async def test_what_cannot_be_sent_is_lost_and_said_once(self) -> None:
        """Nobody who gives a hint hears of it, and the next one is sent as if nothing had been."""
        fail = True
        sent: list[str] = []

        async def send(texts: Sequence[str]) -> None:
            if fail:
                raise OSError("gone")
            sent.extend(texts)

        teller = Teller(send)
        with capture_logs() as logs:
            for text in ("a", "b"):
                teller.say(text)
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            fail = False
            teller.say("c")
            await teller.close()
        assert [entry["event"] for entry in logs] == ["hints.not_sent"]
        assert sent == ["c"]
