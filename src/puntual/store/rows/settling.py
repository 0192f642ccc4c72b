"""What a settlement writes, whatever the store: the values of a run that ended, and how answers come together."""

from __future__ import annotations

import msgspec

from puntual.model.attempt import Attempt, ErrorInfo, OutcomeKind
from puntual.model.payload import safe_text
from puntual.model.run import DeadReason, RunState
from puntual.store.requests import Retention, Settled, Settlement
from puntual.store.rows.codec import SqlValue, encode


class Claim(msgspec.Struct, frozen=True):
    """What is known of the last claim of a run; of one that nobody ever claimed, only that."""

    attempt: int
    worker: str | None
    claimed_at: int | None


def goes_on(settlement: Settlement) -> bool:
    """Whether the run is put back. A wish to cancel, which the guard has found to stand, is never put back with it."""
    return settlement.transition.state is RunState.PENDING and not settlement.cancel_seen


def ended_values(settlement: Settlement, retention: Retention, now: int) -> tuple[SqlValue, ...]:
    """A run that ends, as the parameters of ``end_runs`` from ``state`` to ``expires_on``."""
    change = settlement.transition
    finished_at = now if change.finished_at is None else change.finished_at
    state = RunState.CANCELLED if change.state is RunState.PENDING else change.state
    return (
        state.value,
        None if change.reason is None else str(change.reason),
        finished_at,
        change.started_at,
        change.released,
        change.interrupted,
        change.lost,
        encode(change.attempts),
        change.result,
        retention.expires_on(state, finished_at),
    )


def buried_values(claim: Claim, why: str, retention: Retention, now: int) -> tuple[SqlValue, ...]:
    """The same of a run that cannot be worked on: dead, and the reason is the error of its one attempt."""
    last = Attempt(
        number=claim.attempt,
        worker=claim.worker or "",
        started_at=claim.claimed_at or now,
        finished_at=now,
        outcome=OutcomeKind.FAILED,
        error=ErrorInfo("StoreDataError", f"The run cannot be worked on: {safe_text(why, limit=500)}"),
    )
    counters = (0, 0, 0)
    expires_on = retention.expires_on(RunState.DEAD, now)
    return (RunState.DEAD.value, str(DeadReason.ERROR), now, None, *counters, encode([last]), None, expires_on)


def put_back_values(settlement: Settlement) -> tuple[SqlValue, ...]:
    """A run that goes on, as the parameters of ``put_back_runs`` from ``started_at`` to ``attempts``."""
    change = settlement.transition
    return (change.started_at, change.released, change.interrupted, change.lost, encode(change.attempts))


def joined(one: Settled, other: Settled) -> Settled:
    """The answer of two parts of a batch."""
    return Settled(
        written=one.written + other.written,
        changed=one.changed + other.changed,
        gone=one.gone + other.gone,
        waiting=one.waiting + other.waiting,
        refused=one.refused + other.refused,
        queues=tuple(sorted({*one.queues, *other.queues})),
        schedules=one.schedules or other.schedules,
        now=one.now,
    )
