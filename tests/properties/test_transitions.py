"""Whatever comes of its attempts, a run keeps its budget, ends, and is never decided twice differently."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from puntual.model.attempt import FIRST_KEPT, LAST_KEPT, ErrorInfo, OutcomeKind
from puntual.model.outcome import Outcome
from puntual.model.policy import Backoff, RetryPolicy, RunPolicy
from puntual.model.run import DeadReason, Run, RunState
from puntual.model.transitions import FREE_INTERRUPTIONS, Transition, decide, release
from tests.support.runs import NOW, running

NAMES = st.sampled_from(["ValueError", "ConnectionError", "4xx", "5xx", "429", "500"])
POLICIES = st.builds(
    RetryPolicy,
    max_attempts=st.integers(1, 20),
    backoff=st.sampled_from(Backoff),
    delay_us=st.integers(0, 10**10),
    max_delay_us=st.integers(0, 10**11),
    jitter=st.booleans(),
    on=st.lists(NAMES, max_size=2).map(tuple),
    not_on=st.lists(NAMES, max_size=2).map(tuple),
)
OUTCOMES = st.builds(
    Outcome,
    kind=st.sampled_from(OutcomeKind),
    error=st.none() | st.builds(ErrorInfo, st.sampled_from(["ValueError", "ConnectionError"]), st.text(max_size=5)),
    status_code=st.none() | st.sampled_from([200, 404, 429, 500]),
    retry_after_us=st.none() | st.integers(-(10**6), 10**13),
    final=st.booleans(),
    again=st.booleans(),
    result=st.none() | st.just("1"),
)
RUNS = st.builds(
    lambda task, policy: running(
        task=task, max_attempts=policy.max_attempts, policy=RunPolicy(retry=policy), attempt=0, worker=None
    ),
    st.sampled_from(["task", "http", "command"]),
    POLICIES,
)
FRACTIONS = st.floats(0, 1, exclude_max=True)


def _claimed(run: Run) -> Run:
    return msgspec.structs.replace(run, state=RunState.RUNNING, attempt=run.attempt + 1, worker=f"w{run.attempt}")


def _written(run: Run, transition: Transition) -> Run:
    """The run as a store leaves it."""
    return msgspec.structs.replace(
        run,
        state=transition.state,
        reason=transition.reason,
        worker=None,
        claim_at=run.claim_at if transition.claim_at is None else transition.claim_at,
        started_at=transition.started_at,
        finished_at=transition.finished_at,
        released=run.released + transition.released,
        interrupted=run.interrupted + transition.interrupted,
        lost=run.lost + transition.lost,
        attempts=transition.attempts,
        result=transition.result,
    )


@given(
    run=RUNS,
    outcomes=st.lists(st.tuples(OUTCOMES, st.booleans(), FRACTIONS), min_size=1, max_size=60),
)
def test_a_life_keeps_its_promises(run: Run, outcomes: list[tuple[Outcome, bool, float]]) -> None:
    """Budget, counters and story hold after every attempt, whatever their order."""
    now = NOW
    for total, (outcome, cancel, random) in enumerate(outcomes, 1):
        run = _claimed(run)
        ended = msgspec.structs.replace(outcome, started_at=now, finished_at=now + 1)
        transition = decide(run, ended, cancel_requested=cancel, now=now + 1, random=random)
        run = _written(run, transition)
        assert run.attempt == total
        assert 0 <= run.charged <= run.max_attempts
        assert 0 <= run.interrupted <= min(run.released, FREE_INTERRUPTIONS)
        assert run.attempts[-1].number == total
        assert len(run.attempts) == min(total, FIRST_KEPT + LAST_KEPT)
        assert run.started_at == NOW
        if run.state is not RunState.PENDING:
            break
        now = run.claim_at
    _check_end(run)


def _check_end(run: Run) -> None:
    ended = run.state in (RunState.SUCCEEDED, RunState.DEAD, RunState.CANCELLED)
    assert ended == (run.finished_at is not None)
    assert (run.state is RunState.DEAD) == (run.reason is not None)
    assert run.result is None or run.state is RunState.SUCCEEDED
    if run.reason == DeadReason.ATTEMPTS:
        assert run.charged == run.max_attempts


@given(run=RUNS, outcome=OUTCOMES, cancel=st.booleans(), random=FRACTIONS)
def test_a_run_put_back_is_claimable_from_now_on(run: Run, outcome: Outcome, *, cancel: bool, random: float) -> None:
    """Pending means a time to claim at, never before now; ended means none."""
    transition = decide(_claimed(run), outcome, cancel_requested=cancel, now=NOW, random=random)
    if transition.state is RunState.PENDING:
        assert transition.claim_at is not None
        assert transition.claim_at >= NOW
    else:
        assert transition.claim_at is None


@given(run=RUNS, outcome=OUTCOMES, random=FRACTIONS)
def test_after_the_wish_nothing_goes_on(run: Run, outcome: Outcome, random: float) -> None:
    """With a cancel asked a run has ended, in success or cancelled."""
    transition = decide(_claimed(run), outcome, cancel_requested=True, now=NOW, random=random)
    succeeded = outcome.kind is OutcomeKind.SUCCEEDED
    assert transition.state is (RunState.SUCCEEDED if succeeded else RunState.CANCELLED)


@given(run=RUNS, random=FRACTIONS, gone=st.sampled_from([OutcomeKind.LOST, OutcomeKind.CANCELLED]))
def test_a_command_that_may_run_once_starts_once(run: Run, random: float, gone: OutcomeKind) -> None:
    """However its only start ended, there is no second."""
    once = msgspec.structs.replace(run, task="command", max_attempts=1)
    transition = decide(_claimed(once), Outcome(kind=gone), cancel_requested=False, now=NOW, random=random)
    assert transition.state is RunState.DEAD


@given(run=RUNS, outcome=OUTCOMES, cancel=st.booleans(), random=FRACTIONS)
def test_deciding_again_decides_the_same(run: Run, outcome: Outcome, *, cancel: bool, random: float) -> None:
    """It is a function of what it is given."""
    decisions = [decide(_claimed(run), outcome, cancel_requested=cancel, now=NOW, random=random) for _ in range(2)]
    assert decisions[0] == decisions[1]


@given(policy=POLICIES, tries=st.integers(1, 10_000), random=FRACTIONS)
def test_a_wait_stays_within_its_cap(policy: RetryPolicy, tries: int, random: float) -> None:
    """Never negative, never over the cap, never less than half of what it is without jitter."""
    wait = policy.wait(tries, random)
    whole = msgspec.structs.replace(policy, jitter=False).wait(tries, random)
    assert 0 <= whole // 2 <= wait <= whole <= policy.max_delay_us


@given(policy=POLICIES, tries=st.integers(1, 100))
def test_waits_do_not_shrink(policy: RetryPolicy, tries: int) -> None:
    """Without jitter the next wait is no shorter."""
    steady = msgspec.structs.replace(policy, jitter=False)
    assert steady.wait(tries, 0.0) <= steady.wait(tries + 1, 0.0)


@given(run=RUNS, now=st.integers(NOW, NOW + 10**9))
def test_a_release_charges_nothing(run: Run, now: int) -> None:
    """The budget, the story and the first start are as before the claim."""
    back = _written(_claimed(run), release(_claimed(run), cancel_requested=False, now=now))
    assert (back.state, back.charged, back.attempts, back.started_at) == (
        RunState.PENDING,
        run.charged,
        run.attempts,
        run.started_at,
    )
    assert back.claim_at == max(run.claim_at, now)
