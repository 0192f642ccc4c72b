"""What claim promises about priorities: 8 : 4 : 2 : 1, unused shares passed down, nobody starved."""

from __future__ import annotations

from collections import Counter

from puntual.model.run import Priority
from puntual.store.contract import Store
from puntual.store.requests import QueueEdit
from puntual.testing.conformance.build import SECOND, add, end, join, new_run, take


async def _backlog(store: Store, **amounts: int) -> None:
    await join(store)
    runs = [
        new_run(1_000 * priority + number, priority=priority)
        for priority in Priority
        for number in range(amounts.get(priority.word, 0))
    ]
    await add(store, *runs)


async def _shares(store: Store, limit: int) -> list[int]:
    taken = Counter(run.priority for run in await take(store, limit=limit))
    return [taken[priority] for priority in Priority]


class TestPriorities:
    """The shares of one claim."""

    async def test_a_claim_is_shared_8_4_2_1(self, store: Store) -> None:
        """With enough of each, every class gets its share."""
        await _backlog(store, critical=50, high=50, normal=50, low=50)
        assert await _shares(store, 30) == [16, 8, 4, 2]

    async def test_unused_shares_pass_down(self, store: Store) -> None:
        """What a class leaves goes to those below it."""
        await _backlog(store, critical=2, high=50, normal=50, low=50)
        critical, high, normal, low = await _shares(store, 30)
        assert critical == 2
        assert high >= 8
        assert normal >= 4
        assert low >= 2
        assert critical + high + normal + low == 30

    async def test_the_lowest_alone_gets_everything(self, store: Store) -> None:
        """No slot stays empty while any class has runs."""
        await _backlog(store, low=50)
        assert await _shares(store, 30) == [0, 0, 0, 30]

    async def test_the_highest_alone_gets_everything(self, store: Store) -> None:
        """What the lower classes leave goes to the upper ones."""
        await _backlog(store, critical=50)
        assert await _shares(store, 30) == [30, 0, 0, 0]

    async def test_a_gap_in_the_middle_leaves_no_slot_empty(self, store: Store) -> None:
        """Two classes far apart share the whole claim."""
        await _backlog(store, critical=50, low=50)
        critical, _, _, low = await _shares(store, 30)
        assert critical >= 16
        assert low >= 2
        assert critical + low == 30

    async def test_a_worker_with_one_slot_starves_nobody(self, store: Store) -> None:
        """Claims of one run each come to every class in the end, the critical one first of all."""
        await _backlog(store, critical=100, high=100, normal=100, low=100)
        taken = Counter([(await take(store, limit=1))[0].priority for _ in range(100)])
        assert all(taken[priority] for priority in Priority), taken
        assert taken[Priority.CRITICAL] == max(taken.values())

    async def test_a_queue_with_one_slot_starves_nobody(self, store: Store) -> None:
        """Where a queue's limit leaves room for one, its classes take turns in that too."""
        await _backlog(store, critical=60, low=60)
        await store.put_queue(QueueEdit(name="default", concurrency=1))
        taken: Counter[Priority] = Counter()
        for _ in range(60):
            (run,) = await take(store)
            taken[run.priority] += 1
            await end(store, run)
        assert taken[Priority.CRITICAL] > taken[Priority.LOW] > 0

    async def test_an_early_low_run_does_not_hold_up_a_critical_one(self, store: Store) -> None:
        """A critical run goes before a low one that has waited longer."""
        await _backlog(store, low=1)
        await add(store, new_run(1, priority=Priority.CRITICAL), now=1_800_000_001 * SECOND)
        (first, *_) = await take(store, now=1_800_000_001 * SECOND)
        assert first.priority is Priority.CRITICAL
