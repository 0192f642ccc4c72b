"""Settle on PostgreSQL: how many statements it takes, what it locks, and how long evidence is kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TypeAlias

import asyncpg
import msgspec
import pytest

from puntual.model.attempt import OutcomeKind
from puntual.model.outcome import Evidence
from puntual.model.run import RunState
from puntual.model.schedule import Overlap
from puntual.store.postgres import PostgresStore
from puntual.store.postgres.session import Session
from puntual.store.postgres.settle import Ended, end_runs
from puntual.store.postgres.transaction import Tx
from puntual.store.rows.codec import SqlValue
from puntual.testing.conformance.build import (
    DAY,
    NOW,
    after,
    end,
    fetch,
    hand_out,
    join,
    named,
    new_run,
    schedule,
    start,
    take,
    tick,
    uid,
)
from tests.support.databases import opened

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@pytest.fixture
async def store(url: str) -> AsyncIterator[PostgresStore]:
    """An open, empty store."""
    async with opened(url) as store:
        yield store


@pytest.fixture
async def look(url: str) -> AsyncIterator[Connection]:
    """A connection of somebody else's."""
    connection = await asyncpg.connect(url)
    yield connection
    await connection.close()


@pytest.fixture
def transactions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which way each operation went: alone, or as a transaction of several statements."""
    went: list[str] = []
    for name in ("single", "write"):
        monkeypatch.setattr(Session, name, _noting(name, went))
    return went


def _noting(name: str, went: list[str]) -> object:
    way = getattr(Session, name)

    def note(session: Session, work: object, *, now: int | None = None) -> object:
        went.append(name)
        return way(session, work, now=now)

    return note


class TestWays:
    """A batch goes the shortest way that there is for it."""

    async def test_runs_that_only_end_are_one_statement(self, store: PostgresStore, transactions: list[str]) -> None:
        """Whatever became of them."""
        runs = await start(store, *(new_run(number) for number in range(3)))
        transactions.clear()
        settled = await store.settle(
            [after(run, OutcomeKind.SUCCEEDED if run.id == uid(1) else OutcomeKind.FAILED, final=True) for run in runs]
        )
        assert set(settled.written) == {uid(0), uid(1), uid(2)}
        assert transactions == ["single"]

    @pytest.mark.parametrize(
        ("kind", "changes"),
        [
            (OutcomeKind.FAILED, {}),
            (OutcomeKind.SUCCEEDED, {"evidence": Evidence(body=b"x")}),
            (OutcomeKind.SUCCEEDED, {"follow_ups": (new_run(9),)}),
        ],
        ids=["goes on", "evidence", "follow-up"],
    )
    async def test_all_others_are_a_transaction(
        self, store: PostgresStore, transactions: list[str], kind: OutcomeKind, changes: dict[str, object]
    ) -> None:
        """What belongs together is written together."""
        (run,) = await start(store, new_run(1))
        transactions.clear()
        assert (await store.settle([after(run, kind, now=NOW, **changes)])).written == (uid(1),)
        assert transactions == ["write"]


class TestRefusals:
    """What no row can hold, and what no row can have."""

    async def test_an_id_that_is_none_is_gone(self, store: PostgresStore) -> None:
        """No run has it, and the others are written."""
        (run,) = await start(store, new_run(1))
        write = after(run, OutcomeKind.SUCCEEDED)
        wrong = msgspec.structs.replace(write, id="nonsense")
        settled = await store.settle([wrong, write], now=NOW)
        assert (settled.written, settled.gone, settled.refused) == ((uid(1),), ("nonsense",), ())

    async def test_a_result_with_nul_spoils_its_own_row_only(self, store: PostgresStore) -> None:
        """PostgreSQL's texts cannot hold it."""
        runs = await start(store, *(new_run(number) for number in range(8)))
        batch = [after(run, OutcomeKind.SUCCEEDED, result="\0" if run.id == uid(5) else None) for run in runs]
        settled = await store.settle(batch, now=NOW)
        assert [id for id, _ in settled.refused] == [uid(5)]
        assert len(settled.written) == 7


class TestEvidence:
    """An answer is there at least as long as its run."""

    async def test_it_leaves_with_the_run_that_it_ended(self, store: PostgresStore, look: Connection) -> None:
        """On the same day."""
        (run,) = await start(store, new_run(1))
        await end(store, run, evidence=Evidence(body=b"x"))
        (kept,) = await look.fetch("SELECT expires_on FROM puntual.attempt_responses")
        (row,) = await look.fetch("SELECT expires_on FROM puntual.run_history")
        assert kept == row

    async def test_of_a_run_that_goes_on_it_is_kept_as_if_the_run_had_died(
        self, store: PostgresStore, look: Connection
    ) -> None:
        """Nobody knows yet what becomes of the run."""
        (run,) = await start(store, new_run(1))
        await end(store, run, OutcomeKind.FAILED, evidence=Evidence(body=b"x"), retry_after_us=0)
        (run,) = await take(store)
        await end(store, run)
        (kept,) = await look.fetch("SELECT expires_on FROM puntual.attempt_responses")
        (row,) = await look.fetch("SELECT expires_on FROM puntual.run_history")
        assert kept["expires_on"] - row["expires_on"] == 90 - 7
        assert kept["expires_on"] == (NOW + 90 * DAY) // DAY


class TestFollowUps:
    """What follows a run is inserted with its end."""

    async def test_a_key_that_an_open_transaction_holds_keeps_its_own_run_waiting(
        self, store: PostgresStore, look: Connection
    ) -> None:
        """The others of the batch are settled, and so is that one once the key is free."""
        runs = await start(store, *(new_run(number) for number in range(4)))
        keys = [None, "held", "free", "held"]
        batch = [
            after(run, OutcomeKind.SUCCEEDED, follow_ups=(new_run(10 + place, unique_key=key),))
            for place, (run, key) in enumerate(zip(runs, keys, strict=True))
        ]
        async with look.transaction():
            await look.execute(
                "INSERT INTO puntual.runs (id, task, args, queue, priority, max_attempts, unique_key)"
                " VALUES (gen_random_uuid(), 'task', '{}', 'default', 2, 1, 'held')"
            )
            settled = await store.settle(batch, now=NOW)
            assert set(settled.written) == {uid(0), uid(2)}
            assert settled.waiting == (uid(1), uid(3))
            assert (await fetch(store, uid(1))).state is RunState.RUNNING
        again = await store.settle([batch[1], batch[3]], now=NOW)
        assert (again.written, again.waiting) == ((uid(1), uid(3)), ())
        assert await store.get_run(uid(11)) is None
        assert (await fetch(store, uid(12))).state is RunState.PENDING


class TestWakingSchedules:
    """A tick that waits for a run is looked at when the run ends, however the two meet."""

    async def test_a_plan_that_decides_at_this_moment_that_a_tick_waits_is_waited_for(
        self, store: PostgresStore, look: Connection
    ) -> None:
        """The plan saw the run live and has not committed yet when the run ends."""
        spec = msgspec.structs.replace(schedule().spec, overlap=Overlap.BUFFER_ONE)
        await hand_out(store, schedule(spec=spec), 1, now=tick(1))
        await join(store, now=tick(1))
        (run,) = await take(store, now=tick(1))
        transaction = look.transaction()
        await transaction.start()
        await look.execute("SELECT FROM puntual.schedules FOR UPDATE")
        await look.execute("UPDATE puntual.schedules SET seen_at = $1, look_at = $2", tick(2), tick(3))
        settling = asyncio.create_task(end(store, run, now=tick(2)))
        while not await look.fetchval("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"):
            assert not settling.done()
        await transaction.commit()
        assert (await settling).schedules
        assert (await named(store, "nightly")).cursor.look_at == tick(2)

    async def test_a_plan_of_a_schedule_whose_ticks_never_wait_is_not_waited_for(
        self, store: PostgresStore, look: Connection
    ) -> None:
        """Nor is the schedule locked, which many settles at once would keep from being planned."""
        await hand_out(store, schedule(), 1, now=tick(1))
        await join(store, now=tick(1))
        (run,) = await take(store, now=tick(1))
        async with look.transaction():
            await look.execute("SELECT FROM puntual.schedules FOR UPDATE")
            assert (await end(store, run, now=tick(1))).written == (run.id,)

    async def test_settles_of_one_schedule_at_once_do_not_stop_each_other(
        self, store: PostgresStore, look: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """All of them see the tick that waits, in the same moment, and none has to be done anew."""
        await hand_out(store, schedule(), 3, now=tick(3))
        await join(store, now=tick(3))
        runs = await take(store, now=tick(3))
        tries: list[object] = []

        async def noting(tx: Tx, rows: Sequence[Sequence[SqlValue]]) -> Ended:
            tries.append(rows)
            return await end_runs(tx, rows)

        monkeypatch.setattr("puntual.store.postgres.settle.end_runs", noting)
        await look.execute("UPDATE puntual.schedules SET seen_at = $1, look_at = $2", tick(4), tick(5))
        async with look.transaction():
            # Each has locked the schedule when it comes to its run.
            await look.execute("SELECT FROM puntual.runs FOR UPDATE")
            settling = asyncio.gather(*(end(store, run, now=tick(4)) for run in runs))
            while await look.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted") < len(runs):
                assert not settling.done()
        assert all(settled.written for settled in await settling)
        assert len(tries) == len(runs) == 3
        assert (await named(store, "nightly")).cursor.look_at == tick(4)

    async def test_a_schedule_without_a_waiting_tick_is_left(self, store: PostgresStore) -> None:
        """Nothing is to be looked at."""
        await hand_out(store, schedule(), 1, now=tick(1))
        await join(store, now=tick(1))
        (run,) = await take(store, now=tick(1))
        before = (await named(store, "nightly")).cursor
        assert not (await end(store, run, now=tick(1))).schedules
        assert (await named(store, "nightly")).cursor == before
        assert (await fetch(store, run.id)).finished_at == tick(1)
