"""What list_runs promises: live and ended runs in one list, by id, newest first, whole while rows move."""

from __future__ import annotations

import pytest

from puntual.model.attempt import OutcomeKind
from puntual.model.run import Origin, Run, RunState
from puntual.store.contract import Store
from puntual.store.requests import Page, RunFilter
from puntual.testing.conformance.build import (
    MINUTE,
    NOW,
    add,
    after,
    end,
    kill,
    new_run,
    schedule,
    start,
    take,
    tick_run,
    uid,
)


class TestListRuns:
    """Finding runs."""

    async def test_live_and_ended_runs_are_one_list(self, store: Store) -> None:
        """Newest first, wherever their rows are kept."""
        (one,) = await start(store, new_run(1))
        (three,) = await start(store, new_run(3))
        await end(store, one)
        await end(store, three)
        await add(store, new_run(2), new_run(4))
        assert [run.id for run in (await store.list_runs(RunFilter(), Page())).items] == [
            uid(4),
            uid(3),
            uid(2),
            uid(1),
        ]

    async def test_an_empty_store_lists_nothing(self, store: Store) -> None:
        """No runs, no error."""
        assert (await store.list_runs(RunFilter(), Page())).items == ()

    async def test_a_listed_run_is_the_run(self, store: Store) -> None:
        """The list gives what ``get_run`` gives."""
        await kill(store, new_run(1, tags=("a",)))
        await add(store, new_run(2))
        listed = (await store.list_runs(RunFilter(), Page())).items
        assert listed == (await store.get_run(uid(2)), await store.get_run(uid(1)))

    @pytest.mark.parametrize(
        ("where", "found"),
        [
            (RunFilter(ids=(uid(1), uid(4), uid(99))), {1, 4}),
            (RunFilter(states=(RunState.PENDING,)), {4, 5}),
            (RunFilter(states=(RunState.SUCCEEDED, RunState.DEAD)), {1, 2}),
            (RunFilter(states=(RunState.RUNNING,)), {3}),
            (RunFilter(queues=("b",)), {2, 5}),
            (RunFilter(queues=("b", "c")), {2, 3, 5}),
            (RunFilter(tasks=("other",)), {4}),
            (RunFilter(tags=("x",)), {1, 5}),
            (RunFilter(tags=("x", "y")), {1, 2, 5}),
            (RunFilter(origins=(Origin.HOOK,)), {2}),
            (RunFilter(schedules=("nightly",)), {5}),
            (RunFilter(since=NOW + MINUTE), {4, 5}),
            (RunFilter(until=NOW + MINUTE), {1, 2, 3}),
            (RunFilter(queues=("b",), states=(RunState.PENDING,), tags=("x",)), {5}),
            (RunFilter(queues=("nowhere",)), set()),
        ],
    )
    async def test_filters(self, store: Store, where: RunFilter, found: set[int]) -> None:
        """Every condition must hold, and within one any value."""
        one, two, _ = await start(
            store,
            new_run(1, tags=("x",)),
            new_run(2, queue="b", tags=("y", "z"), origin=Origin.HOOK),
            new_run(3, queue="c"),
        )
        await store.settle([after(one, OutcomeKind.SUCCEEDED), after(two, OutcomeKind.FAILED, final=True)], now=NOW)
        born = tick_run(schedule(), 1, id=uid(5), queue="b", tags=("x",))
        await add(store, new_run(4, task="other"), born, now=NOW + MINUTE)
        assert {run.id for run in (await store.list_runs(where, Page())).items} == {uid(number) for number in found}


class TestRunPages:
    """Going through a long list."""

    async def test_pages_join_without_seam(self, store: Store) -> None:
        """Each page goes on after the last id of the one before."""
        runs = await start(store, *(new_run(number) for number in range(25)))
        await store.settle([after(run, OutcomeKind.SUCCEEDED) for run in runs[::2]], now=NOW)
        seen = await _pages(store, RunFilter(), 7)
        assert [run.id for run in seen] == [uid(number) for number in reversed(range(25))]

    async def test_pages_of_a_filtered_list_join_too(self, store: Store) -> None:
        """What matches is found, however far apart it lies."""
        await add(store, *(new_run(number, queue="ab"[number % 2]) for number in range(40)))
        seen = await _pages(store, RunFilter(queues=("a",)), 6)
        assert [run.id for run in seen] == [uid(number) for number in reversed(range(0, 40, 2))]

    async def test_a_run_that_ends_between_pages_is_seen_once(self, store: Store) -> None:
        """Rows that move to history make neither doubles nor holes."""
        runs = await start(store, *(new_run(number) for number in range(30)))
        first = (await store.list_runs(RunFilter(), Page(limit=10))).items
        await store.settle([after(run, OutcomeKind.SUCCEEDED) for run in runs], now=NOW)
        second = (await store.list_runs(RunFilter(), Page(limit=10, after=first[-1].id))).items
        await store.cancel([run.id for run in runs], now=NOW)
        third = (await store.list_runs(RunFilter(), Page(limit=10, after=second[-1].id))).items
        assert [run.id for run in (*first, *second, *third)] == [uid(number) for number in reversed(range(30))]

    async def test_a_run_that_comes_back_between_pages_is_seen_once(self, store: Store) -> None:
        """A replay moves rows the other way."""
        await kill(store, *(new_run(number) for number in range(20)))
        first = (await store.list_runs(RunFilter(), Page(limit=10))).items
        await store.replay(RunFilter(states=(RunState.DEAD,)), now=NOW)
        await take(store, limit=5)
        second = (await store.list_runs(RunFilter(), Page(limit=10, after=first[-1].id))).items
        assert [run.id for run in (*first, *second)] == [uid(number) for number in reversed(range(20))]

    async def test_newer_runs_do_not_disturb_later_pages(self, store: Store) -> None:
        """What arrives meanwhile stands before the first page."""
        await add(store, *(new_run(number) for number in range(10)))
        first = (await store.list_runs(RunFilter(), Page(limit=5))).items
        await add(store, *(new_run(number) for number in range(10, 20)))
        second = (await store.list_runs(RunFilter(), Page(limit=5, after=first[-1].id))).items
        assert [run.id for run in second] == [uid(number) for number in reversed(range(5))]


async def _pages(store: Store, where: RunFilter, limit: int) -> list[Run]:
    seen: list[Run] = []
    page = Page(limit=limit)
    while True:
        part = await store.list_runs(where, page)
        assert len(part.items) <= limit
        seen += part.items
        if part.next is None:
            return seen
        page = Page(limit=limit, after=part.next)
