"""What settle promises: one guarded write for each claim, its story kept, its follow-ups made once."""

from __future__ import annotations

import msgspec
import pytest

from puntual.model.attempt import ErrorInfo, OutcomeKind
from puntual.model.ids import follow_up_id
from puntual.model.outcome import Evidence
from puntual.model.policy import RetryPolicy, RunPolicy
from puntual.model.run import DeadReason, NewRun, Run, RunState
from puntual.model.transitions import release
from puntual.store.contract import Store
from puntual.store.requests import Page, RunFilter, Settlement
from puntual.testing.conformance.build import (
    DAY,
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
)

BAD = '"\ud800"'
ERROR = ErrorInfo("ValueError", "it was ñ", "line 1\nline 2")


class TestSettle:
    """What becomes of a run."""

    async def test_success_ends_the_run_with_its_result(self, store: Store) -> None:
        """A succeeded run keeps result, times and attempt."""
        (run,) = await start(store, new_run(1))
        settled = await end(store, run, now=NOW + SECOND, result='{"a":1}', timings={"work": 1.5})
        assert (settled.written, settled.gone, settled.changed, settled.refused) == ((uid(1),), (), (), ())
        run = await fetch(store, uid(1))
        assert (run.state, run.reason, run.result) == (RunState.SUCCEEDED, None, '{"a":1}')
        assert (run.started_at, run.finished_at) == (NOW + SECOND, NOW + SECOND)
        (attempt,) = run.attempts
        assert (attempt.number, attempt.worker, attempt.outcome) == (1, "w1", OutcomeKind.SUCCEEDED)
        assert attempt.timings == {"work": 1.5}

    async def test_a_failure_waits_for_its_retry(self, store: Store) -> None:
        """A failed run is pending again, its claim given up and its error kept."""
        (run,) = await start(store, new_run(1))
        await end(store, run, OutcomeKind.FAILED, error=ERROR, status_code=503)
        run = await fetch(store, uid(1))
        assert (run.state, run.attempt, run.worker, run.due_at) == (RunState.PENDING, 1, None, NOW)
        assert run.claim_at > NOW
        assert (run.attempts[0].error, run.attempts[0].status_code) == (ERROR, 503)

    async def test_spent_attempts_end_in_death(self, store: Store) -> None:
        """The last charged failure makes the run dead, with the whole story."""
        policy = RunPolicy(retry=RetryPolicy(delay_us=0))
        (run,) = await start(store, new_run(1, max_attempts=2, policy=policy))
        await end(store, run, OutcomeKind.FAILED, error=ERROR)
        (run,) = await take(store)
        await end(store, run, OutcomeKind.TIMED_OUT)
        run = await fetch(store, uid(1))
        assert (run.state, run.reason) == (RunState.DEAD, DeadReason.ATTEMPTS)
        assert [attempt.outcome for attempt in run.attempts] == [OutcomeKind.FAILED, OutcomeKind.TIMED_OUT]

    async def test_a_final_failure_is_dead_at_once(self, store: Store) -> None:
        """The reason says that it was the error's own doing."""
        (run,) = await start(store, new_run(1))
        await end(store, run, OutcomeKind.FAILED, final=True, error=ERROR)
        run = await fetch(store, uid(1))
        assert (run.state, run.reason, run.finished_at) == (RunState.DEAD, DeadReason.ERROR, NOW)

    async def test_a_snooze_is_not_charged(self, store: Store) -> None:
        """A snoozed run comes back after its wait with its budget whole."""
        (run,) = await start(store, new_run(1))
        await end(store, run, OutcomeKind.SNOOZED, retry_after_us=MINUTE)
        run = await fetch(store, uid(1))
        assert (run.state, run.claim_at, run.attempt, run.released, run.interrupted) == (
            RunState.PENDING,
            NOW + MINUTE,
            1,
            1,
            0,
        )

    async def test_an_interrupted_attempt_is_released_and_counted(self, store: Store) -> None:
        """A worker that goes gives the run back at once, uncharged."""
        (run,) = await start(store, new_run(1))
        await end(store, run, OutcomeKind.CANCELLED)
        run = await fetch(store, uid(1))
        assert (run.state, run.claim_at, run.released, run.interrupted) == (RunState.PENDING, NOW, 1, 1)

    async def test_a_release_leaves_no_attempt_behind(self, store: Store) -> None:
        """A claim that was never started is given back as if it had not been, but for its number."""
        (run,) = await start(store, new_run(1))
        await store.settle([_released(run)], now=NOW)
        run = await fetch(store, uid(1))
        assert (run.state, run.attempt, run.released, run.started_at, run.attempts) == (
            RunState.PENDING,
            1,
            1,
            None,
            (),
        )

    async def test_a_run_put_back_is_never_claimable_before_now(self, store: Store) -> None:
        """``claim_at`` is the later of what is wanted and the store's now."""
        (run,) = await start(store, new_run(1))
        await store.settle([_released(run)], now=NOW + MINUTE)
        assert (await fetch(store, uid(1))).claim_at == NOW + MINUTE

    async def test_a_lost_attempt_is_counted(self, store: Store) -> None:
        """Losses are charged, and counted by themselves."""
        (run,) = await start(store, new_run(1))
        await end(store, run, OutcomeKind.LOST)
        run = await fetch(store, uid(1))
        assert (run.state, run.lost, run.charged) == (RunState.PENDING, 1, 1)

    async def test_the_first_start_is_kept(self, store: Store) -> None:
        """Later attempts do not move ``started_at``: lateness is of the first."""
        (run,) = await start(store, new_run(1))
        await end(store, run, OutcomeKind.FAILED, retry_after_us=0)
        (run,) = await take(store, now=NOW + MINUTE)
        await end(store, run, now=NOW + MINUTE)
        assert (await fetch(store, uid(1))).started_at == NOW

    async def test_a_cancel_asked_ends_in_cancelled(self, store: Store) -> None:
        """After the wish, what is no success is cancelled."""
        (run,) = await start(store, new_run(1))
        await store.cancel([uid(1)], now=NOW)
        run = await fetch(store, uid(1))
        await end(store, run, OutcomeKind.FAILED, error=ERROR)
        assert (await fetch(store, uid(1))).state is RunState.CANCELLED

    async def test_a_success_stands_though_a_cancel_was_asked(self, store: Store) -> None:
        """What was done was done."""
        await start(store, new_run(1))
        await store.cancel([uid(1)], now=NOW)
        assert (await end(store, await fetch(store, uid(1)))).written == (uid(1),)
        assert (await fetch(store, uid(1))).state is RunState.SUCCEEDED

    async def test_history_keeps_everything_of_the_run(self, store: Store) -> None:
        """What was known of a run while it lived is known after its end."""
        asked = new_run(1, args='{"n":1}', queue="q", unique_key="k", tags=("a",), max_attempts=3)
        (run,) = await start(store, asked)
        await end(store, run, now=NOW + SECOND)
        ended = await fetch(store, uid(1))
        changed = {"state", "reason", "started_at", "finished_at", "attempts", "result", "worker", "claimed_at"}
        for field in Run.__struct_fields__:
            if field not in changed:
                assert getattr(ended, field) == getattr(run, field), field

    async def test_many_are_settled_in_one_call(self, store: Store) -> None:
        """A batch of several ends is written whole."""
        runs = await start(store, *(new_run(number) for number in range(500)))
        kinds = (OutcomeKind.SUCCEEDED, OutcomeKind.FAILED, OutcomeKind.SNOOZED, OutcomeKind.LOST)
        batch = [after(run, kinds[number % 4]) for number, run in enumerate(runs)]
        settled = await store.settle(batch, now=NOW)
        assert set(settled.written) == {run.id for run in runs}
        assert len((await store.list_runs(RunFilter(states=(RunState.SUCCEEDED,)), Page(limit=1_000))).items) == 125

    async def test_an_empty_batch_does_nothing(self, store: Store) -> None:
        """Nothing to settle, nothing said."""
        settled = await store.settle([], now=NOW)
        assert (settled.written, settled.changed, settled.gone, settled.refused) == ((), (), (), ())


class TestSettleGuards:
    """A write by whoever no longer holds the claim changes nothing."""

    async def test_a_repeat_finds_its_row_gone(self, store: Store) -> None:
        """After a lost answer the same settlement records nothing again."""
        (run,) = await start(store, new_run(1))
        write = after(run, OutcomeKind.SUCCEEDED)
        await store.settle([write], now=NOW)
        settled = await store.settle([write], now=NOW)
        assert (settled.written, settled.gone) == ((), (uid(1),))

    async def test_a_repeat_of_a_retry_does_not_reach_the_next_attempt(self, store: Store) -> None:
        """A late answer of attempt 1 leaves attempt 2 alone."""
        (run,) = await start(store, new_run(1))
        write = after(run, OutcomeKind.FAILED, retry_after_us=0)
        await store.settle([write], now=NOW)
        (second,) = await take(store)
        assert (await store.settle([write], now=NOW)).gone == (uid(1),)
        assert await fetch(store, uid(1)) == second

    @pytest.mark.parametrize("change", [{"attempt": 2}, {"attempt": 0}, {"worker": "w2"}, {"id": uid(9)}])
    async def test_another_claim_is_gone(self, store: Store, change: dict[str, object]) -> None:
        """Attempt, worker and id must all be those of the claim."""
        (run,) = await start(store, new_run(1))
        wrong = msgspec.structs.replace(after(run, OutcomeKind.SUCCEEDED), **change)
        settled = await store.settle([wrong], now=NOW)
        assert (settled.written, settled.gone) == ((), (wrong.id,))
        assert await fetch(store, uid(1)) == run

    async def test_a_wish_that_turned_is_told(self, store: Store) -> None:
        """A cancel asked since ``decide`` looked makes the row ``changed``, and nothing is written."""
        (run,) = await start(store, new_run(1))
        await store.cancel([uid(1)], now=NOW)
        settled = await end(store, run, OutcomeKind.FAILED)
        assert (settled.written, settled.changed, settled.gone) == ((), (uid(1),), ())
        assert (await fetch(store, uid(1))).state is RunState.RUNNING

    async def test_a_wish_that_was_seen_is_never_put_back(self, store: Store) -> None:
        """A run that somebody wanted to stop ends, even if whoever had it gives it back."""
        (run,) = await start(store, new_run(1))
        await store.cancel([uid(1)], now=NOW)
        write = msgspec.structs.replace(after(run, OutcomeKind.FAILED, retry_after_us=0), cancel_seen=True)
        assert (await store.settle([write], now=NOW)).written == (uid(1),)
        ended = await fetch(store, uid(1))
        assert (ended.state, ended.finished_at, len(ended.attempts)) == (RunState.CANCELLED, NOW, 1)
        assert await take(store, now=NOW + DAY) == ()

    async def test_one_batch_is_told_apart_row_by_row(self, store: Store) -> None:
        """Written, changed and gone in one call do not disturb each other."""
        one, two, three = await start(store, new_run(1), new_run(2), new_run(3))
        await store.cancel([uid(2)], now=NOW)
        await end(store, three)
        settled = await store.settle([after(run, OutcomeKind.SUCCEEDED) for run in (one, two, three)], now=NOW)
        assert (settled.written, settled.changed, settled.gone) == ((uid(1),), (uid(2),), (uid(3),))

    async def test_a_released_run_that_another_took_is_gone(self, store: Store) -> None:
        """The first holder's outcome does not touch the second's claim."""
        await join(store, "w2")
        (run,) = await start(store, new_run(1))
        await store.settle([_released(run)], now=NOW)
        (other,) = await take(store, "w2")
        assert (await end(store, run)).gone == (uid(1),)
        assert await fetch(store, uid(1)) == other


class TestFollowUps:
    """Runs that a run asked for."""

    async def test_follow_ups_are_inserted_with_the_success(self, store: Store) -> None:
        """They become pending runs in the transaction that ends their parent."""
        (run,) = await start(store, new_run(1))
        settled = await end(store, run, follow_ups=(_next(run, 0), _next(run, 1, queue="mail", delay_us=SECOND)))
        assert "mail" in settled.queues
        first = await fetch(store, follow_up_id(uid(1), 0))
        second = await fetch(store, follow_up_id(uid(1), 1))
        assert (first.state, first.due_at, second.due_at) == (RunState.PENDING, NOW, NOW + SECOND)

    async def test_a_repeat_makes_no_second_ones(self, store: Store) -> None:
        """A settlement sent twice leaves each follow-up once."""
        (run,) = await start(store, new_run(1))
        for _ in range(2):
            await end(store, run, follow_ups=(_next(run, 0),))
        assert len((await store.list_runs(RunFilter(), Page())).items) == 2

    async def test_a_write_that_was_not_made_has_no_follow_ups(self, store: Store) -> None:
        """Rows that are gone or changed insert nothing."""
        one, two = await start(store, new_run(1), new_run(2))
        await store.cancel([uid(2)], now=NOW)
        stale = msgspec.structs.replace(after(one, OutcomeKind.SUCCEEDED, follow_ups=(_next(one, 0),)), attempt=7)
        await store.settle([stale, after(two, OutcomeKind.SUCCEEDED, follow_ups=(_next(two, 0),))], now=NOW)
        assert len((await store.list_runs(RunFilter(), Page())).items) == 2

    async def test_a_follow_up_whose_key_is_held_is_not_inserted(self, store: Store) -> None:
        """The live run with its key stands for it, and the parent ends all the same."""
        await add(store, new_run(5, unique_key="k", delay_us=DAY))
        (run,) = await start(store, new_run(1))
        settled = await end(store, run, follow_ups=(_next(run, 0, unique_key="k"),))
        assert settled.written == (uid(1),)
        assert await store.get_run(follow_up_id(uid(1), 0)) is None

    async def test_a_follow_up_may_take_the_key_that_its_parent_frees(self, store: Store) -> None:
        """A run that passes its key on to the next one works."""
        (run,) = await start(store, new_run(1, unique_key="k"))
        await end(store, run, follow_ups=(_next(run, 0, unique_key="k"),))
        assert (await fetch(store, follow_up_id(uid(1), 0))).state is RunState.PENDING


class TestBadRows:
    """A value that the database refuses spoils its own row only."""

    @pytest.mark.parametrize(
        "bad",
        [
            {"result": BAD},
            {"error": ErrorInfo("E", "\ud800")},
            {"follow_ups": (new_run(70), new_run(71, args=BAD))},
        ],
        ids=["result", "error", "follow_up"],
    )
    async def test_the_bad_row_is_refused_and_all_others_written(self, store: Store, bad: dict[str, object]) -> None:
        """A batch is halved until the bad row is alone; of that nothing is written."""
        runs = await start(store, *(new_run(number) for number in range(20)))
        batch = [after(run, OutcomeKind.SUCCEEDED, now=NOW, **(bad if run.id == uid(13) else {})) for run in runs]
        settled = await store.settle(batch, now=NOW)
        assert set(settled.written) == {run.id for run in runs} - {uid(13)}
        ((id, text),) = settled.refused
        assert (id, bool(text)) == (uid(13), True)
        assert await fetch(store, uid(13)) == runs[13]
        assert await store.get_run(uid(70)) is None

    async def test_a_refused_row_can_be_settled_with_its_error_text(self, store: Store) -> None:
        """The claim is still the worker's, and a second try with plain text is written."""
        (run,) = await start(store, new_run(1))
        assert (await end(store, run, result=BAD)).written == ()
        assert (await end(store, run, result='"plain"')).written == (uid(1),)

    async def test_several_bad_rows_are_each_refused(self, store: Store) -> None:
        """Two bad rows in one batch are two refusals."""
        runs = await start(store, *(new_run(number) for number in range(9)))
        batch = [after(run, OutcomeKind.SUCCEEDED, result=BAD if run.id in (uid(0), uid(8)) else None) for run in runs]
        settled = await store.settle(batch, now=NOW)
        assert {id for id, _ in settled.refused} == {uid(0), uid(8)}
        assert len(settled.written) == 7


class TestEvidence:
    """What came back from outside."""

    async def test_the_answer_of_an_attempt_is_kept(self, store: Store) -> None:
        """Bytes, type, headers and what was cut off come back as they were."""
        (run,) = await start(store, new_run(1))
        kept = Evidence(body=b"\x00\xff", content_type="text/plain", headers=(("X-A", "1"), ("X-A", "2")), truncated=3)
        await end(store, run, evidence=kept)
        response = await store.get_response(uid(1), 1)
        assert response is not None
        assert (response.run_id, response.attempt) == (uid(1), 1)
        assert (response.body, response.content_type, response.headers, response.truncated) == (
            kept.body,
            kept.content_type,
            kept.headers,
            kept.truncated,
        )

    async def test_each_attempt_has_its_own(self, store: Store) -> None:
        """A retry does not overwrite what the attempt before it left."""
        (run,) = await start(store, new_run(1))
        await end(store, run, OutcomeKind.FAILED, evidence=Evidence(body=b"one"), retry_after_us=0)
        (run,) = await take(store)
        await end(store, run, evidence=Evidence(body=b"two"))
        bodies = [await store.get_response(uid(1), number) for number in (1, 2)]
        assert [response and response.body for response in bodies] == [b"one", b"two"]

    async def test_an_attempt_without_evidence_has_none(self, store: Store) -> None:
        """Nothing kept, nothing told."""
        (run,) = await start(store, new_run(1))
        await end(store, run)
        assert await store.get_response(uid(1), 1) is None


def _released(run: Run) -> Settlement:
    return Settlement(
        id=run.id,
        attempt=run.attempt,
        worker=run.worker or "",
        cancel_seen=run.cancel_requested,
        transition=release(run, cancel_requested=False, now=NOW),
    )


def _next(run: Run, position: int, **changes: object) -> NewRun:
    return new_run(0, id=follow_up_id(run.id, position), **changes)
