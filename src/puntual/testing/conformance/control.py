"""What the hands on a run promise: cancel, edit, replay, discard."""

from __future__ import annotations

import pytest

from puntual.model.attempt import OutcomeKind
from puntual.model.policy import RetryPolicy, RunPolicy
from puntual.model.run import Priority, RunState
from puntual.store.contract import Store
from puntual.store.requests import Page, RunEdit, RunFilter
from puntual.testing.conformance.build import (
    MINUTE,
    NOW,
    SECOND,
    add,
    end,
    fetch,
    join,
    kill,
    new_run,
    start,
    take,
    uid,
)

DEAD = RunFilter(states=(RunState.DEAD,))


class TestCancel:
    """Asking for an end."""

    async def test_a_pending_run_is_cancelled(self, store: Store) -> None:
        """It ends at once, uncharged, and stays in history."""
        await add(store, new_run(1))
        assert await store.cancel([uid(1)], now=NOW + SECOND) == {uid(1): "cancelled"}
        run = await fetch(store, uid(1))
        assert (run.state, run.finished_at, run.attempt) == (RunState.CANCELLED, NOW + SECOND, 0)
        await join(store)
        assert await take(store, now=NOW + SECOND) == ()

    async def test_a_running_run_is_asked_to_stop(self, store: Store) -> None:
        """It runs on, with the wish written."""
        await start(store, new_run(1))
        assert await store.cancel([uid(1)], now=NOW) == {uid(1): "requested"}
        run = await fetch(store, uid(1))
        assert (run.state, run.cancel_requested) == (RunState.RUNNING, True)

    async def test_asking_twice_changes_nothing(self, store: Store) -> None:
        """A repeat gets the same answer, or that it is over."""
        await start(store, new_run(1))
        await add(store, new_run(2, delay_us=MINUTE))
        await store.cancel([uid(1), uid(2)], now=NOW)
        assert await store.cancel([uid(1), uid(2)], now=NOW) == {uid(1): "requested", uid(2): "ended"}

    async def test_an_ended_run_stays_as_it_is(self, store: Store) -> None:
        """What is over is not rewritten."""
        (run,) = await start(store, new_run(1))
        await end(store, run)
        assert await store.cancel([uid(1)], now=NOW) == {uid(1): "ended"}
        assert (await fetch(store, uid(1))).state is RunState.SUCCEEDED

    async def test_an_unknown_run_is_missing(self, store: Store) -> None:
        """An id that nobody knows is said to be missing."""
        assert await store.cancel([uid(1)], now=NOW) == {uid(1): "missing"}

    async def test_each_of_several_is_answered(self, store: Store) -> None:
        """All four answers in one call."""
        one, two = await start(store, new_run(1), new_run(2))
        await end(store, two)
        await add(store, new_run(3))
        assert await store.cancel([uid(1), uid(2), uid(3), uid(4)], now=NOW) == {
            one.id: "requested",
            two.id: "ended",
            uid(3): "cancelled",
            uid(4): "missing",
        }

    async def test_a_run_waiting_for_its_retry_is_cancelled_with_its_story(self, store: Store) -> None:
        """The attempts made before stay recorded."""
        (run,) = await start(store, new_run(1))
        await end(store, run, OutcomeKind.FAILED)
        assert await store.cancel([uid(1)], now=NOW) == {uid(1): "cancelled"}
        run = await fetch(store, uid(1))
        assert (run.state, len(run.attempts)) == (RunState.CANCELLED, 1)

    async def test_no_ids_no_answers(self, store: Store) -> None:
        """An empty list is no error."""
        assert await store.cancel([], now=NOW) == {}


class TestEditRuns:
    """Changing runs that wait."""

    async def test_priority_and_queue_change(self, store: Store) -> None:
        """What is given is written, what is not stays."""
        await add(store, new_run(1, delay_us=MINUTE))
        edit = RunEdit(priority=Priority.CRITICAL, queue="fast")
        assert await store.edit_runs(RunFilter(ids=(uid(1),)), edit, now=NOW) == [uid(1)]
        run = await fetch(store, uid(1))
        assert (run.priority, run.queue, run.due_at) == (Priority.CRITICAL, "fast", NOW + MINUTE)

    async def test_the_due_time_moves_the_claim(self, store: Store) -> None:
        """A run put off is claimable at its new time only."""
        await join(store)
        await add(store, new_run(1))
        await store.edit_runs(RunFilter(ids=(uid(1),)), RunEdit(due_at=NOW + MINUTE), now=NOW)
        assert await take(store) == ()
        (run,) = await take(store, now=NOW + MINUTE)
        assert run.due_at == NOW + MINUTE

    async def test_a_due_time_in_the_past_is_claimable_from_now(self, store: Store) -> None:
        """A run may be brought forward; ``claim_at`` is never before the edit."""
        await add(store, new_run(1, delay_us=MINUTE))
        await store.edit_runs(RunFilter(ids=(uid(1),)), RunEdit(due_at=NOW - MINUTE), now=NOW + 1)
        run = await fetch(store, uid(1))
        assert (run.due_at, run.claim_at) == (NOW - MINUTE, NOW + 1)

    async def test_another_lane_does_not_end_a_wait(self, store: Store) -> None:
        """A run that backs off and is moved to another queue backs off there."""
        (run,) = await start(store, new_run(1))
        await end(store, run, OutcomeKind.FAILED)
        wait = (await fetch(store, uid(1))).claim_at
        await store.edit_runs(RunFilter(ids=(uid(1),)), RunEdit(queue="b"), now=NOW)
        assert (await fetch(store, uid(1))).claim_at == wait

    async def test_only_pending_runs_change(self, store: Store) -> None:
        """Running and ended runs are left alone."""
        one, two = await start(store, new_run(1), new_run(2))
        await end(store, two)
        await add(store, new_run(3))
        where = RunFilter(ids=(uid(1), uid(2), uid(3)))
        assert await store.edit_runs(where, RunEdit(queue="x"), now=NOW) == [uid(3)]
        assert await fetch(store, uid(1)) == one

    async def test_a_filter_chooses(self, store: Store) -> None:
        """Only what matches every condition is changed."""
        await add(store, new_run(1, queue="a"), new_run(2, queue="a", tags=("t",)), new_run(3, tags=("t",)))
        where = RunFilter(queues=("a",), tags=("t",))
        assert await store.edit_runs(where, RunEdit(priority=Priority.LOW), now=NOW) == [uid(2)]

    async def test_at_most_a_thousand_change_in_one_call(self, store: Store) -> None:
        """A large change is made in bounded pieces."""
        await add(store, *(new_run(number) for number in range(1_100)))
        changed = await store.edit_runs(RunFilter(queues=("default",)), RunEdit(queue="b"), now=NOW)
        assert len(set(changed)) == 1_000
        rest = await store.edit_runs(RunFilter(queues=("default",)), RunEdit(queue="b"), now=NOW)
        assert len(rest) == 100


class TestReplay:
    """Putting dead runs back."""

    async def test_the_same_run_is_pending_again_with_a_fresh_budget(self, store: Store) -> None:
        """Same id, attempts numbered on, ``max_attempts`` raised by the policy's number, due now."""
        policy = RunPolicy(retry=RetryPolicy(max_attempts=3))
        await kill(store, new_run(1, max_attempts=3, policy=policy, unique_key="k", tags=("t",)))
        assert await store.replay(RunFilter(ids=(uid(1),)), now=NOW + MINUTE) == {uid(1): "replayed"}
        run = await fetch(store, uid(1))
        assert (run.state, run.reason, run.finished_at) == (RunState.PENDING, None, None)
        assert (run.attempt, run.max_attempts, run.claim_at) == (1, 6, NOW + MINUTE)
        assert (run.unique_key, run.tags, len(run.attempts)) == ("k", ("t",), 1)
        (run,) = await take(store, now=NOW + MINUTE)
        assert run.attempt == 2

    async def test_a_replayed_run_is_one_run(self, store: Store) -> None:
        """It has left history: it is listed once, and its end is recorded once."""
        await kill(store, new_run(1))
        await store.replay(RunFilter(ids=(uid(1),)), now=NOW)
        (run,) = await take(store)
        await end(store, run)
        (run,) = (await store.list_runs(RunFilter(), Page())).items
        assert (run.state, [attempt.number for attempt in run.attempts]) == (RunState.SUCCEEDED, [1, 2])

    async def test_every_answer_is_told(self, store: Store) -> None:
        """Replayed, missing and not dead in one call; a repeat finds the run not dead."""
        await kill(store, new_run(1))
        await add(store, new_run(2))
        where = RunFilter(ids=(uid(1), uid(2), uid(3)))
        assert await store.replay(where, now=NOW) == {uid(1): "replayed", uid(2): "not_dead", uid(3): "missing"}
        assert (await store.replay(where, now=NOW))[uid(1)] == "not_dead"

    async def test_a_success_is_not_replayed(self, store: Store) -> None:
        """Only the dead come back."""
        (run,) = await start(store, new_run(1))
        await end(store, run)
        assert await store.replay(RunFilter(ids=(uid(1),)), now=NOW) == {uid(1): "not_dead"}
        assert (await fetch(store, uid(1))).state is RunState.SUCCEEDED

    async def test_a_key_held_by_a_live_run_refuses(self, store: Store) -> None:
        """The holder is named, and the dead run stays dead."""
        await kill(store, new_run(1, unique_key="k"))
        await add(store, new_run(2, unique_key="k"))
        assert await store.replay(RunFilter(ids=(uid(1),)), now=NOW) == {uid(1): f"held_by:{uid(2)}"}
        assert (await fetch(store, uid(1))).state is RunState.DEAD

    async def test_two_dead_runs_with_one_key_do_not_both_live(self, store: Store) -> None:
        """Within a call the key goes to one of them, and the other is told by whom."""
        await kill(store, new_run(1, unique_key="k"))
        await kill(store, new_run(2, unique_key="k"))
        answers = await store.replay(DEAD, now=NOW)
        live = [id for id, answer in answers.items() if answer == "replayed"]
        assert len(live) == 1
        assert sorted(answers.values()) == sorted(["replayed", f"held_by:{live[0]}"])

    async def test_a_filter_and_a_limit_bound_it(self, store: Store) -> None:
        """Not more than asked, and only what matches."""
        await kill(store, *(new_run(number, queue="a") for number in range(5)), new_run(9, queue="b"))
        assert len(await store.replay(RunFilter(queues=("a",)), limit=3, now=NOW)) == 3
        assert (await fetch(store, uid(9))).state is RunState.DEAD

    async def test_it_goes_on_after_the_last_run_answered(self, store: Store) -> None:
        """Newest first, older ones only: what died again meanwhile is not met again."""
        await kill(store, *(new_run(number) for number in range(5)))
        first = await store.replay(DEAD, limit=2, now=NOW)
        assert sorted(first) == [uid(3), uid(4)]
        for run in await take(store):
            await end(store, run, OutcomeKind.FAILED, final=True)
        rest = await store.replay(DEAD, limit=10, after=min(first), now=NOW)
        assert rest == {uid(0): "replayed", uid(1): "replayed", uid(2): "replayed"}

    async def test_of_ids_named_as_many_are_answered_as_asked(self, store: Store) -> None:
        """What is beyond the limit is left alone, and nothing is said of it."""
        await kill(store, *(new_run(number) for number in range(4)))
        where = RunFilter(ids=(uid(9), uid(0), uid(3), uid(2)))
        assert await store.replay(where, limit=2, now=NOW) == {uid(9): "missing", uid(0): "replayed"}
        assert await store.replay(where, after=uid(3), now=NOW) == {uid(0): "not_dead", uid(2): "replayed"}
        assert await store.replay(where, after=uid(0), now=NOW) == {}

    async def test_the_old_claim_cannot_settle_the_replayed_run(self, store: Store) -> None:
        """Whoever held it before its death no longer does."""
        (run,) = await start(store, new_run(1))
        await end(store, run, OutcomeKind.FAILED, final=True)
        await store.replay(RunFilter(ids=(uid(1),)), now=NOW)
        assert (await end(store, run)).gone == (uid(1),)


class TestDiscard:
    """Closing the dead-letter list."""

    async def test_a_discarded_run_leaves_the_list_and_stays_in_history(self, store: Store) -> None:
        """It is dead still, marked, and found by its id."""
        await kill(store, new_run(1), new_run(2))
        assert await store.discard(RunFilter(ids=(uid(1),)), now=NOW + SECOND) == [uid(1)]
        assert [run.id for run in (await store.list_runs(DEAD, Page())).items] == [uid(2)]
        run = await fetch(store, uid(1))
        assert (run.state, run.discarded_at) == (RunState.DEAD, NOW + SECOND)

    async def test_discarded_runs_can_be_asked_for(self, store: Store) -> None:
        """The filter brings them back."""
        await kill(store, new_run(1))
        await store.discard(DEAD, now=NOW)
        where = RunFilter(states=(RunState.DEAD,), discarded=True)
        assert [run.id for run in (await store.list_runs(where, Page())).items] == [uid(1)]

    async def test_discarding_again_changes_nothing(self, store: Store) -> None:
        """The first mark stands."""
        await kill(store, new_run(1))
        await store.discard(RunFilter(ids=(uid(1),)), now=NOW)
        await store.discard(RunFilter(ids=(uid(1),)), now=NOW + MINUTE)
        assert (await fetch(store, uid(1))).discarded_at == NOW

    @pytest.mark.parametrize("where", [RunFilter(), RunFilter(ids=(uid(1), uid(2), uid(3)))])
    async def test_only_dead_runs_are_discarded(self, store: Store, where: RunFilter) -> None:
        """Whatever the filter matches beside them stays."""
        (run,) = await start(store, new_run(1))
        await end(store, run)
        await kill(store, new_run(2))
        await add(store, new_run(3))
        assert await store.discard(where, now=NOW) == [uid(2)]

    async def test_the_limit_bounds_it(self, store: Store) -> None:
        """Not more than asked; and after the last run answered come older ones only."""
        await kill(store, *(new_run(number) for number in range(5)))
        first = await store.discard(DEAD, limit=2, now=NOW)
        assert sorted(first) == [uid(3), uid(4)]
        await kill(store, new_run(9))
        assert sorted(await store.discard(DEAD, after=min(first), now=NOW)) == [uid(0), uid(1), uid(2)]
        assert [run.id for run in (await store.list_runs(DEAD, Page())).items] == [uid(9)]
