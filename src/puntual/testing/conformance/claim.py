"""What claim promises: only what is due, wanted and allowed, each run to one worker."""

from __future__ import annotations

import asyncio

from puntual.model.attempt import OutcomeKind
from puntual.model.run import NewRun, RunState
from puntual.model.schedule import Pause
from puntual.store.contract import Store
from puntual.store.requests import QueueEdit
from puntual.testing.conformance.build import (
    MINUTE,
    NOW,
    SECOND,
    add,
    after,
    end,
    fetch,
    join,
    new_run,
    start,
    take,
    uid,
    wanting,
)


class TestClaim:
    """Taking runs."""

    async def test_a_claim_is_written_into_the_run(self, store: Store) -> None:
        """A claimed run is running, its attempt numbered, its worker and time known."""
        await join(store)
        await add(store, new_run(1))
        (run,) = await take(store, now=NOW + SECOND)
        assert (run.state, run.attempt, run.worker, run.claimed_at) == (RunState.RUNNING, 1, "w1", NOW + SECOND)
        assert await fetch(store, uid(1)) == run

    async def test_the_answer_tells_the_stores_time(self, store: Store) -> None:
        """A worker learns the store's time of the claim."""
        await join(store)
        assert (await store.claim(wanting(), now=NOW + SECOND)).now == NOW + SECOND

    async def test_attempts_are_numbered_on(self, store: Store) -> None:
        """A number is never used again, whether the attempt was charged or not."""
        (run,) = await start(store, new_run(1))
        await end(store, run, OutcomeKind.SNOOZED, retry_after_us=0)
        (run,) = await take(store)
        await end(store, run, OutcomeKind.FAILED, retry_after_us=0)
        (run,) = await take(store)
        assert (run.attempt, run.released, run.charged) == (3, 1, 2)

    async def test_a_run_is_claimed_once(self, store: Store) -> None:
        """What is running is nobody else's."""
        await join(store, "w1", "w2")
        await add(store, new_run(1))
        assert len(await take(store, "w1")) == 1
        assert await take(store, "w2") == ()

    async def test_concurrent_claims_share_no_run(self, store: Store) -> None:
        """Claims at once split what is there; what none of them got is there for the next one."""
        names = [f"w{number}" for number in range(8)]
        await join(store, *names)
        await add(store, *(new_run(number) for number in range(200)))
        answers = await asyncio.gather(*(take(store, name, limit=30) for name in names))
        ids = [run.id for runs in (*answers, await take(store, limit=200)) for run in runs]
        assert len(ids) == len(set(ids)) == 200

    async def test_the_limit_holds(self, store: Store) -> None:
        """A claim never takes more than was asked."""
        await join(store)
        await add(store, *(new_run(number) for number in range(10)))
        assert len(await take(store, limit=3)) == 3
        assert len(await take(store, limit=100)) == 7

    async def test_the_earliest_claimable_go_first(self, store: Store) -> None:
        """Within a priority the order is that of becoming claimable."""
        await join(store)
        for number, delay in ((1, 3), (2, 1), (3, 2)):
            await add(store, new_run(number, delay_us=delay * SECOND))
        runs = await take(store, now=NOW + MINUTE)
        assert [run.id for run in runs] == [uid(2), uid(3), uid(1)]
        assert [run.id for run in runs] == [run.id for run in sorted(runs, key=lambda run: run.claim_at)]

    async def test_a_claim_with_nothing_to_take_is_empty(self, store: Store) -> None:
        """An empty store gives an empty answer."""
        await join(store)
        answer = await store.claim(wanting(), now=NOW)
        assert (answer.runs, answer.next_claim_at, answer.lost_lease) == ((), None, False)

    async def test_the_bytes_of_the_arguments_bound_a_claim(self, store: Store) -> None:
        """A claim stops once its arguments exceed ``max_bytes``; the rest is for the next one."""
        await join(store)
        text = '"' + "x" * 998 + '"'
        await add(store, *(new_run(number, args=text) for number in range(10)))
        first = await take(store, max_bytes=3_500)
        assert 3 <= len(first) <= 4
        assert len(await take(store)) == 10 - len(first)

    async def test_a_run_larger_than_the_bound_is_still_taken(self, store: Store) -> None:
        """Arguments over ``max_bytes`` come alone rather than never."""
        await join(store)
        await add(store, new_run(1, args='"' + "x" * 5_000 + '"'))
        assert len(await take(store, max_bytes=100)) == 1

    async def test_a_sweep_takes_what_any_claim_takes(self, store: Store) -> None:
        """A sweep looks everywhere and obeys the same rules."""
        await join(store)
        await add(store, new_run(1), new_run(2, delay_us=MINUTE))
        assert [run.id for run in await take(store, sweep=True)] == [uid(1)]


class TestClaimAhead:
    """What is due now, and what is due within a moment."""

    async def test_what_is_not_due_is_left(self, store: Store) -> None:
        """A run is claimable from its instant, not a microsecond before."""
        await join(store)
        await add(store, new_run(1, delay_us=MINUTE))
        assert await take(store, now=NOW + MINUTE - 1) == ()
        assert len(await take(store, now=NOW + MINUTE)) == 1

    async def test_the_window_reaches_ahead(self, store: Store) -> None:
        """What is due within ``ahead_us`` is taken, what is due later is not."""
        await join(store)
        await add(store, new_run(1, delay_us=5 * SECOND), new_run(2, delay_us=5 * SECOND + 1))
        assert [run.id for run in await take(store, ahead_us=5 * SECOND)] == [uid(1)]

    async def test_the_next_due_time_is_told(self, store: Store) -> None:
        """A worker learns when to come back."""
        await join(store)
        await add(store, new_run(1, delay_us=MINUTE), new_run(2, delay_us=2 * MINUTE))
        assert (await store.claim(wanting(), now=NOW)).next_claim_at == NOW + MINUTE

    async def test_the_next_due_time_is_of_runs_that_it_could_take(self, store: Store) -> None:
        """A task that this worker does not know, or a queue it does not serve, tells it nothing."""
        await join(store)
        await add(store, new_run(1, task="unknown", delay_us=SECOND), new_run(2, queue="other", delay_us=SECOND))
        await add(store, new_run(3, delay_us=MINUTE))
        answer = await store.claim(wanting(queues=("default",)), now=NOW)
        assert (answer.runs, answer.next_claim_at) == ((), NOW + MINUTE)

    async def test_a_retry_is_claimed_when_its_wait_is_over(self, store: Store) -> None:
        """A failed run comes back after the policy's wait, and not before."""
        (run,) = await start(store, new_run(1))
        await end(store, run, OutcomeKind.FAILED)
        waiting = await fetch(store, uid(1))
        assert waiting.claim_at > NOW
        assert await take(store, now=waiting.claim_at - 1) == ()
        assert len(await take(store, now=waiting.claim_at)) == 1


class TestClaimFilters:
    """Only what this worker serves."""

    async def test_only_known_tasks_are_taken(self, store: Store) -> None:
        """A run of another task is left to others."""
        await join(store)
        await add(store, new_run(1, task="other"), new_run(2), new_run(3, task="third"))
        assert [run.id for run in await take(store, tasks=("task", "third"))] == [uid(2), uid(3)]
        assert (await fetch(store, uid(1))).state is RunState.PENDING

    async def test_a_worker_without_tasks_takes_nothing(self, store: Store) -> None:
        """No names known, nothing taken."""
        await join(store)
        await add(store, new_run(1))
        assert await take(store, tasks=()) == ()

    async def test_only_the_queues_asked_for_are_served(self, store: Store) -> None:
        """Another queue's runs are left."""
        await join(store)
        await add(store, new_run(1, queue="a"), new_run(2, queue="b"), new_run(3, queue="c"))
        assert {run.id for run in await take(store, queues=("a", "c"))} == {uid(1), uid(3)}

    async def test_without_queues_every_queue_is_served(self, store: Store) -> None:
        """None means all, those made since too."""
        await join(store)
        await add(store, new_run(1, queue="a"), new_run(2))
        assert len(await take(store)) == 2
        await add(store, new_run(3, queue="new"))
        assert len(await take(store)) == 1

    async def test_unknown_runs_at_the_head_do_not_block_their_lane(self, store: Store) -> None:
        """A known run behind a few unknown ones is found."""
        await join(store)
        await add(store, *(new_run(number, task="unknown") for number in range(20)))
        await add(store, new_run(100), now=NOW + 1)
        assert [run.id for run in await take(store, now=NOW + 1, limit=5)] == [uid(100)]

    async def test_a_lane_headed_by_unknown_runs_does_not_block_others(self, store: Store) -> None:
        """However many a lane holds that nobody here knows, the other lanes are served."""
        await join(store)
        await add(store, *(new_run(number, task="unknown", queue="a") for number in range(3_000)))
        await add(store, new_run(5_000, queue="b"), now=NOW + 1)
        assert [run.id for run in await take(store, now=NOW + 1, limit=5)] == [uid(5_000)]

    async def test_a_long_unknown_head_only_delays_its_own_lane(self, store: Store) -> None:
        """A sweep finds the known run behind thousands of unknown ones."""
        await join(store)
        await add(store, *(new_run(number, task="unknown") for number in range(3_000)))
        await add(store, new_run(5_000), now=NOW + 1)
        assert [run.id for run in await take(store, now=NOW + 1, sweep=True)] == [uid(5_000)]


class TestClaimAlone:
    """A run that was lost twice is tried in a process of its own."""

    async def test_a_run_lost_twice_is_left_and_told(self, store: Store) -> None:
        """An ordinary claim passes it over, takes the others, and says that one waits."""
        now = await _lose_twice(store)
        await add(store, new_run(2), now=now)
        answer = await store.claim(wanting(), now=now)
        assert ([run.id for run in answer.runs], answer.alone_waiting) == ([uid(2)], True)

    async def test_it_does_not_wait_before_it_is_due(self, store: Store) -> None:
        """While it backs off there is nobody to start for it."""
        now = await _lose_twice(store)
        assert not (await store.claim(wanting(), now=now - 1)).alone_waiting

    async def test_a_claim_alone_takes_it_and_nothing_else(self, store: Store) -> None:
        """Such a claim leaves every other run to others."""
        now = await _lose_twice(store)
        await add(store, new_run(2), now=now)
        assert [run.id for run in await take(store, now=now, alone=True)] == [uid(1)]

    async def test_one_in_a_full_queue_keeps_no_other_waiting(self, store: Store) -> None:
        """What cannot run now is not offered, so that a claim of one finds the next."""
        now = await _lose_twice(store, new_run(1, queue="full"))
        now = max(now, await _lose_twice(store, new_run(2)))
        await store.put_queue(QueueEdit(name="full", concurrency=0))
        assert [run.id for run in await take(store, now=now, limit=1, alone=True)] == [uid(2)]

    async def test_a_run_lost_once_is_anybodys(self, store: Store) -> None:
        """One loss proves nothing."""
        (run,) = await start(store, new_run(1))
        await end(store, run, OutcomeKind.LOST)
        now = (await fetch(store, uid(1))).claim_at
        assert await take(store, now=now, alone=True) == ()
        assert len(await take(store, now=now)) == 1


class TestClaimPauses:
    """What is paused is left alone."""

    async def test_a_paused_queue_gives_nothing(self, store: Store) -> None:
        """Its runs stay pending; other queues go on; resumed, it gives them."""
        await join(store)
        await add(store, new_run(1, queue="a"), new_run(2, queue="b"))
        await store.put_queue(QueueEdit(name="a", paused=True))
        assert [run.id for run in await take(store)] == [uid(2)]
        await store.put_queue(QueueEdit(name="a", paused=False))
        assert [run.id for run in await take(store)] == [uid(1)]

    async def test_paused_everything_gives_nothing(self, store: Store) -> None:
        """While everything is paused no run starts; resumed, they do."""
        await join(store)
        await add(store, new_run(1))
        await store.pause_all(Pause(since=NOW), now=NOW)
        assert await take(store) == ()
        await store.pause_all(Pause(since=NOW, until=NOW + SECOND), now=NOW + SECOND)
        assert len(await take(store, now=NOW + SECOND)) == 1

    async def test_a_pause_does_not_touch_what_runs(self, store: Store) -> None:
        """A run that was claimed is settled as ever."""
        (run,) = await start(store, new_run(1))
        await store.pause_all(Pause(since=NOW), now=NOW)
        assert (await end(store, run)).written == (uid(1),)


class TestQueueConcurrency:
    """A limited queue never runs more than its limit."""

    async def test_a_claim_stops_at_the_limit(self, store: Store) -> None:
        """Not more runs than the queue allows, and others beside it are not held up."""
        await join(store)
        await store.put_queue(QueueEdit(name="slow", concurrency=2))
        await add(store, *(new_run(number, queue="slow") for number in range(5)), new_run(9))
        runs = await take(store)
        assert sorted(run.queue for run in runs) == ["default", "slow", "slow"]
        assert await take(store) == ()

    async def test_a_settled_run_makes_room(self, store: Store) -> None:
        """What ends or is put back no longer counts."""
        await store.put_queue(QueueEdit(name="slow", concurrency=1))
        await join(store)
        await add(store, new_run(1, queue="slow"), new_run(2, queue="slow"))
        (run,) = await take(store)
        await end(store, run)
        assert [run.id for run in await take(store)] == [uid(2)]

    async def test_what_is_claimed_ahead_counts(self, store: Store) -> None:
        """A run held for its instant takes its place."""
        await store.put_queue(QueueEdit(name="slow", concurrency=1))
        await join(store)
        await add(store, new_run(1, queue="slow", delay_us=SECOND), new_run(2, queue="slow", delay_us=SECOND))
        assert len(await take(store, ahead_us=SECOND)) == 1
        assert await take(store, now=NOW + SECOND) == ()

    async def test_concurrent_claimers_never_overshoot(self, store: Store) -> None:
        """However many claim at once, the queue's limit holds."""
        names = [f"w{number}" for number in range(6)]
        await join(store, *names)
        await store.put_queue(QueueEdit(name="slow", concurrency=3))
        await add(store, *(new_run(number, queue="slow") for number in range(40)))
        for _ in range(5):
            answers = await asyncio.gather(*(take(store, name) for name in names))
            held = [run for runs in answers for run in runs]
            assert len(held) <= 3
            held += await take(store, names[0])
            assert len(held) == 3
            await store.settle([after(run, OutcomeKind.SUCCEEDED) for run in held], now=NOW)

    async def test_the_limits_of_other_queues_are_nothing_to_a_claim(self, store: Store) -> None:
        """Neither of one that it does not ask for, nor of one that never had a run."""
        await join(store)
        await store.put_queue(QueueEdit(name="other", concurrency=1))
        await store.put_queue(QueueEdit(name="never", concurrency=1))
        await add(store, new_run(1), new_run(2, queue="other"))
        assert [run.id for run in await take(store, queues=("default",))] == [uid(1)]
        assert [run.id for run in await take(store)] == [uid(2)]

    async def test_a_limit_of_zero_gives_nothing(self, store: Store) -> None:
        """A queue that may run nothing runs nothing."""
        await join(store)
        await store.put_queue(QueueEdit(name="slow", concurrency=0))
        await add(store, new_run(1, queue="slow"))
        assert await take(store) == ()


async def _lose_twice(store: Store, lost: NewRun | None = None) -> int:
    """Loses a run, 1 if none is given, two times; gives the instant at which it is claimable again."""
    await join(store)
    (id,) = await add(store, lost or new_run(1))
    now = NOW
    for _ in range(2):
        (run,) = await take(store, now=now)
        await end(store, run, OutcomeKind.LOST, now=now)
        now = (await fetch(store, id)).claim_at
    return now
