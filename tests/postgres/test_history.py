"""Days of history: made ahead of time, folded and dropped whole, and nobody waits for it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING

import asyncpg
import pytest

from puntual.model.schedule import Fate, FateReason
from puntual.store.contract import Store
from puntual.store.postgres import partitions as days_of_history
from puntual.store.postgres.partitions import AHEAD, date_of, make_days
from puntual.store.postgres.place import Place
from puntual.store.postgres.session import Session
from puntual.store.requests import Page, Retention, RunFilter, TickFilter
from puntual.store.rows.fold import Piece, merged_pieces
from puntual.testing.conformance.build import DAY, NOW, new_run, tick
from tests.support.history import add_ended, day_of, partitions, put_stretches, stretches

if TYPE_CHECKING:
    from asyncpg import Record

    Line = asyncpg.Connection[Record]

#: 2027-01-23, which has a partition when ``_made`` has run at ``NOW``, and an instant at which it is over.
EXPIRY = day_of(NOW) + 8
OVER = (EXPIRY + 1) * DAY


@pytest.fixture
async def session(url: str) -> AsyncIterator[Session]:
    """Transactions on the empty database."""
    made = Session(Place(url=url), Retention())
    await made.open()
    try:
        yield made
    finally:
        await made.close()


@pytest.fixture
async def line(url: str) -> AsyncIterator[Line]:
    """A connection of somebody else."""
    made = await asyncpg.connect(url)
    try:
        yield made
    finally:
        await made.close()


@pytest.fixture
async def _made(session: Session) -> None:
    """The nearest days from ``NOW`` on have partitions, as many as are needed here."""
    await session.write(partial(make_days, most=12), now=NOW)


def _names(table: str, *days: int) -> set[str]:
    return {f"{table}_{date_of(day)}" for day in days}


class TestMakingDays:
    """There is a day for whatever ends in the next two weeks."""

    @pytest.mark.parametrize("table", ["run_history", "attempt_responses"])
    async def test_each_retention_has_its_days(self, session: Session, line: Line, table: str) -> None:
        """From today on, as far ahead as nobody may make any."""
        await session.write(make_days, now=NOW)
        wanted = [day_of(NOW) + kept + ahead for kept in (7, 90) for ahead in range(AHEAD + 1)]
        assert _names(table, *wanted) <= set(await partitions(line, table))

    async def test_a_name_shows_the_date(self, session: Session, line: Line) -> None:
        """Whoever looks at the tables sees when they go."""
        await session.write(make_days, now=NOW)
        assert "run_history_2027_01_22" in await partitions(line)

    async def test_days_are_made_once(self, session: Session, line: Line) -> None:
        """A day later there is one more for each retention."""
        await session.write(make_days, now=NOW)
        before = await partitions(line)
        assert await session.write(make_days, now=NOW) == 0
        assert await session.write(make_days, now=NOW + DAY) == 2
        assert len(await partitions(line)) == len(before) + 2

    async def test_many_may_make_them_at_once(self, pair: tuple[Store, Store], line: Line) -> None:
        """Every node does upkeep when it has to, and all of them at the start."""
        for _ in range(20):
            await asyncio.gather(*(store.prune(now=NOW) for store in pair * 3))
        assert _names("run_history", day_of(NOW) + 7, day_of(NOW) + 90) <= set(await partitions(line))

    async def test_strays_move_to_their_day(self, session: Session, line: Line, store: Store) -> None:
        """Rows that came before their day was made are found all along, and go with it."""
        await add_ended(line, EXPIRY, range(1, 6))
        before = await store.list_runs(RunFilter(), Page())
        await session.write(make_days, now=NOW)
        assert await line.fetchval("SELECT count(*) FROM puntual.run_history_other") == 0
        assert await line.fetchval("SELECT count(*) FROM puntual.attempt_responses_other") == 0
        assert await line.fetchval("SELECT count(*) FROM ONLY puntual.run_history_2027_01_23") == 5
        assert await store.list_runs(RunFilter(), Page()) == before

    async def test_a_day_with_too_many_strays_is_not_made(
        self, session: Session, line: Line, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Moving them would stop those who write there; they are pruned piece by piece instead."""
        monkeypatch.setattr(days_of_history, "MOST_MOVED", 5)
        await add_ended(line, EXPIRY, range(1, 5))
        await session.write(make_days, now=NOW)
        there = set(await partitions(line))
        assert not _names("run_history", EXPIRY) & there
        assert _names("run_history", EXPIRY + 1) <= there
        assert [await store.prune(limit=3, now=OVER) for _ in range(3)] == [3, 1, 0]
        assert await stretches(line) == [("a", 1, 4, "ran")]

    async def test_nobody_waits_who_reads_strays(self, session: Session, line: Line, store: Store) -> None:
        """While a long reader is at them no day is made, and the next round makes it."""
        async with line.transaction():
            await line.execute("SELECT FROM puntual.run_history_other")
            assert await store.prune(now=NOW) == 0
            assert not _names("run_history", EXPIRY) & set(await partitions(line))
        assert await session.write(make_days, now=NOW) > 0


@pytest.mark.usefixtures("_made")
class TestDroppingDays:
    """A day that is over becomes stretches, and its tables go."""

    async def test_a_day_goes_whole_and_its_ticks_stay(self, store: Store, line: Line) -> None:
        """However small the pieces that were asked for."""
        await add_ended(line, EXPIRY, range(1, 101))
        assert await store.prune(limit=10, now=OVER) == 100
        assert await stretches(line) == [("a", 1, 100, "ran")]
        for table in ("run_history", "attempt_responses"):
            assert not _names(table, EXPIRY) & set(await partitions(line, table))
        (row,) = (await store.list_ticks(TickFilter(), Page())).items
        assert (row.number, row.tick_at, row.last_tick_at, row.count) == (1, tick(1), tick(100), 100)

    async def test_a_day_stays_until_it_is_over(self, store: Store, line: Line) -> None:
        """The day on which rows may go is still theirs."""
        await add_ended(line, EXPIRY, range(1, 3))
        assert await store.prune(now=OVER - 1) == 0
        assert len((await store.list_runs(RunFilter(), Page())).items) == 2

    async def test_empty_days_go_with_the_next_one_that_is_not(self, store: Store, line: Line) -> None:
        """A round goes on until it has removed as much as it may."""
        await add_ended(line, EXPIRY + 2, range(1, 3))
        await add_ended(line, EXPIRY + 3, range(3, 6))
        later = OVER + 3 * DAY
        assert [await store.prune(limit=2, now=later) for _ in range(3)] == [2, 3, 0]
        assert await stretches(line) == [("a", 1, 5, "ran")]

    async def test_stretches_on_both_sides_are_joined(self, store: Store, line: Line) -> None:
        """What was folded before and what was folded of later days become one with it; other fates do not."""
        await put_stretches(line, ("a", 1, 3, "ran"), ("a", 7, 3, "ran"), ("b", 1, 3, "missed"), ("c", 1, 3, "skipped"))
        for schedule in "abc":
            await add_ended(line, EXPIRY, range(4, 7), schedule=schedule)
        await store.prune(now=OVER)
        assert await stretches(line) == [
            ("a", 1, 9, "ran"),
            ("b", 1, 3, "missed"),
            ("b", 4, 3, "ran"),
            ("c", 1, 3, "skipped"),
            ("c", 4, 3, "ran"),
        ]

    async def test_ticks_that_are_too_old_are_not_folded(self, url: str, line: Line) -> None:
        """The record of ticks may be kept for a shorter time than a run."""
        from tests.support.databases import opened  # noqa: PLC0415 - only this test keeps ticks so shortly

        await add_ended(line, EXPIRY, range(1, 3))
        async with opened(url, retention=Retention(ticks_us=DAY)) as store:
            assert await store.prune(now=OVER) == 2
        assert await stretches(line) == []

    @pytest.mark.parametrize("seed", range(4))
    async def test_whatever_the_order_the_fewest_stretches_are_left(self, store: Store, line: Line, seed: int) -> None:
        """Days go one after the other, strays in pieces; what is left is what folding all at once would leave."""
        draw = random.Random(seed)
        pieces = []
        for schedule in "abc":
            for number in range(1, 60):
                state = draw.choice(["succeeded", "succeeded", "dead", "cancelled", "none"])
                if state == "none":
                    continue
                day = draw.choice([EXPIRY, EXPIRY + 1, EXPIRY + 3, EXPIRY + 40])
                await add_ended(line, day, [number], schedule=schedule, state=state)
                fate = (Fate.SKIPPED, FateReason.CANCELLED) if state == "cancelled" else (Fate.RAN, None)
                pieces.append(Piece(f"id of {schedule}", schedule, number, tick(number), tick(number), 1, *fate))
        while await store.prune(limit=7, now=OVER + 40 * DAY):
            pass
        wanted = [(piece.schedule, piece.number, piece.count, str(piece.fate)) for piece in merged_pieces(pieces)]
        assert await stretches(line) == wanted

    async def test_two_who_drop_at_once_fold_once(self, pair: tuple[Store, Store], line: Line) -> None:
        """A holder of the upkeep that was thought dead does no harm."""
        await add_ended(line, EXPIRY, range(1, 101))
        removed = await asyncio.gather(*(store.prune(now=OVER) for store in pair * 3))
        assert sum(removed) == 100
        assert await stretches(line) == [("a", 1, 100, "ran")]


@pytest.mark.usefixtures("_made")
class TestWaiting:
    """Who has the tables for long is waited for by the next round, and by nobody else."""

    async def test_a_day_that_is_read_stays(self, store: Store, line: Line) -> None:
        """A dump holds every table for hours: the day goes when it is through, and nothing is half done."""
        await add_ended(line, EXPIRY, range(1, 4))
        async with line.transaction():
            await line.execute("SELECT FROM puntual.run_history_2027_01_23")
            assert await store.prune(now=OVER) == 0
            assert await stretches(line) == []
        assert await store.prune(now=OVER) == 3

    async def test_a_long_writer_elsewhere_holds_up_the_drop_and_no_other_writer(
        self, store: Store, line: Line, url: str
    ) -> None:
        """Who settles while a drop waits goes first: the drop gives up, again and again, before the writer ends."""
        await add_ended(line, EXPIRY, range(1, 4))
        other: Line = await asyncpg.connect(url)
        try:
            async with line.transaction():
                await add_ended(line, EXPIRY + 4, [10])
                dropping = asyncio.create_task(store.prune(now=OVER))
                written = 20
                while not dropping.done():
                    written += 1
                    await add_ended(other, EXPIRY + 4, [written])
                assert await dropping == 0
                assert written > 20
        finally:
            await other.close()
        assert await store.prune(now=OVER) == 3
        assert await stretches(line) == [("a", 1, 3, "ran")]

    async def test_a_run_that_is_put_back_is_not_folded(self, store: Store, line: Line) -> None:
        """A replay that has the row while its day is to go: the day waits for it."""
        await add_ended(line, EXPIRY, range(1, 4))
        async with line.transaction():
            await line.execute("DELETE FROM puntual.run_history WHERE tick_number = 3")
            assert await store.prune(now=OVER) == 0
        assert await store.prune(now=OVER) == 2
        assert await stretches(line) == [("a", 1, 2, "ran")]


class TestOldTicks:
    """The record of ticks ends somewhere."""

    async def test_stretches_that_are_over_go_in_pieces(self, store: Store, line: Line) -> None:
        """Those whose last tick is too old; one that began long ago and reaches into the time kept stays."""
        await put_stretches(line, *((f"s{number}", 1, 2, "ran") for number in range(10)))
        kept = 401 * DAY // 60_000_000
        await put_stretches(line, ("long", 1, kept, "ran"))
        now = tick(2) + 400 * DAY + 1
        assert [await store.prune(limit=4, now=now) for _ in range(4)] == [4, 4, 2, 0]
        assert await stretches(line) == [("long", 1, kept, "ran")]

    async def test_strays_leave_with_their_answers(self, store: Store, line: Line) -> None:
        """What has no day of its own is removed row by row, as much at once as is allowed."""
        await add_ended(line, EXPIRY + 200, range(1, 6))
        later = OVER + 200 * DAY
        assert [await store.prune(limit=2, now=later) for _ in range(4)] == [2, 2, 1, 0]
        assert await line.fetchval("SELECT count(*) FROM puntual.attempt_responses") == 0
        assert await stretches(line) == [("a", 1, 5, "ran")]


async def test_a_queue_whose_name_was_lost_gets_it_back(store: Store, line: Line) -> None:
    """Whoever enqueued may remember that it is written, after a restore above all: its runs would wait for ever."""
    await store.enqueue([new_run(1, queue="mail"), new_run(2, queue="web")])
    await line.execute("DELETE FROM puntual.lanes WHERE queue = 'mail'")
    await store.enqueue([new_run(3, queue="mail")])
    names = "SELECT array_agg(queue ORDER BY queue) FROM puntual.lanes"
    assert await line.fetchval(names) == ["web"]
    await store.prune()
    assert await line.fetchval(names) == ["mail", "web"]
