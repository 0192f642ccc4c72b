"""What becomes of a run after each outcome, row by row of the table."""

from __future__ import annotations

import msgspec
import pytest

from puntual.model.attempt import ErrorInfo, OutcomeKind
from puntual.model.outcome import Evidence, Outcome
from puntual.model.policy import RetryPolicy, RunPolicy
from puntual.model.run import DeadReason, NewRun, Run, RunState
from puntual.model.transitions import FREE_INTERRUPTIONS, Transition, decide, release
from tests.support.runs import NOW, SECOND, running

FAILURES = [OutcomeKind.FAILED, OutcomeKind.TIMED_OUT, OutcomeKind.UNKNOWN, OutcomeKind.LOST]


def after(run: Run, kind: OutcomeKind, *, cancel: bool = False, **changes: object) -> Transition:
    """What is decided when the attempt came out so, a second after it started."""
    outcome = Outcome(kind=kind, started_at=NOW, finished_at=NOW + SECOND)
    outcome = msgspec.structs.replace(outcome, **changes)
    return decide(run, outcome, cancel_requested=cancel, now=NOW + SECOND, random=0.0)


class TestEnds:
    """Outcomes after which nothing follows."""

    def test_success_succeeds(self) -> None:
        """Result, follow-ups and evidence go along."""
        follow_up, evidence = NewRun(id="x", task="next"), Evidence(body=b"y")
        done = after(running(), OutcomeKind.SUCCEEDED, result="1", follow_ups=(follow_up,), evidence=evidence)
        assert (done.state, done.reason, done.result) == (RunState.SUCCEEDED, None, "1")
        assert (done.follow_ups, done.evidence) == ((follow_up,), evidence)
        assert (done.claim_at, done.started_at, done.finished_at) == (None, NOW, NOW + SECOND)

    def test_success_stands_though_a_cancel_was_asked(self) -> None:
        """What was done was done."""
        assert after(running(), OutcomeKind.SUCCEEDED, cancel=True).state is RunState.SUCCEEDED

    @pytest.mark.parametrize("kind", [kind for kind in OutcomeKind if kind is not OutcomeKind.SUCCEEDED])
    def test_after_a_cancel_was_asked_everything_else_is_cancelled(self, kind: OutcomeKind) -> None:
        """No retry, no release, no death after the wish."""
        done = after(running(), kind, cancel=True, retry_after_us=SECOND, result="1")
        assert (done.state, done.reason, done.result, done.claim_at) == (RunState.CANCELLED, None, None, None)

    @pytest.mark.parametrize("kind", FAILURES)
    def test_spent_attempts_are_death(self, kind: OutcomeKind) -> None:
        """The last charged attempt is the last, however it ended."""
        done = after(running(attempt=5), kind)
        assert (done.state, done.reason) == (RunState.DEAD, DeadReason.ATTEMPTS)

    def test_released_attempts_do_not_spend_the_budget(self) -> None:
        """Only what was charged counts."""
        assert after(running(attempt=7, released=3), OutcomeKind.FAILED).state is RunState.PENDING

    def test_a_final_failure_is_death_by_error(self) -> None:
        """The handler's word counts before the budget."""
        done = after(running(), OutcomeKind.FAILED, final=True)
        assert (done.state, done.reason) == (RunState.DEAD, DeadReason.ERROR)

    def test_an_error_that_the_policy_does_not_retry_is_death_by_error(self) -> None:
        """``not_on`` ends the run at once."""
        run = running(policy=RunPolicy(retry=RetryPolicy(not_on=("ValueError",))))
        assert after(run, OutcomeKind.FAILED, error=ErrorInfo("ValueError", "x")).reason is DeadReason.ERROR

    def test_a_failure_has_no_result_and_no_follow_ups(self) -> None:
        """They belong to success."""
        follow_up = NewRun(id="x", task="next")
        done = after(running(), OutcomeKind.FAILED, result="1", follow_ups=(follow_up,), final=True)
        assert (done.result, done.follow_ups) == (None, ())


class TestRetries:
    """Failures after which another attempt follows."""

    @pytest.mark.parametrize("kind", FAILURES)
    def test_a_failure_waits_for_the_policy(self, kind: OutcomeKind) -> None:
        """Charged, and due after the policy's wait from now."""
        back = after(running(), kind)
        assert (back.state, back.claim_at, back.released) == (RunState.PENDING, NOW + 6 * SECOND, 0)
        assert (back.finished_at, back.lost) == (None, int(kind is OutcomeKind.LOST))

    def test_the_wait_grows_with_charged_attempts_only(self) -> None:
        """Releases do not make the backoff longer."""
        back = after(running(attempt=9, released=7), OutcomeKind.FAILED)
        assert back.claim_at == NOW + 11 * SECOND

    @pytest.mark.parametrize("kind", [OutcomeKind.LOST, OutcomeKind.UNKNOWN])
    def test_no_policy_forbids_to_retry_what_never_answered(self, kind: OutcomeKind) -> None:
        """``on`` and ``not_on`` speak about errors."""
        run = running(policy=RunPolicy(retry=RetryPolicy(on=("5xx",), not_on=("WorkerLost",))))
        assert after(run, kind, error=ErrorInfo("WorkerLost", "x")).state is RunState.PENDING

    def test_a_failure_without_an_error_is_retried(self) -> None:
        """A deadline names no error, so that no list forbids it."""
        run = running(policy=RunPolicy(retry=RetryPolicy(on=("5xx",))))
        assert after(run, OutcomeKind.TIMED_OUT).state is RunState.PENDING

    @pytest.mark.parametrize(
        ("asked", "waited"), [(0, 0), (90 * SECOND, 90 * SECOND), (10**12, 3600 * SECOND), (-5, 0)]
    )
    def test_a_wait_that_was_asked_is_obeyed_within_the_cap(self, asked: int, waited: int) -> None:
        """``Retry-After`` counts, up to the policy's ``max_delay``."""
        assert after(running(), OutcomeKind.FAILED, retry_after_us=asked).claim_at == NOW + SECOND + waited

    def test_a_handler_that_asks_again_is_obeyed(self) -> None:
        """Neither the list nor the cap of the policy stands against its own word."""
        run = running(policy=RunPolicy(retry=RetryPolicy(on=("5xx",), max_delay_us=SECOND)))
        back = after(run, OutcomeKind.FAILED, error=ErrorInfo("Retry", "x"), again=True, retry_after_us=9 * SECOND)
        assert (back.state, back.claim_at) == (RunState.PENDING, NOW + 10 * SECOND)

    def test_asking_again_grants_no_attempt_past_the_budget(self) -> None:
        """``max_attempts`` has the last word."""
        assert after(running(attempt=5), OutcomeKind.FAILED, again=True).reason is DeadReason.ATTEMPTS


class TestReleases:
    """Claims given back uncharged."""

    def test_a_snooze_comes_back_uncharged(self) -> None:
        """After its wait, and it counts as no interruption."""
        back = after(running(), OutcomeKind.SNOOZED, retry_after_us=10**12)
        assert (back.state, back.claim_at) == (RunState.PENDING, NOW + SECOND + 10**12)
        assert (back.released, back.interrupted) == (1, 0)

    def test_a_snooze_on_the_last_attempt_is_no_death(self) -> None:
        """It spends nothing."""
        assert after(running(attempt=5), OutcomeKind.SNOOZED).state is RunState.PENDING

    def test_a_worker_that_goes_gives_the_run_back_at_once(self) -> None:
        """Uncharged, and counted as an interruption."""
        back = after(running(attempt=5), OutcomeKind.CANCELLED)
        assert (back.state, back.claim_at) == (RunState.PENDING, NOW + SECOND)
        assert (back.released, back.interrupted) == (1, 1)

    def test_more_than_twenty_interruptions_are_charged(self) -> None:
        """The twenty-first goes through backoff and budget as a failure does."""
        nineteen = after(running(interrupted=FREE_INTERRUPTIONS - 1), OutcomeKind.CANCELLED)
        twenty = after(running(interrupted=FREE_INTERRUPTIONS), OutcomeKind.CANCELLED)
        assert (nineteen.released, twenty.released) == (1, 0)
        assert twenty.claim_at == NOW + 6 * SECOND

    @pytest.mark.parametrize("kind", [OutcomeKind.CANCELLED, OutcomeKind.LOST])
    def test_a_command_that_may_run_once_is_never_started_twice(self, kind: OutcomeKind) -> None:
        """Drained or lost, it is dead."""
        done = after(running(task="command", max_attempts=1), kind)
        assert (done.state, done.reason) == (RunState.DEAD, DeadReason.ATTEMPTS)

    def test_a_command_replayed_still_runs_once(self) -> None:
        """A replay grants one more start, and not two."""
        policy = RunPolicy(retry=RetryPolicy(max_attempts=1))
        run = running(task="command", attempt=2, max_attempts=2, policy=policy)
        assert after(run, OutcomeKind.CANCELLED).state is RunState.DEAD

    def test_a_function_that_may_run_once_is_given_back(self) -> None:
        """The rule is of commands."""
        assert after(running(max_attempts=1), OutcomeKind.CANCELLED).state is RunState.PENDING

    def test_a_claim_never_started_is_given_back_as_it_was(self) -> None:
        """No attempt recorded, no interruption, no start."""
        back = release(running(due_at=NOW - 1, claim_at=NOW - 1), cancel_requested=False, now=NOW)
        assert (back.state, back.claim_at, back.released, back.interrupted) == (RunState.PENDING, NOW, 1, 0)
        assert (back.started_at, back.attempts, back.lost) == (None, (), 0)

    def test_a_retry_claimed_ahead_keeps_its_wait(self) -> None:
        """Given back before it was due, it is not due sooner for that."""
        run = running(attempt=2, due_at=NOW - SECOND, claim_at=NOW + SECOND, started_at=NOW - SECOND)
        back = release(run, cancel_requested=False, now=NOW)
        assert (back.claim_at, back.started_at) == (NOW + SECOND, NOW - SECOND)


class TestStory:
    """What is remembered."""

    @pytest.mark.parametrize("kind", list(OutcomeKind))
    def test_each_attempt_is_recorded_with_its_outcome(self, kind: OutcomeKind) -> None:
        """Number, worker, times, error, status and timings."""
        error = ErrorInfo("E", "m")
        written = after(running(attempt=3), kind, error=error, status_code=500, timings={"a": 1.0})
        (attempt,) = written.attempts
        assert (attempt.number, attempt.worker, attempt.outcome) == (3, "w1", kind)
        assert (attempt.started_at, attempt.finished_at) == (NOW, NOW + SECOND)
        assert (attempt.error, attempt.status_code, attempt.timings) == (error, 500, {"a": 1.0})

    def test_the_first_start_stays(self) -> None:
        """Lateness is of the first start."""
        assert after(running(started_at=5), OutcomeKind.FAILED).started_at == 5
        assert after(running(), OutcomeKind.FAILED).started_at == NOW
