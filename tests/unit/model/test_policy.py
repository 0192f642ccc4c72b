"""Waits between attempts, and which failures are worth another one."""

from __future__ import annotations

import pytest

from puntual.model.policy import Backoff, RetryPolicy

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("backoff", "waits"),
    [
        (Backoff.EXPONENTIAL, [5, 10, 20, 40, 60, 60]),
        (Backoff.LINEAR, [5, 10, 15, 20, 25, 30]),
        (Backoff.FIXED, [5, 5, 5, 5, 5, 5]),
    ],
)
def test_waits_grow_as_the_backoff_says(backoff: Backoff, waits: list[int]) -> None:
    """``delay * 2**(n-1)``, ``delay * n`` or ``delay``, capped."""
    policy = RetryPolicy(backoff=backoff, max_delay_us=60 * SECOND, jitter=False)
    assert [policy.wait(tries, 0.9) for tries in range(1, 7)] == [wait * SECOND for wait in waits]


def test_a_thousand_tries_wait_the_cap() -> None:
    """Nothing overflows."""
    assert RetryPolicy(jitter=False).wait(1_000, 0.0) == 3600 * SECOND


def test_jitter_takes_at_most_half() -> None:
    """Between half of the wait and all of it."""
    policy = RetryPolicy(delay_us=SECOND)
    assert policy.wait(1, 0.0) == SECOND
    assert SECOND // 2 <= policy.wait(1, 0.999_999) <= SECOND // 2 + 2


def test_a_cap_below_the_delay_is_the_wait() -> None:
    """The cap counts from the first attempt."""
    assert RetryPolicy(delay_us=9, max_delay_us=4, jitter=False).wait(1, 0.0) == 4


@pytest.mark.parametrize(
    ("on", "not_on", "error", "status", "allowed"),
    [
        ((), (), "ValueError", None, True),
        (("ConnectionError",), (), "ConnectionError", None, True),
        (("ConnectionError",), (), "ValueError", None, False),
        ((), ("ValueError",), "ValueError", None, False),
        ((), ("ValueError",), "KeyError", None, True),
        (("5xx",), (), "HttpError", 503, True),
        (("5xx",), (), "HttpError", 404, False),
        (("404",), (), "HttpError", 404, True),
        ((), ("4xx",), "HttpError", 404, False),
        ((), ("4xx",), "HttpError", 500, True),
        (("5xx", "429", "ConnectionError"), ("4xx",), "HttpError", 429, True),
        (("5xx", "429", "ConnectionError"), ("4xx",), "HttpError", 404, False),
        (("5xx", "429", "ConnectionError"), ("4xx",), "HttpError", 500, True),
        (("5xx", "429", "ConnectionError"), ("4xx",), "ConnectionError", None, True),
        (("5xx",), ("503",), "HttpError", 503, False),
        (("503",), ("503",), "HttpError", 503, False),
        (("HttpError",), ("4xx",), "HttpError", 404, True),
    ],
)
def test_a_failure_is_retried_by_the_most_exact_word(
    on: tuple[str, ...], not_on: tuple[str, ...], error: str, status: int | None, *, allowed: bool
) -> None:
    """Types and statuses before classes, ``not_on`` before ``on``, and no ``on`` at all means every failure."""
    assert RetryPolicy(on=on, not_on=not_on).allows(error, status) is allowed
