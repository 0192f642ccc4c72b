"""What enqueue promises: all or none, one run for an id, one live run for a key."""

from __future__ import annotations

import asyncio

import pytest

from puntual.model.attempt import OutcomeKind
from puntual.model.errors import StoreDataError
from puntual.model.policy import OnLostLease, RetryPolicy, RunPolicy
from puntual.model.run import NewRun, Origin, Priority, RunState
from puntual.store.contract import Store
from puntual.store.requests import Enqueued, Page, RunFilter
from puntual.testing.conformance.build import (
    MINUTE,
    NOW,
    SECOND,
    add,
    end,
    fetch,
    kill,
    new_run,
    schedule,
    start,
    take,
    uid,
)


class TestEnqueue:
    """Inserting runs."""

    async def test_a_run_becomes_pending_and_due_now(self, store: Store) -> None:
        """Without a due time a run is due at the store's now."""
        assert await store.enqueue([new_run(1)], now=NOW) == [Enqueued(uid(1), now=NOW)]
        run = await fetch(store, uid(1))
        assert (run.state, run.due_at, run.claim_at, run.created_at) == (RunState.PENDING, NOW, NOW, NOW)
        assert (run.attempt, run.released, run.started_at, run.worker, run.attempts) == (0, 0, None, None, ())

    async def test_everything_that_was_asked_is_kept(self, store: Store) -> None:
        """What a run is made of comes back as it was given."""
        owner = schedule()
        policy = RunPolicy(
            retry=RetryPolicy(max_attempts=7, on=("5xx",)), timeout_us=None, on_lost_lease=OnLostLease.CANCEL
        )
        asked = NewRun(
            id=uid(1),
            task="mail.send",
            args='{"to":"ana ñ \U0001f600"}',
            queue="mail",
            priority=Priority.HIGH,
            origin=Origin.BACKFILL,
            replay_of=uid(9),
            schedule_id=owner.id,
            schedule=owner.name,
            tick_at=NOW - MINUTE,
            tick_number=12,
            due_at=NOW + MINUTE,
            max_attempts=7,
            policy=policy,
            unique_key="k",
            tags=("a", "b"),
        )
        await store.enqueue([asked], now=NOW)
        run = await fetch(store, uid(1))
        for field in NewRun.__struct_fields__:
            if field != "delay_us":
                assert getattr(run, field) == getattr(asked, field), field

    async def test_a_delay_counts_from_the_stores_now(self, store: Store) -> None:
        """A delayed run is due that long after the insert."""
        await add(store, new_run(1, delay_us=5 * SECOND))
        run = await fetch(store, uid(1))
        assert (run.due_at, run.claim_at) == (NOW + 5 * SECOND, NOW + 5 * SECOND)

    async def test_a_due_time_in_the_past_is_kept_but_claimable_from_now(self, store: Store) -> None:
        """``due_at`` says what was asked, ``claim_at`` is never before the insert."""
        await add(store, new_run(1, due_at=NOW - MINUTE))
        run = await fetch(store, uid(1))
        assert (run.due_at, run.claim_at) == (NOW - MINUTE, NOW)

    async def test_an_empty_list_does_nothing(self, store: Store) -> None:
        """No runs, no answers, no error."""
        assert await store.enqueue([], now=NOW) == []

    async def test_answers_stand_in_the_order_of_the_runs(self, store: Store) -> None:
        """Each run's answer stands in its place, whatever the order of keys and ids."""
        runs = [new_run(3, unique_key="z"), new_run(1), new_run(2, unique_key="a"), new_run(4)]
        assert [answer.id for answer in await store.enqueue(runs, now=NOW)] == [uid(3), uid(1), uid(2), uid(4)]

    async def test_ten_thousand_runs_in_one_call(self, store: Store) -> None:
        """A bulk insert of 10,000 is one call, and every one stands."""
        answers = await store.enqueue([new_run(number) for number in range(10_000)], now=NOW)
        assert not any(answer.existing for answer in answers)
        (queue,) = (await store.snapshot(now=NOW)).queues
        assert (queue.pending, queue.due) == (10_000, 10_000)

    async def test_calls_that_arrive_together_are_each_answered(self, store: Store) -> None:
        """Concurrent callers may share a commit; each gets its own answer."""
        answers = await asyncio.gather(*(store.enqueue([new_run(number)], now=NOW) for number in range(50)))
        assert [answer.id for (answer,) in answers] == [uid(number) for number in range(50)]


class TestEnqueueRefusals:
    """All or nothing."""

    async def test_a_value_that_is_refused_leaves_nothing_of_its_call(self, store: Store) -> None:
        """One bad row in a call, and none of the call's rows stands."""
        with pytest.raises(StoreDataError):
            await store.enqueue([new_run(1), new_run(2, args='{"a":"\ud800"}'), new_run(3)], now=NOW)
        assert (await store.list_runs(RunFilter(), Page())).items == ()

    @pytest.mark.parametrize("count", [1, 1_000])
    async def test_a_tag_that_no_text_can_hold_is_refused(self, store: Store, count: int) -> None:
        """In a call of many runs too, which may go in another way."""
        with pytest.raises(StoreDataError):
            await store.enqueue([new_run(number, tags=("\ud800",)) for number in range(count)])
        assert (await store.list_runs(RunFilter(), Page())).items == ()

    async def test_a_refused_keyed_row_leaves_nothing_of_its_call(self, store: Store) -> None:
        """Keyed runs have a statement of their own, but the call is still one."""
        with pytest.raises(StoreDataError):
            await store.enqueue([new_run(1), new_run(2, unique_key="k", tags=("\ud800",))], now=NOW)
        assert (await store.list_runs(RunFilter(), Page())).items == ()

    async def test_a_bad_call_does_not_take_its_neighbours_with_it(self, store: Store) -> None:
        """Calls that share a commit do not share an error."""
        bad = new_run(2, args='"\ud800"')
        one, two, three = await asyncio.gather(
            store.enqueue([new_run(1)], now=NOW),
            store.enqueue([bad], now=NOW),
            store.enqueue([new_run(3)], now=NOW),
            return_exceptions=True,
        )
        assert (one, three) == ([Enqueued(uid(1), now=NOW)], [Enqueued(uid(3), now=NOW)])
        assert isinstance(two, StoreDataError)


class TestEnqueueAgain:
    """A repeat after a lost answer."""

    async def test_the_id_of_a_live_run_stands_as_it_was(self, store: Store) -> None:
        """A second insert of an id changes nothing, and says that the run stood before."""
        await add(store, new_run(1, args='{"a":1}'))
        again = await store.enqueue([new_run(1, args='{"a":2}')], now=NOW + MINUTE)
        assert again == [Enqueued(uid(1), existing=True)]
        assert (await fetch(store, uid(1))).args == '{"a":1}'

    async def test_the_id_of_a_running_run_stands_as_it_was(self, store: Store) -> None:
        """A repeat does not touch a claim."""
        (run,) = await start(store, new_run(1))
        assert await store.enqueue([new_run(1)], now=NOW) == [Enqueued(uid(1), existing=True)]
        assert await fetch(store, uid(1)) == run

    @pytest.mark.parametrize("key", [None, "k"])
    async def test_the_id_of_an_ended_run_is_not_inserted_again(self, store: Store, key: str | None) -> None:
        """A repeat finds its run in history, with a key or without, and inserts nothing."""
        (run,) = await start(store, new_run(1, unique_key=key))
        await end(store, run)
        again = await store.enqueue([new_run(1, unique_key=key)], repeat=True, now=NOW)
        assert again == [Enqueued(uid(1), existing=True)]
        assert (await fetch(store, uid(1))).state is RunState.SUCCEEDED
        assert len((await store.list_runs(RunFilter(), Page())).items) == 1

    async def test_a_repeat_inserts_what_is_nowhere(self, store: Store) -> None:
        """Of a call repeated late, what ended stays ended, what is live stays live, and the rest is new."""
        (run,) = await start(store, new_run(1))
        await end(store, run)
        await add(store, new_run(2))
        answers = await store.enqueue([new_run(number) for number in (3, 2, 1)], repeat=True, now=NOW)
        assert answers == [Enqueued(uid(3), now=NOW), Enqueued(uid(2), existing=True), Enqueued(uid(1), existing=True)]

    async def test_a_repeat_that_ended_holds_no_key(self, store: Store) -> None:
        """The key of a run in history is free for another run of the same call."""
        (run,) = await start(store, new_run(1, unique_key="k"))
        await end(store, run)
        both = [new_run(1, unique_key="k"), new_run(2, unique_key="k")]
        answers = await store.enqueue(both, repeat=True, now=NOW)
        assert answers == [Enqueued(uid(1), existing=True), Enqueued(uid(2), now=NOW)]
        assert (await fetch(store, uid(1))).state is RunState.SUCCEEDED

    async def test_a_repeat_that_ended_is_answered_with_itself(self, store: Store) -> None:
        """Its key may belong to another by now: the repeat asked for its own run, and that one was made."""
        (run,) = await start(store, new_run(1, unique_key="k"))
        await end(store, run)
        await add(store, new_run(2, unique_key="k"))
        again = await store.enqueue([new_run(1, unique_key="k")], repeat=True, now=NOW)
        assert again == [Enqueued(uid(1), existing=True)]

    async def test_a_call_repeated_whole_inserts_what_is_missing(self, store: Store) -> None:
        """A repeat with some rows new inserts those only."""
        await add(store, new_run(1), new_run(2))
        answers = await store.enqueue([new_run(2), new_run(3)], now=NOW)
        assert answers == [Enqueued(uid(2), existing=True), Enqueued(uid(3), now=NOW)]

    async def test_an_id_twice_in_one_call_is_one_run(self, store: Store) -> None:
        """The second of two equal ids finds the first."""
        answers = await store.enqueue([new_run(1), new_run(1)], now=NOW)
        assert answers == [Enqueued(uid(1), now=NOW), Enqueued(uid(1), existing=True)]

    async def test_a_keyed_run_repeated_is_answered_with_itself(self, store: Store) -> None:
        """A lost answer's repeat meets its own key and is no conflict."""
        await add(store, new_run(1, unique_key="k"))
        assert await store.enqueue([new_run(1, unique_key="k")], now=NOW) == [Enqueued(uid(1), existing=True)]


class TestUniqueKeys:
    """One live run for a task and key."""

    async def test_the_live_run_with_the_key_is_named(self, store: Store) -> None:
        """A second run with the key is not inserted."""
        await add(store, new_run(1, unique_key="k"))
        assert await store.enqueue([new_run(2, unique_key="k")], now=NOW) == [Enqueued(uid(1), existing=True)]
        assert await store.get_run(uid(2)) is None

    async def test_a_running_run_holds_its_key(self, store: Store) -> None:
        """A claim does not let go of the key."""
        await start(store, new_run(1, unique_key="k"))
        assert await add(store, new_run(2, unique_key="k")) == [uid(1)]

    async def test_the_key_is_per_task(self, store: Store) -> None:
        """Another task may use the same key."""
        await add(store, new_run(1, unique_key="k"))
        assert await add(store, new_run(2, task="other", unique_key="k")) == [uid(2)]

    async def test_the_key_twice_in_one_call_is_one_run(self, store: Store) -> None:
        """Within a call the first holds the key and the second is told so."""
        answers = await store.enqueue([new_run(1, unique_key="k"), new_run(2, unique_key="k")], now=NOW)
        assert answers == [Enqueued(uid(1), now=NOW), Enqueued(uid(1), existing=True)]

    async def test_concurrent_calls_agree_on_one_run(self, store: Store) -> None:
        """Of many calls with one key at once exactly one inserts."""
        answers = await asyncio.gather(
            *(store.enqueue([new_run(number, unique_key="k")], now=NOW) for number in range(20))
        )
        assert len({answer.id for (answer,) in answers}) == 1
        assert sum(not answer.existing for (answer,) in answers) == 1

    async def test_success_frees_the_key(self, store: Store) -> None:
        """An ended run holds no key."""
        (run,) = await start(store, new_run(1, unique_key="k"))
        await end(store, run)
        assert await add(store, new_run(2, unique_key="k")) == [uid(2)]

    async def test_death_frees_the_key(self, store: Store) -> None:
        """A dead run holds no key."""
        await kill(store, new_run(1, unique_key="k"))
        assert await add(store, new_run(2, unique_key="k")) == [uid(2)]

    async def test_cancelling_frees_the_key(self, store: Store) -> None:
        """A cancelled run holds no key."""
        await add(store, new_run(1, unique_key="k"))
        await store.cancel([uid(1)], now=NOW)
        assert await add(store, new_run(2, unique_key="k")) == [uid(2)]

    async def test_a_retry_keeps_the_key(self, store: Store) -> None:
        """A run that waits for its next attempt is live."""
        (run,) = await start(store, new_run(1, unique_key="k"))
        await end(store, run, OutcomeKind.FAILED)
        assert await add(store, new_run(2, unique_key="k")) == [uid(1)]

    async def test_keyed_and_plain_rows_in_one_call(self, store: Store) -> None:
        """A key that is held keeps only its own row out."""
        await add(store, new_run(1, unique_key="k"))
        assert await add(store, new_run(2), new_run(3, unique_key="k"), new_run(4)) == [uid(2), uid(1), uid(4)]
        assert {run.id for run in (await store.list_runs(RunFilter(), Page())).items} == {uid(1), uid(2), uid(4)}

    async def test_what_an_existing_run_was_asked_is_not_claimed_twice(self, store: Store) -> None:
        """The repeat makes no second piece of work."""
        await start(store, new_run(1, unique_key="k"))
        await add(store, new_run(2, unique_key="k"))
        assert await take(store) == ()
