"""A page reads a bounded number of rows, and says where to go on."""

from __future__ import annotations

import pytest

from puntual.model.run import Run, RunState
from puntual.model.schedule import Fate, FateReason, Stretch, Tick
from puntual.store.requests import Page, RunEdit, RunFilter, TickFilter
from puntual.store.sqlite import SqliteStore, listing, ticks
from puntual.testing.conformance.build import (
    DAY,
    MINUTE,
    NOW,
    add,
    cursor_at,
    deciding,
    fetch,
    kill,
    named,
    new_run,
    plan_to,
    put,
    schedule,
    take,
    tick,
    tick_run,
    uid,
)


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page reads 10 rows of each table."""
    monkeypatch.setattr(listing, "ROWS_READ", 10)
    monkeypatch.setattr(ticks, "ROWS_READ", 10)


async def _all(store: SqliteStore, where: RunFilter, limit: int = 100) -> tuple[list[Run], int]:
    found: list[Run] = []
    page: Page | None = Page(limit=limit)
    pages = 0
    while page is not None:
        part = await store.list_runs(where, page)
        found += part.items
        pages += 1
        page = None if part.next is None else Page(limit=limit, after=part.next)
    return found, pages


async def _all_ticks(store: SqliteStore, where: TickFilter) -> tuple[list[Tick], int]:
    found: list[Tick] = []
    page: Page | None = Page()
    pages = 0
    while page is not None:
        part = await store.list_ticks(where, page)
        found += part.items
        pages += 1
        page = None if part.next is None else Page(after=part.next)
    return found, pages


class TestRuns:
    """Runs that are few among many."""

    async def test_what_is_rare_is_found_page_after_page(self, store: SqliteStore) -> None:
        """Pages may be short or empty, and end where the list does."""
        await kill(store, *(new_run(number) for number in range(60)))
        await add(store, *(new_run(100 + number) for number in range(60)), new_run(70, task="rare"))
        found, pages = await _all(store, RunFilter(tasks=("rare",)))
        assert [run.id for run in found] == [uid(70)]
        assert pages > 5
        first = await store.list_runs(RunFilter(tasks=("rare",)), Page())
        assert first.items == ()
        assert first.next is not None

    async def test_a_full_page_goes_on_after_its_last_run(self, store: SqliteStore) -> None:
        """Nothing between two pages is lost, however the bound and the limit fall."""
        await kill(store, *(new_run(number) for number in range(40)))
        await add(store, *(new_run(100 + number) for number in range(35)))
        for limit in (1, 3, 7, 10, 11, 50):
            found, _ = await _all(store, RunFilter(), limit)
            assert [run.id for run in found] == sorted((run.id for run in found), reverse=True)
            assert len(found) == 75

    async def test_the_last_page_says_that_it_is(self, store: SqliteStore) -> None:
        """Also when it is just full."""
        await add(store, *(new_run(number) for number in range(5)))
        assert (await store.list_runs(RunFilter(), Page(limit=5))).next is None

    async def test_running_runs_are_found_at_once(self, store: SqliteStore) -> None:
        """However many wait above them."""
        await kill(store, new_run(1))
        await add(store, *(new_run(100 + number, delay_us=DAY) for number in range(50)))
        await add(store, new_run(2))
        (run,) = await take(store)
        part = await store.list_runs(RunFilter(states=(RunState.RUNNING,)), Page())
        assert (part.items, part.next) == ((run,), None)

    async def test_a_time_leaves_out_the_days_before_it(self, store: SqliteStore) -> None:
        """Ids of earlier days are not read at all."""
        await add(store, *(new_run(number) for number in range(50)))
        late = [new_run(1_000 * number, id=uid(5 * DAY // 1_000 + number)) for number in range(3)]
        await add(store, *late, now=NOW + 5 * DAY)
        part = await store.list_runs(RunFilter(since=NOW + 5 * DAY), Page())
        assert ([run.id for run in part.items], part.next) == ([run.id for run in reversed(late)], None)
        found, _ = await _all(store, RunFilter(until=NOW + DAY))
        assert len(found) == 50


class TestHands:
    """Changes by a filter find what they change in pieces, too."""

    async def test_edits_reach_what_lies_deep(self, store: SqliteStore) -> None:
        """Below rows that do not fit."""
        await add(store, new_run(1, task="rare"), *(new_run(10 + number) for number in range(50)))
        assert await store.edit_runs(RunFilter(tasks=("rare",)), RunEdit(queue="b"), now=NOW) == [uid(1)]
        assert (await fetch(store, uid(1))).queue == "b"

    async def test_an_edit_leaves_what_is_no_longer_pending(self, store: SqliteStore) -> None:
        """Only pending runs are looked for, whatever states were named."""
        await kill(store, new_run(1))
        assert await store.edit_runs(RunFilter(states=(RunState.DEAD,)), RunEdit(queue="b"), now=NOW) == []

    async def test_replays_and_discards_reach_it_too(self, store: SqliteStore) -> None:
        """Up to the limit, newest first."""
        await kill(store, new_run(1, tags=("rare",)), new_run(2, tags=("rare",)), *(new_run(10 + n) for n in range(50)))
        where = RunFilter(tags=("rare",))
        assert await store.discard(where, limit=1, now=NOW) == [uid(2)]
        assert await store.replay(where, now=NOW) == {uid(1): "replayed"}


class TestTicks:
    """Ticks of a fate that is rare."""

    async def test_they_are_found_page_after_page(self, store: SqliteStore) -> None:
        """Among ticks that ran, and stretches of another fate."""
        await _record(store)
        found, pages = await _all_ticks(store, TickFilter(fates=(Fate.MISSED,)))
        assert [row.number for row in found] == [41]
        assert pages > 2
        ran, _ = await _all_ticks(store, TickFilter(fates=(Fate.RAN,)))
        assert [row.number for row in ran] == list(range(40, 0, -1))
        late, _ = await _all_ticks(store, TickFilter(since=tick(30), until=tick(50)))
        assert [row.number for row in late] == list(range(49, 29, -1))

    async def test_many_at_one_instant_are_passed(self, store: SqliteStore) -> None:
        """A page that stops at an instant reads all of it, so that the next one begins before it."""
        names = [f"s{number:02}" for number in range(30)]
        missed = Stretch(1, tick(1), tick(2), 2, at_least=False, fate=Fate.MISSED, reason=FateReason.DOWN)
        await put(store, *(schedule(name) for name in names))
        await store.plan(deciding(lambda seen: plan_to(seen, 2, runs=(), stretches=(missed,))), now=NOW)
        found, _ = await _all_ticks(store, TickFilter(fates=(Fate.MISSED,)))
        assert len(found) == 30


async def _record(store: SqliteStore) -> None:
    """Ticks 1 to 40 ran, 41 was missed, and 42 to 80 were skipped one by one for two reasons."""
    owner = schedule()
    await put(store, owner)
    await kill(store, *(tick_run(owner, number) for number in range(1, 41)), now=tick(41))
    reasons = (FateReason.OVERLAP, FateReason.PAUSED)
    skipped = [
        Stretch(number, tick(number), tick(number), 1, at_least=False, fate=Fate.SKIPPED, reason=reasons[number % 2])
        for number in range(42, 81)
    ]
    missed = Stretch(41, tick(41), tick(41), 1, at_least=False, fate=Fate.MISSED, reason=FateReason.DOWN)
    decide = deciding(lambda seen: plan_to(seen, 80, runs=(), stretches=(missed, *skipped), cursor=cursor_at(80)))
    await store.plan(decide, now=NOW)


class TestLast:
    """The last tick of a schedule."""

    async def test_it_is_not_that_of_another_of_its_name(self, store: SqliteStore) -> None:
        """A schedule made anew has had none, whatever its predecessor had; and waiting ticks are not its last."""
        await kill(store, *(tick_run(schedule(), number) for number in range(1, 40)), now=tick(41))
        anew = schedule(id=uid(9_999), created_at=tick(41), updated_at=tick(41))
        await put(store, anew, now=tick(41))
        assert (await named(store, "nightly")).last is None
        await kill(store, tick_run(anew, 42), name="w2", now=tick(42) + MINUTE)
        last = (await named(store, "nightly")).last
        assert last is not None
        assert last.tick_at == tick(42)
