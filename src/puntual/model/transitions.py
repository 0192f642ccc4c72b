"""What becomes of a run after an attempt: one pure function over a table of outcomes.

================  =========================  ====================================================
outcome           when                       next
================  =========================  ====================================================
succeeded         always                     succeeded
any other         cancel was asked           cancelled
snoozed           else                       pending after the wait asked for, not charged
cancelled         else (the worker goes)     released: pending at once, not charged
failed, timed     final, or not retryable    dead, reason ``error``
out, unknown,     budget spent               dead, reason ``attempts``
lost              else                       pending after the wait asked for, or the policy's
================  =========================  ====================================================

A release of a started attempt is charged after 20 of them, and always for a command that may run once:
``max_attempts: 1`` means never started twice. What is charged goes on in the table as a loss does.
"""

from __future__ import annotations

import msgspec

from puntual.model.attempt import Attempt, OutcomeKind, remember
from puntual.model.outcome import Evidence, Outcome
from puntual.model.run import COMMAND_TASK, DeadReason, NewRun, Run, RunState

FREE_INTERRUPTIONS = 20
_UNANSWERED = (OutcomeKind.LOST, OutcomeKind.UNKNOWN, OutcomeKind.CANCELLED)


class Transition(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The next state of a run, ready for one guarded write.

    ``claim_at`` is set when the state is pending; ``released``, ``interrupted`` and ``lost`` are what to add to the
    counters.
    """

    state: RunState
    reason: str | None = None
    claim_at: int | None = None
    finished_at: int | None = None
    started_at: int | None = None
    released: int = 0
    interrupted: int = 0
    lost: int = 0
    attempts: tuple[Attempt, ...] = ()
    result: str | None = None
    follow_ups: tuple[NewRun, ...] = ()
    evidence: Evidence | None = None


def decide(run: Run, outcome: Outcome, *, cancel_requested: bool, now: int, random: float) -> Transition:
    """What becomes of the run.

    Args:
        run: the run as it was claimed.
        outcome: what the attempt produced.
        cancel_requested: the wish as last read; the write is guarded by it.
        now: the store's time, microseconds.
        random: a number in [0, 1) for the jitter of the wait.
    """
    if outcome.kind is OutcomeKind.SUCCEEDED:
        return _end(run, outcome, RunState.SUCCEEDED, None)
    if cancel_requested:
        return _end(run, outcome, RunState.CANCELLED, None)
    if outcome.kind is OutcomeKind.SNOOZED:
        return _put_back(run, outcome, now + max(outcome.retry_after_us or 0, 0), released=1)
    if outcome.kind is OutcomeKind.CANCELLED and not _charges(run):
        return _put_back(run, outcome, now, released=1, interrupted=1)
    reason = _dead_reason(run, outcome)
    if reason is not None:
        return _end(run, outcome, RunState.DEAD, reason)
    return _put_back(run, outcome, now + _wait(run, outcome, random))


def release(run: Run, *, cancel_requested: bool, now: int) -> Transition:
    """Gives back a claim that was never started: uncharged, claimable when it was before, a retry's wait included.

    A run that was to be cancelled ends here instead.
    """
    if cancel_requested:
        return Transition(
            state=RunState.CANCELLED,
            finished_at=now,
            released=1,
            started_at=run.started_at,
            attempts=run.attempts,
        )
    return Transition(
        state=RunState.PENDING,
        claim_at=max(run.claim_at, now),
        released=1,
        started_at=run.started_at,
        attempts=run.attempts,
    )


def _charges(run: Run) -> bool:
    """Whether giving back a started attempt counts as a start."""
    once = 1 in (run.max_attempts, run.policy.retry.max_attempts)  # a replay raises the first of them
    return run.interrupted >= FREE_INTERRUPTIONS or (run.task == COMMAND_TASK and once)


def _dead_reason(run: Run, outcome: Outcome) -> DeadReason | None:
    """Why there is no other attempt; None when there is one."""
    if outcome.final or not _retryable(run, outcome):
        return DeadReason.ERROR
    return DeadReason.ATTEMPTS if run.charged >= run.max_attempts else None


def _retryable(run: Run, outcome: Outcome) -> bool:
    """The policy speaks about errors; no policy speaks about an answer that never came."""
    if outcome.again or outcome.error is None or outcome.kind in _UNANSWERED:
        return True
    return run.policy.retry.allows(outcome.error.type, outcome.status_code)


def _wait(run: Run, outcome: Outcome, random: float) -> int:
    if outcome.retry_after_us is not None:
        asked = max(outcome.retry_after_us, 0)
        return asked if outcome.again else min(asked, run.policy.retry.max_delay_us)
    return run.policy.retry.wait(max(run.charged, 1), random)


def _end(run: Run, outcome: Outcome, state: RunState, reason: str | None) -> Transition:
    succeeded = state is RunState.SUCCEEDED
    return Transition(
        state=state,
        reason=reason,
        finished_at=outcome.finished_at,
        started_at=_first_start(run, outcome),
        lost=int(outcome.kind is OutcomeKind.LOST),
        attempts=_story(run, outcome),
        result=outcome.result if succeeded else None,
        follow_ups=outcome.follow_ups if succeeded else (),
        evidence=outcome.evidence,
    )


def _put_back(run: Run, outcome: Outcome, claim_at: int, *, released: int = 0, interrupted: int = 0) -> Transition:
    return Transition(
        state=RunState.PENDING,
        claim_at=claim_at,
        started_at=_first_start(run, outcome),
        released=released,
        interrupted=interrupted,
        lost=int(outcome.kind is OutcomeKind.LOST),
        attempts=_story(run, outcome),
        evidence=outcome.evidence,
    )


def _first_start(run: Run, outcome: Outcome) -> int | None:
    return run.started_at if run.started_at is not None else outcome.started_at


def _story(run: Run, outcome: Outcome) -> tuple[Attempt, ...]:
    attempt = Attempt(
        number=run.attempt,
        worker=run.worker or "",
        started_at=outcome.started_at,
        finished_at=outcome.finished_at,
        outcome=outcome.kind,
        status_code=outcome.status_code,
        error=outcome.error,
        timings=outcome.timings,
    )
    return remember(run.attempts, attempt)
