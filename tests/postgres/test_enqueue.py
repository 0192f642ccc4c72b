from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from typing import Any

import asyncpg
import pytest

from puntual import App
from puntual.model.errors import StoreBusyError, StoreDataError, StoreUnavailableError
from puntual.model.run import NewRun, Origin
from puntual.operations.local import LocalOperations
from puntual.settings import Settings
from puntual.store.postgres import PostgresStore, place
from puntual.store.postgres import enqueue as enqueue_module
from puntual.store.postgres.copy import may_be_copied
from puntual.store.postgres.enqueue import insert, new_rows
from puntual.store.postgres.inserting import COLUMNS, Insert, Look, Step, inserting
from puntual.store.postgres.statements import sql
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Enqueued
from puntual.testing.conformance.build import NOW, new_run, uid
from tests.support.databases import opened

#: As many as go by COPY.
MANY = range(1_000)


@pytest.fixture
async def store(url: str) -> AsyncIterator[PostgresStore]:
    """An open, empty store."""
    async with opened(url) as store:
        yield store


@pytest.fixture
async def look(url: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """A connection of somebody else's."""
    connection = await asyncpg.connect(url)
    yield connection
    await connection.close()


@pytest.fixture
def statements(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the statements that the store sends."""
    sent: list[str] = []
    value, change = Tx.value, Tx.change

    async def noting_value(tx: Tx, name: str, *parameters: object) -> Any:
        sent.append(name)
        return await value(tx, name, *parameters)

    async def noting_change(tx: Tx, name: str, *parameters: object) -> int:
        sent.append(name)
        return await change(tx, name, *parameters)

    monkeypatch.setattr(Tx, "value", noting_value)
    monkeypatch.setattr(Tx, "change", noting_change)
    return sent


async def hold_key(look: asyncpg.Connection[asyncpg.Record], key: str) -> None:
    """Takes a unique key, in a transaction that stays open."""
    await look.execute("BEGIN")
    await look.execute(
        "INSERT INTO puntual.runs (id, task, args, queue, priority, max_attempts, unique_key)"
        " VALUES (gen_random_uuid(), 'task', '{}', 'default', 1, 1, $1)",
        key,
    )


class TestClock:
    """No claimer's floor passes a run: the transaction has its number before it reads the clock."""

    async def test_a_transaction_takes_its_number_first(self, look: asyncpg.Connection[asyncpg.Record]) -> None:
        """Reading the clock for a transaction gives it a number."""
        async with look.transaction():
            await look.fetchval(sql("clock"))
            assert await look.fetchval("SELECT pg_current_xact_id_if_assigned() IS NOT NULL")

    @pytest.mark.parametrize("name", ["enqueue_runs", "enqueue_patiently"])
    async def test_a_statement_takes_its_number_first(
        self, look: asyncpg.Connection[asyncpg.Record], name: str
    ) -> None:
        """Even where it inserts nothing, which would give it one late; and the time depends on the number."""
        parameters: dict[str, tuple[object, ...]] = {
            "enqueue_runs": (None, [], *([] for _ in COLUMNS)),
            "enqueue_patiently": (None, "[]", None, "[]", "[]"),
        }
        async with look.transaction():
            await look.fetchval(sql(name), *parameters[name])
            assert await look.fetchval("SELECT pg_current_xact_id_if_assigned() IS NOT NULL")
        plan = await look.fetch(f"EXPLAIN VERBOSE {sql(name)}", *parameters[name])
        assert any("Filter:" in line and "number IS NOT NULL" in line for (line,) in plan)

    async def test_a_copied_run_takes_the_time_of_its_row(
        self, store: PostgresStore, look: asyncpg.Connection[asyncpg.Record]
    ) -> None:
        """By the database's clock, after the number that the transaction took before."""
        (first, *_) = await store.enqueue([new_run(number) for number in MANY])
        row = await look.fetchrow("SELECT min(due_at), max(claim_at), bool_and(claim_at >= due_at) FROM puntual.runs")
        assert row is not None
        assert first.now <= row[0] <= row[1] <= await store.now()
        assert row[2]


class TestGroups:
    """Calls that arrive together share statements."""

    async def test_many_callers_share_few_statements(self, store: PostgresStore, statements: list[str]) -> None:
        """What comes while a statement is under way goes with the next one."""
        answers = await asyncio.gather(*(store.enqueue([new_run(number)]) for number in range(300)))
        assert [answer.id for (answer,) in answers] == [uid(number) for number in range(300)]
        assert statements.count("enqueue_runs") <= 4

    async def test_who_was_answered_may_call_again_at_once(
        self, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nobody is left in line by a sender that is just about to end."""
        monkeypatch.setattr(enqueue_module, "_ABREAST", 1)

        async def caller(first: int) -> None:
            for number in range(20):
                await store.enqueue([new_run(first + number)])

        await asyncio.gather(*(caller(first) for first in range(0, 100, 20)))

    async def test_a_caller_that_gives_up_takes_nothing_back(self, store: PostgresStore) -> None:
        """Its run stands, and the others have their answers."""
        await store.enqueue([new_run(0)])
        calls = [asyncio.create_task(store.enqueue([new_run(number)])) for number in range(1, 4)]
        await asyncio.sleep(0)
        calls[1].cancel()
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(answers[1], asyncio.CancelledError)
        assert await store.enqueue([new_run(2)]) == [Enqueued(uid(2), existing=True)]

    async def test_closing_finishes_what_was_accepted(self, store: PostgresStore, url: str) -> None:
        """Those who wait in line are answered."""
        await store.enqueue([new_run(0)])
        calls = [asyncio.create_task(store.enqueue([new_run(number)])) for number in range(1, 50)]
        await asyncio.sleep(0)
        await store.close()
        assert len(await asyncio.gather(*calls)) == 49

    async def test_each_is_told_when_the_server_is_gone(
        self, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """By an error of its own, since whoever raises one writes into it."""
        await store.enqueue([new_run(0)])

        async def gone(*args: object) -> str:
            raise ConnectionResetError

        monkeypatch.setattr(Tx, "text", gone)
        calls = (store.enqueue([new_run(number)]) for number in range(1, 4))
        errors = await asyncio.gather(*calls, return_exceptions=True)
        assert len({id(error) for error in errors}) == 3
        assert all(isinstance(error, StoreUnavailableError) for error in errors)


class TestLarge:
    """Large calls go by COPY."""

    async def test_many_plain_runs_are_copied(self, store: PostgresStore, statements: list[str]) -> None:
        """None of them goes through an insert, and all stand as they were asked for."""
        runs = [new_run(number, args=f'{{"n":{number}}}', queue="mail", tags=("a",)) for number in MANY]
        answers = await store.enqueue(runs)
        assert [answer.id for answer in answers] == [run.id for run in runs]
        assert statements == ["enqueue_lanes"]

    async def test_a_copied_run_is_like_an_inserted_one(
        self, store: PostgresStore, look: asyncpg.Connection[asyncpg.Record]
    ) -> None:
        """In every column but the time."""
        await store.enqueue([new_run(number, queue="mail", tags=("a",), max_attempts=7) for number in MANY])
        await store.enqueue([new_run(1_000, queue="mail", tags=("a",), max_attempts=7)])
        own = ["id", "shard", "due_at", "claim_at", "created_at"]
        assert len(await look.fetch("SELECT DISTINCT to_jsonb(r) - $1::text[] FROM puntual.runs AS r", own)) == 1

    async def test_an_id_that_stands_sends_all_of_them_the_other_way(self, store: PostgresStore) -> None:
        """The answers are those of an insert."""
        await store.enqueue([new_run(7)])
        answers = await store.enqueue([new_run(number) for number in MANY])
        assert [answer.existing for answer in answers] == [number == 7 for number in MANY]

    async def test_one_bad_row_leaves_none(
        self, store: PostgresStore, look: asyncpg.Connection[asyncpg.Record]
    ) -> None:
        """A call is all or nothing."""
        with pytest.raises(StoreDataError):
            await store.enqueue([new_run(number, args="\0" if number == 500 else "{}") for number in MANY])
        assert await look.fetchval("SELECT count(*) FROM puntual.runs") == 0

    @pytest.mark.parametrize(
        "change",
        [{"due_at": NOW}, {"delay_us": 1}, {"unique_key": "k"}, {"origin": Origin.REPLAY}, {"schedule": "s"}],
        ids=str,
    )
    def test_what_has_more_columns_is_inserted(self, change: dict[str, object]) -> None:
        """COPY leaves times to the clock, and knows no conflict."""
        runs = [new_run(number) for number in MANY]
        assert may_be_copied(runs)
        assert not may_be_copied([*runs, new_run(1_000, **change)])


async def test_a_table_that_is_held_for_long_is_said_so(
    url: str, look: asyncpg.Connection[asyncpg.Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller may try again, though no unique key was in the way; so may who plans or settles."""
    monkeypatch.setitem(place._DIRECT, "lock_timeout", "20ms")
    async with opened(url) as store, look.transaction():
        await look.execute("LOCK TABLE puntual.runs IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StoreBusyError, match="Another transaction holds what is needed"):
            await store.enqueue([new_run(1)])
        with pytest.raises(StoreBusyError, match="Another transaction holds what is needed"):
            await store._session.write(lambda tx: insert(tx, [new_run(1)]))


class TestKeys:
    """A unique key that another open transaction holds."""

    async def test_it_is_waited_for_and_named(
        self,
        store: PostgresStore,
        look: asyncpg.Connection[asyncpg.Record],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """The caller may try again; nothing of the call stands."""
        monkeypatch.setattr(enqueue_module, "PATIENCE_MS", 20)
        await hold_key(look, "k")
        with pytest.raises(StoreBusyError, match="The unique key 'k' of the task task is held by another transaction"):
            await store.enqueue([new_run(1, unique_key="k")])
        with pytest.raises(StoreBusyError, match="One of 2 unique keys, 'j' of the task task the first, is held"):
            await store.enqueue([new_run(1), new_run(2, unique_key="j"), new_run(3, unique_key="k")])
        await look.execute("ROLLBACK")
        assert await look.fetchval("SELECT count(*) FROM puntual.runs") == 0

    async def test_those_who_have_other_keys_do_not_wait(
        self, store: PostgresStore, look: asyncpg.Connection[asyncpg.Record]
    ) -> None:
        """Keyed runs ride in no group."""
        await hold_key(look, "k")
        waiting = asyncio.create_task(store.enqueue([new_run(1, unique_key="k")]))
        await asyncio.gather(store.enqueue([new_run(2)]), store.enqueue([new_run(3, unique_key="l")]))
        assert not waiting.done()
        await look.execute("ROLLBACK")
        assert [answer.existing for answer in await waiting] == [False]

    async def test_a_transaction_of_ours_waits_no_longer_either(
        self,
        store: PostgresStore,
        look: asyncpg.Connection[asyncpg.Record],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Plans and follow-ups are inserted by the same rule."""
        monkeypatch.setattr(enqueue_module, "PATIENCE_MS", 20)
        await hold_key(look, "k")
        with pytest.raises(StoreBusyError, match="The unique key 'k'"):
            await store._session.write(lambda tx: insert(tx, [new_run(1, unique_key="k")]))
        await look.execute("ROLLBACK")

    def test_a_holder_that_vanishes_frees_the_key(self) -> None:
        """Between the insert and the look its run may have ended: then the insert is made again."""
        steps = inserting(new_rows([new_run(1, unique_key="k"), new_run(2)]), repeat=False)
        told = answered(steps, [(Insert, f'[5,1,["{uid(2)}"]]'), (Look, "[[],[]]"), (Insert, "[6,1,null]")])
        assert told == [Enqueued(uid(1), now=6), Enqueued(uid(2), now=5)]

    def test_a_key_that_is_freed_all_the_time_is_given_up(self) -> None:
        """The caller may try again."""
        steps = inserting(new_rows([new_run(1, unique_key="k")]), repeat=False)
        with pytest.raises(StoreBusyError, match="The unique key 'k' is taken and freed all the time"):
            answered(steps, [(Insert, "[5,0,null]"), (Look, "[[],[]]")] * 50)

    def test_everybody_takes_them_in_one_order(self) -> None:
        """Ids first, then keys by task and key, whatever the order of the call."""
        runs = [
            new_run(3, unique_key="z"),
            new_run(2),
            new_run(1, unique_key="a"),
            new_run(4, task="a", unique_key="z"),
        ]
        step = next(inserting(new_rows(runs), repeat=False))
        assert isinstance(step, Insert)
        assert [row[0] for row in step.rows] == [uid(2), uid(4), uid(1), uid(3)]


def answered(steps: Generator[Step, str, list[Enqueued]], answers: Sequence[tuple[type[Step], str]]) -> list[Enqueued]:
    """What comes of steps that are answered like this."""
    step = next(steps)
    try:
        for kind, answer in answers:
            assert isinstance(step, kind)
            step = steps.send(answer)
    except StopIteration as end:
        told: list[Enqueued] = end.value
        return told
    raise AssertionError("not at an end")


class TestRepeats:
    """Who says that a call may be a repeat, so that history is looked at."""

    async def test_a_request_with_an_id_finds_its_run_however_late(self, url: str) -> None:
        """One, and many at once: the run is over by now, and none is made again."""
        async with App(Settings(database_url=url)) as app:
            operations = LocalOperations(app)
            body = {"task": "send", "id": uid(1)}
            await operations.enqueue(body)
            await app.store.cancel([uid(1)])
            assert (await operations.enqueue(body))["state"] == "cancelled"
            assert (await operations.enqueue_batch([body, {"task": "send"}]))["ids"][0] == uid(1)
            found = await app.runs.find()
        assert sorted(run.state for run in found) == ["cancelled", "pending"]

    async def test_a_replay_under_an_id_of_the_callers_own_is_made_once(self, url: str) -> None:
        """Its new run may be over before the repeat comes."""
        async with App(Settings(database_url=url)) as app:
            await app.store.enqueue([new_run(1)])
            await app.store.cancel([uid(1)])
            await app.dead.replay_edited(uid(1), "{}", new_id=uid(2))
            await app.store.cancel([uid(2)])
            assert await app.dead.replay_edited(uid(1), "{}", new_id=uid(2)) == uid(2)
            assert [run.state for run in await app.runs.find()] == ["cancelled"] * 2


class TestLanes:
    """The names of queues that ever had a run."""

    async def test_a_new_queue_is_written_once(
        self, store: PostgresStore, look: asyncpg.Connection[asyncpg.Record], statements: list[str]
    ) -> None:
        """Before its first run, and not again by a process that knows it."""
        for number in range(3):
            await store.enqueue([new_run(number, queue="mail"), new_run(number + 10, queue="web")])
        assert statements.count("enqueue_lanes") == 1
        assert [row[0] for row in await look.fetch("SELECT queue FROM puntual.lanes ORDER BY 1")] == ["mail", "web"]

    async def test_it_is_written_again_for_another_server(
        self, store: PostgresStore, look: asyncpg.Connection[asyncpg.Record]
    ) -> None:
        """One that was promoted may have lost the last that was written."""
        await store.enqueue([new_run(1)])
        await look.execute("DELETE FROM puntual.lanes")
        for forget in store._session.lost:
            forget()
        await store.enqueue([new_run(2)])
        assert await look.fetchval("SELECT queue FROM puntual.lanes") == "default"

    @pytest.mark.parametrize("change", [{}, {"unique_key": "k"}], ids=str)
    async def test_a_transaction_of_ours_writes_it_too(
        self, store: PostgresStore, look: asyncpg.Connection[asyncpg.Record], change: dict[str, object]
    ) -> None:
        """With its runs."""
        await store._session.write(lambda tx: insert(tx, [new_run(1, queue="mail", **change)]))
        assert await look.fetchval("SELECT queue FROM puntual.lanes") == "mail"


@pytest.mark.parametrize("make", [new_run, lambda n: new_run(n, unique_key=f"k{n}")], ids=["plain", "keyed"])
async def test_a_given_time_replaces_the_clock(store: PostgresStore, make: Callable[[int], NewRun]) -> None:
    """Everywhere, for tests and the manual app."""
    assert await store.enqueue([make(1)], now=NOW) == [Enqueued(uid(1), now=NOW)]
    answers = await store.enqueue([make(number) for number in MANY], now=NOW)
    assert answers[5] == Enqueued(uid(5), now=NOW)
