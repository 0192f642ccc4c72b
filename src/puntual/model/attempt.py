"""One claim of a run, and the story of all of them that the run's row keeps."""

from __future__ import annotations

from enum import StrEnum

import msgspec

FIRST_KEPT = 5
LAST_KEPT = 20


class OutcomeKind(StrEnum):
    """What an attempt produced."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    LOST = "lost"
    SNOOZED = "snoozed"
    UNKNOWN = "unknown"


class ErrorInfo(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """An error as text; capturing one can itself never fail."""

    type: str
    message: str
    trace: str | None = None


class Attempt(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One claim that was started and ended, numbered from 1. Instants are microseconds, timings are milliseconds."""

    number: int
    worker: str
    started_at: int
    finished_at: int
    outcome: OutcomeKind
    status_code: int | None = None
    error: ErrorInfo | None = None
    timings: dict[str, float] | None = None


def remember(attempts: tuple[Attempt, ...], attempt: Attempt) -> tuple[Attempt, ...]:
    """The story with one more attempt: the first 5 and the last 20 are kept, the run's own number counts them all."""
    story = (*attempts, attempt)
    if len(story) > FIRST_KEPT + LAST_KEPT:
        story = (*story[:FIRST_KEPT], *story[-LAST_KEPT:])
    return story
