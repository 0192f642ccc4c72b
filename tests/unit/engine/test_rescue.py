from __future__ import annotations

from puntual.engine.upkeep.rescue import decide_lost
from puntual.model.attempt import OutcomeKind
from puntual.model.policy import Backoff, RetryPolicy, RunPolicy
from puntual.model.run import DeadReason, Run, RunState
from puntual.model.transitions import Transition
from puntual.store.requests import Lost
from tests.support.runs import claimed

SECOND = 1_000_000
FIXED = RunPolicy(retry=RetryPolicy(backoff=Backoff.FIXED, delay_us=7 * SECOND, jitter=False))


def became(run: Run, *, lease_ended_at: int, now: int = 100 * SECOND) -> Transition:
    """What rescue makes of it."""
    return decide_lost(Lost(run=run, lease_ended_at=lease_ended_at), now, 0.0).transition


def test_what_may_have_been_started_is_charged_and_backs_off() -> None:
    """A lost run waits as a failed one does."""
    lost = became(claimed(claim_at=10 * SECOND, policy=FIXED), lease_ended_at=20 * SECOND)
    assert (lost.state, lost.released, lost.lost, lost.claim_at) == (RunState.PENDING, 0, 1, 107 * SECOND)
    assert [attempt.outcome for attempt in lost.attempts] == [OutcomeKind.LOST]


def test_what_could_not_be_claimed_before_the_lease_ran_out_is_given_back() -> None:
    """Each start checks the lease, so it cannot have been started; a retry claimed ahead is no exception."""
    run = claimed(due_at=0, claim_at=30 * SECOND, claimed_at=19 * SECOND, attempt=2)
    back = became(run, lease_ended_at=20 * SECOND)
    assert (back.state, back.released, back.lost, back.attempts) == (RunState.PENDING, 1, 0, ())


def test_no_loss_grants_an_attempt_past_the_maximum() -> None:
    """The last attempt that is lost ends the run."""
    dead = became(claimed(attempt=5, claim_at=0), lease_ended_at=20 * SECOND)
    assert (dead.state, dead.reason) == (RunState.DEAD, DeadReason.ATTEMPTS)


def test_a_cancel_that_was_asked_of_a_lost_run_ends_it() -> None:
    """After a cancel every outcome but success ends in cancelled, even one that never started."""
    run = claimed(claim_at=30 * SECOND, claimed_at=19 * SECOND, cancel_requested=True)
    assert became(run, lease_ended_at=20 * SECOND).state is RunState.CANCELLED


def test_a_run_claimed_after_its_lease_ran_out_is_charged() -> None:
    """The store's clock was set forward between the heartbeat and the claim: the worker may well have started it."""
    run = claimed(due_at=0, claim_at=50 * SECOND, claimed_at=50 * SECOND)
    assert became(run, lease_ended_at=20 * SECOND).released == 0
