"""What executing a run produced, as a value; and the three words with which a handler steers it."""

from __future__ import annotations

import msgspec

from puntual.model.attempt import ErrorInfo, OutcomeKind
from puntual.model.duration import parse_duration
from puntual.model.run import NewRun


class Evidence(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What came back from outside, kept beside the attempt: a response body, or a command's output.

    ``body`` is capped at ``MAX_RESPONSE``; ``truncated`` says how many bytes were cut off.
    """

    body: bytes
    content_type: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    truncated: int = 0


class Outcome(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What one attempt produced.

    ``result`` is JSON text. ``retry_after_us`` is the wait that a failure or a snooze asked for; a failure's is obeyed
    within the policy's cap. ``final`` makes a failure the last one and ``again`` says that the handler asked for
    another attempt, after its own wait, both whatever the policy says. Without a cancel asked, ``cancelled`` means that
    the worker goes.
    """

    kind: OutcomeKind
    result: str | None = None
    error: ErrorInfo | None = None
    status_code: int | None = None
    timings: dict[str, float] | None = None
    retry_after_us: int | None = None
    final: bool = False
    again: bool = False
    follow_ups: tuple[NewRun, ...] = ()
    evidence: Evidence | None = None
    started_at: int = 0
    finished_at: int = 0


class Steer(Exception):
    """Base of what a handler raises, or returns, to decide what becomes of its run."""


class Retry(Steer):
    """Ends this attempt as failed and asks for another one.

    Args:
        after: how long to wait, as ``90s`` or ``1h30m``; without it the policy's own wait.
        reason: what to record.
    """

    def __init__(self, after: str | None = None, *, reason: str = "The handler asked for another attempt.") -> None:
        super().__init__(reason)
        self.reason = reason
        self.after_us = None if after is None else parse_duration(after, field="after")


class Dead(Steer):
    """Ends the run as dead, with this reason, whatever attempts are left."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Snooze(Steer):
    """Puts the run back for a while without charging the attempt.

    Args:
        after: how long, as ``5m``.
    """

    def __init__(self, after: str) -> None:
        super().__init__(after)
        self.after_us = parse_duration(after, field="after")
