"""A page reads a bounded number of rows from its index and says where to go on; so does whatever counts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest

from puntual.model.fleet import COUNTED_TO
from puntual.model.run import Run, RunState
from puntual.store.contract import Store
from puntual.store.postgres import admin, listing, tally
from puntual.store.requests import Page, Retention, RunEdit, RunFilter
from puntual.testing.conformance.build import DAY, MINUTE, NOW, add, fetch, kill, new_run, take, uid
from tests.support.crowds import ENDED, crowd
from tests.support.explained import Explaining

DEAD = (RunState.DEAD,)


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page reads 10 rows of each table."""
    monkeypatch.setattr(listing, "ROWS_READ", 10)


async def _all(store: Store, where: RunFilter, limit: int = 100) -> tuple[list[Run], int]:
    found: list[Run] = []
    page: Page | None = Page(limit=limit)
    pages = 0
    while page is not None:
        part = await store.list_runs(where, page)
        found += part.items
        pages += 1
        page = None if part.next is None else Page(limit=limit, after=part.next)
    return found, pages


@pytest.mark.usefixtures("few_rows")
class TestBounds:
    """Runs that are few among many."""

    async def test_what_is_rare_is_found_page_after_page(self, store: Store) -> None:
        """Pages may be short or empty, and end where the list does."""
        await kill(store, *(new_run(number) for number in range(60)))
        await add(store, *(new_run(100 + number) for number in range(60)), new_run(70, task="rare"))
        found, pages = await _all(store, RunFilter(tasks=("rare",)))
        assert ([run.id for run in found], pages > 5) == ([uid(70)], True)
        first = await store.list_runs(RunFilter(tasks=("rare",)), Page())
        assert (first.items, first.next is None) == ((), False)

    async def test_a_full_page_goes_on_after_its_last_run(self, store: Store) -> None:
        """Nothing between two pages is lost, however the bound and the limit fall."""
        await kill(store, *(new_run(number) for number in range(40)))
        await add(store, *(new_run(100 + number) for number in range(35)))
        for limit in (1, 3, 7, 10, 11, 50):
            found, _ = await _all(store, RunFilter(), limit)
            assert [run.id for run in found] == sorted((run.id for run in found), reverse=True)
            assert len(found) == 75

    async def test_the_last_page_says_that_it_is(self, store: Store) -> None:
        """Also when it is just full."""
        await add(store, *(new_run(number) for number in range(5)))
        assert (await store.list_runs(RunFilter(), Page(limit=5))).next is None

    async def test_running_runs_are_found_at_once(self, store: Store) -> None:
        """However many wait above them."""
        await kill(store, new_run(1))
        await add(store, *(new_run(100 + number, delay_us=DAY) for number in range(50)))
        await add(store, new_run(2))
        (run,) = await take(store)
        part = await store.list_runs(RunFilter(states=(RunState.RUNNING,)), Page())
        assert (part.items, part.next) == ((run,), None)

    async def test_a_time_leaves_out_the_days_before_it(self, store: Store) -> None:
        """Ids of earlier days are not read at all."""
        await add(store, *(new_run(number) for number in range(50)))
        late = [new_run(1_000 * number, id=uid(5 * DAY // 1_000 + number)) for number in range(3)]
        await add(store, *late, now=NOW + 5 * DAY)
        part = await store.list_runs(RunFilter(since=NOW + 5 * DAY), Page())
        assert ([run.id for run in part.items], part.next) == ([run.id for run in reversed(late)], None)
        found, _ = await _all(store, RunFilter(until=NOW + DAY))
        assert len(found) == 50

    async def test_hands_reach_what_lies_deep(self, store: Store) -> None:
        """Edits, discards and replays by a filter find what they change in pieces, too, newest first."""
        await add(store, new_run(1, task="rare"), *(new_run(10 + number, delay_us=MINUTE) for number in range(50)))
        assert await store.edit_runs(RunFilter(tasks=("rare",)), RunEdit(queue="b"), now=NOW) == [uid(1)]
        assert (await fetch(store, uid(1))).queue == "b"
        ended = (new_run(200, tags=("rare",)), new_run(201, tags=("rare",)), *(new_run(210 + n) for n in range(50)))
        await kill(store, *ended)
        where = RunFilter(tags=("rare",))
        assert await store.discard(where, limit=1, now=NOW) == [uid(201)]
        assert await store.replay(where, now=NOW) == {uid(200): "replayed"}

    @pytest.mark.parametrize("after", ["", "x", "0199", "ffffffff-ffff-ffff-ffff-fffffffffffff"])
    async def test_a_page_after_what_is_no_id_is_no_error(self, store: Store, after: str) -> None:
        """The beginning of an id is a place in the list, and there is nothing after anything else."""
        await add(store, new_run(1))
        assert (await store.list_runs(RunFilter(), Page(after=after))).items == ()


@pytest.fixture(scope="module")
def crowded() -> Iterator[str]:
    """The URL of a database with many runs."""
    with crowd("crowd_of_lists") as url:
        yield url


@pytest.fixture
async def tx(crowded: str) -> AsyncIterator[Explaining]:
    """Tells what each statement reads."""
    connection = await asyncpg.connect(crowded)
    try:
        now = await connection.fetchval("SELECT puntual.now_us()")
        yield Explaining(connection, Retention(), given=now, now=now)
    finally:
        await connection.close()


def _scanned(tx: Explaining) -> set[str]:
    """Tables of runs that were read from end to end."""
    return {name for plan in tx.plans for name in plan.scanned if name == "runs" or name.startswith("crowd_")}


class TestPlans:
    """What is read, when the planner may choose freely, with 100,000 runs of each kind."""

    @pytest.mark.parametrize(
        ("where", "index", "pages"),
        [
            (RunFilter(), "id_idx", 500),
            (RunFilter(states=DEAD), "id_idx1", 500),
            (RunFilter(states=DEAD, queues=("q1",)), "id_idx1", 500),
            (RunFilter(states=(RunState.CANCELLED,)), "id_idx2", 500),
            (RunFilter(states=(RunState.PENDING,)), "runs_pkey", 100),
            (RunFilter(states=(RunState.RUNNING,)), "runs_running_queue", 10),
            (RunFilter(schedules=("s7",)), "schedule_id_idx", 400),
            (RunFilter(queues=("q1",), tasks=("t2",)), "id_idx", 2_000),
            (RunFilter(tasks=("nobody's",)), "id_idx", 5_000),
            (RunFilter(ids=("01990000-0001-7000-8000-000000001eef",)), "id_idx", 100),
        ],
    )
    @pytest.mark.parametrize("after", [None, "01990000-c350-7000-8000-000000000000"])
    async def test_lists_are_read_in_their_order(
        self, tx: Explaining, where: RunFilter, index: str, pages: int, after: str | None
    ) -> None:
        """No page reads beyond its bound, wherever it begins."""
        await listing.list_runs(tx, where, Page(after=after))
        assert _scanned(tx) == set()
        assert any(name.endswith(index) or name == index for plan in tx.plans for name in plan.indexes)
        assert sum(plan.pages for plan in tx.plans) < pages

    async def test_a_run_is_found_by_its_id(self, tx: Explaining) -> None:
        """Live ones without a look at history."""
        (live,) = (await listing.list_runs(tx, RunFilter(states=(RunState.PENDING,)), Page(limit=1))).items
        tx.plans = []
        assert await listing.get_run(tx, live.id) == live
        assert tx.plans[0].pages < 10
        assert await listing.get_run(tx, "01990000-0001-7000-9000-000000000000") is None
        assert (_scanned(tx), tx.plans[1].pages < 200) == (set(), True)

    async def test_a_snapshot_counts_to_its_bound(self, tx: Explaining) -> None:
        """Of each queue it reads a bounded number of runs, however many there are."""
        seen = await admin.snapshot(tx)
        assert [(queue.name, queue.due, queue.pending) for queue in seen.queues] == [
            (name, COUNTED_TO, COUNTED_TO) for name in ("q0", "q1", "q2")
        ]
        assert sum(queue.dead for queue in seen.queues) == ENDED // 100
        assert {waiting.task for waiting in seen.waiting} == {f"t{number}" for number in range(5)}
        assert _scanned(tx) == set()
        assert tx.plans[0].pages < 3 * 2.5 * COUNTED_TO

    async def test_a_tally_reads_what_went_wrong(self, tx: Explaining) -> None:
        """And nothing of what went well."""
        found = await tally.tally(tx, tx.now - DAY)
        assert (found.dead.count, found.late.count, found.retrying.count) == (ENDED // 100, 0, 0)
        assert _scanned(tx) == set()
        assert tx.plans[0].pages < 1_000
