"""A run as a worker holds it, for tests of what is decided about it."""

from __future__ import annotations

import msgspec

from puntual.model.policy import RetryPolicy, RunPolicy
from puntual.model.run import Origin, Priority, Run, RunState

SECOND = 1_000_000
NOW = 1_000_000_000
STEADY = RunPolicy(retry=RetryPolicy(jitter=False))


def running(**changes: object) -> Run:
    """A run in its first attempt."""
    run = Run(
        id="0198c1f2-7d3a-7b0e-9c55-3f1d2a4b6c8d",
        task="task",
        args="{}",
        queue="default",
        priority=Priority.NORMAL,
        state=RunState.RUNNING,
        reason=None,
        origin=Origin.EVENT,
        replay_of=None,
        schedule_id=None,
        schedule=None,
        tick_at=None,
        tick_number=None,
        due_at=NOW,
        claim_at=NOW,
        created_at=NOW,
        started_at=None,
        finished_at=None,
        attempt=1,
        max_attempts=5,
        released=0,
        interrupted=0,
        lost=0,
        worker="w1",
        claimed_at=NOW,
        cancel_requested=False,
        unique_key=None,
        tags=(),
        policy=STEADY,
        attempts=(),
        result=None,
        discarded_at=None,
    )
    return msgspec.structs.replace(run, **changes)


def claimed(number: int = 1, **changes: object) -> Run:
    """The ``number``-th of several runs of the task ``t``, due already."""
    return running(id=f"0198c1f2-7d3a-7b0e-9c55-{number:012d}", task="t", **changes)
