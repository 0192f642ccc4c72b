"""What only a store on SQLite has to show: a full disk, fencing in odd batches, and the same file by another name."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from pathlib import Path

import pytest

from puntual.engine.clock import SystemClock
from puntual.model.attempt import OutcomeKind
from puntual.model.errors import StoreDataError, StoreFullError, StoreUnusableError
from puntual.model.run import RunState
from puntual.store.requests import Page, Retention, RunFilter
from puntual.store.sqlite import SqliteStore
from puntual.store.sqlite import settle as settling
from puntual.store.sqlite.lanes import ThreadLane
from puntual.store.sqlite.transaction import Tx
from puntual.testing.conformance.build import (
    LEASE,
    MINUTE,
    NOW,
    add,
    after,
    end,
    fetch,
    kill,
    lose,
    new_run,
    start,
    take,
    uid,
)
from tests.support.lanes import holding

EVERYTHING = Page(limit=10_000)


def _writer(store: SqliteStore) -> sqlite3.Connection:
    lane = store._writer
    assert isinstance(lane, ThreadLane)
    return lane._session.connection


@pytest.fixture
def full(store: SqliteStore) -> sqlite3.Connection:
    """The writer of a store whose file may not grow any further."""
    connection = _writer(store)
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages + 8}").fetchall()
    return connection


class TestFullDisk:
    """Nothing more can be written."""

    async def test_it_is_said_and_what_stood_stands(self, store: SqliteStore, full: sqlite3.Connection) -> None:
        """The call that did not fit leaves nothing, and with room all goes on."""
        await add(store, new_run(0))
        with pytest.raises(StoreFullError, match="make room"):
            await add(store, *(new_run(number) for number in range(1, 2_000)))
        assert [run.id for run in (await store.list_runs(RunFilter(), EVERYTHING)).items] == [uid(0)]
        full.execute("PRAGMA max_page_count = 1000000").fetchall()
        await add(store, *(new_run(number) for number in range(1, 2_000)))
        assert len((await store.list_runs(RunFilter(), EVERYTHING)).items) == 2_000


class TestSettling:
    """Batches that no worker of ours sends."""

    async def test_one_claim_settled_twice_in_a_batch_is_written_once(self, store: SqliteStore) -> None:
        """The first counts and the second finds its row gone."""
        one, two = await start(store, new_run(1), new_run(2))
        success, failure = after(one, OutcomeKind.SUCCEEDED), after(one, OutcomeKind.FAILED, final=True)
        settled = await store.settle([success, failure, after(two, OutcomeKind.SUCCEEDED)], now=NOW)
        assert (settled.written, settled.gone) == ((uid(1), uid(2)), (uid(1),))
        assert (await fetch(store, uid(1))).state is RunState.SUCCEEDED

    async def test_a_batch_larger_than_one_statement_keeps_its_order(self, store: SqliteStore) -> None:
        """Parts of 256 are one answer."""
        runs = await start(store, *(new_run(number) for number in range(700)))
        settled = await store.settle([after(run, OutcomeKind.SUCCEEDED) for run in runs], now=NOW)
        assert settled.written == tuple(run.id for run in runs)

    async def test_a_rescue_that_fails_in_a_group_leaves_nothing(
        self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An error that nobody foresaw undoes the leases that it ended too, and the others of its group are written."""
        await start(store, new_run(1), new_run(2))
        workers = await store.list_workers()

        def fail(tx: Tx, _settlements: object) -> None:
            tx._connection.execute("DELETE FROM runs")
            raise KeyError("unforeseen")

        monkeypatch.setattr(settling, "settle", fail)
        async with holding(store._writer):
            rescuing = asyncio.create_task(store.rescue(lose, ends_until=NOW + 100 * LEASE, now=NOW + 100 * LEASE))
            others = [asyncio.create_task(add(store, new_run(number))) for number in (3, 4)]
            await asyncio.sleep(0)
        with pytest.raises(KeyError, match="unforeseen"):
            await rescuing
        await asyncio.gather(*others)
        assert await store.list_workers() == workers
        runs = (await store.list_runs(RunFilter(), EVERYTHING)).items
        assert {run.id for run in runs} == {uid(number) for number in (1, 2, 3, 4)}

    async def test_a_time_too_large_is_refused_alone(self, store: SqliteStore) -> None:
        """A number beyond 64 bits harms nobody else in the batch."""
        one, two = await start(store, new_run(1), new_run(2))
        mad = after(one, OutcomeKind.SUCCEEDED, finished_at=2**70)
        settled = await store.settle([mad, after(two, OutcomeKind.SUCCEEDED)], now=NOW)
        assert settled.written == (uid(2),)
        assert [id for id, _ in settled.refused] == [uid(1)]


class TestValues:
    """What the tables take."""

    @pytest.mark.parametrize("bad", [{"due_at": 2**64}, {"delay_us": 2**63 - 1}, {"max_attempts": 0}])
    async def test_numbers_out_of_range_are_data_errors(self, store: SqliteStore, bad: dict[str, int]) -> None:
        """Not even a sum that overflows becomes a rounded number."""
        with pytest.raises(StoreDataError):
            await add(store, new_run(1, **bad))
        assert await store.get_run(uid(1)) is None

    @pytest.mark.parametrize("text", ['"\\u0000"', '"😀 \\" \\\\ \\n"', "{}", '"' + "x" * 300_000 + '"'])
    async def test_arguments_come_back_letter_for_letter(self, store: SqliteStore, text: str) -> None:
        """They are text to the store, whatever stands in them."""
        (run,) = await start(store, new_run(1, args=text))
        assert run.args == text
        await end(store, run, result=text)
        assert (await fetch(store, uid(1))).result == text

    async def test_names_with_quotes_and_wildcards_are_only_names(self, store: SqliteStore) -> None:
        """A queue or tag is matched as it is, never as a pattern or as SQL."""
        names = ("a%", "a_", "a'; DROP TABLE runs; --", 'a"', "ab", "A%")
        await add(store, *(new_run(number, queue=name, tags=(name,)) for number, name in enumerate(names)))
        for number, name in enumerate(names):
            for where in (RunFilter(queues=(name,)), RunFilter(tags=(name,))):
                assert [run.id for run in (await store.list_runs(where, Page())).items] == [uid(number)]


class TestReplayedResponses:
    """A run that comes back."""

    async def test_it_keeps_its_place_by_the_time_it_was_due(self, store: SqliteStore) -> None:
        """``due_at`` is what was asked first; it may be claimed from now."""
        await kill(store, new_run(1))
        await store.replay(RunFilter(ids=(uid(1),)), now=NOW + MINUTE)
        (run,) = await take(store, now=NOW + MINUTE)
        assert (run.due_at, run.claim_at, run.reason, run.result) == (NOW, NOW + MINUTE, None, None)


class TestPaths:
    """One file, whatever it is called."""

    async def test_a_link_and_its_file_are_one_store(self, tmp_path: Path) -> None:
        """Both meet at one lock for checkpoints."""
        (tmp_path / "link.db").symlink_to(tmp_path / "puntual.db")
        names = [SqliteStore(str(tmp_path / name), clock=SystemClock(), retention=Retention()) for name in _BOTH]
        assert len({store._around.path for store in names}) == 1

    async def test_a_relative_path_stays_where_it_was(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A program that changes its folder does not change its database."""
        monkeypatch.chdir(tmp_path)
        store = SqliteStore("puntual.db", clock=SystemClock(), retention=Retention())
        os.chdir("/")
        await store.open()
        await store.close()
        assert (tmp_path / "puntual.db").stat().st_size > 0

    async def test_an_old_sqlite_is_refused(self, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """The sentence says which one is needed."""
        monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
        with pytest.raises(StoreUnusableError, match=r"3\.37 or later"):
            await SqliteStore(path, clock=SystemClock(), retention=Retention()).open()


_BOTH = ("puntual.db", "link.db")
