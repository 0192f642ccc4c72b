"""What claim promises about priorities: 8 : 4 : 2 : 1, unused shares passed down, nobody starved."""

from __future__ import annotations

from collections import Counter

from puntual.model.run import Priority
from puntual.store.contract import Store
from puntual.store.requests import QueueEdit
from puntual.testing.conformance.build import NOW, SECOND, add, end, join, new_run, take, uid, wanting


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


class TestLanes:
    """The same over many lanes: queues and tasks share within their class."""

    async def test_a_class_has_its_share_however_many_lanes_another_fills(self, store: Store) -> None:
        """Critical runs of one queue beside low ones of a hundred, claim after claim: 8 of 15 are theirs."""
        await join(store)
        critical = [new_run(number, queue="hot", priority=Priority.CRITICAL) for number in range(400)]
        low = [new_run(1_000 + number, queue=f"q{number % 100}", priority=Priority.LOW) for number in range(1_000)]
        await add(store, *critical, *low)
        for _ in range(3):
            critical_share, _, _, low_share = await _shares(store, 90)
            assert (critical_share, low_share) == (48, 42)

    async def test_runs_that_nobody_here_knows_keep_no_other_waiting(self, store: Store) -> None:
        """Whatever stands before it in its lane, a run of a task that the worker knows is taken at once."""
        await join(store)
        await add(store, *(new_run(number, task="other") for number in range(1_500)))
        await add(store, new_run(9_000), now=NOW + 1)
        assert [run.id for run in await take(store, now=NOW + 1)] == [uid(9_000)]

    async def test_the_next_due_run_is_told_behind_those_of_others(self, store: Store) -> None:
        """The worker knows when to come again, whatever else is due before."""
        await join(store)
        await add(store, *(new_run(number, task="other", delay_us=SECOND) for number in range(1_500)))
        await add(store, new_run(9_000, delay_us=2 * SECOND))
        assert (await store.claim(wanting(), now=NOW)).next_claim_at == NOW + 2 * SECOND
