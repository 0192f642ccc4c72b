"""How long to wait between attempts, as users write it: ``exponential("5s", cap="1h")``, ``linear``, ``fixed``."""

from __future__ import annotations

import msgspec

from puntual.model.duration import parse_duration
from puntual.model.policy import Backoff


class BackoffRule(msgspec.Struct, frozen=True, kw_only=True):
    """The growth of the wait, its first value and its cap in microseconds, and whether it is shortened at random."""

    backoff: Backoff
    delay_us: int
    max_delay_us: int
    jitter: bool


def exponential(delay: str = "5s", *, cap: str = "1h", jitter: bool = True) -> BackoffRule:
    """Doubles the wait after each attempt: ``delay``, twice that, four times, up to ``cap``.

    Raises:
        InvalidDurationError: ``delay`` or ``cap`` is no duration.
    """
    return _rule(Backoff.EXPONENTIAL, delay, cap, jitter=jitter)


def linear(delay: str = "5s", *, cap: str = "1h", jitter: bool = True) -> BackoffRule:
    """Adds ``delay`` to the wait after each attempt, up to ``cap``.

    Raises:
        InvalidDurationError: ``delay`` or ``cap`` is no duration.
    """
    return _rule(Backoff.LINEAR, delay, cap, jitter=jitter)


def fixed(delay: str = "5s", *, jitter: bool = True) -> BackoffRule:
    """Waits ``delay`` after every attempt.

    Raises:
        InvalidDurationError: ``delay`` is no duration.
    """
    return _rule(Backoff.FIXED, delay, delay, jitter=jitter)


def _rule(backoff: Backoff, delay: str, cap: str, *, jitter: bool) -> BackoffRule:
    return BackoffRule(
        backoff=backoff,
        delay_us=parse_duration(delay, field="backoff.delay"),
        max_delay_us=parse_duration(cap, field="backoff.cap"),
        jitter=jitter,
    )
