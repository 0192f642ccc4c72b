"""What a task may be declared with, checked and read into the options that its runs have by default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, Required, TypedDict

import msgspec

from puntual.model.backoff import BackoffRule
from puntual.model.call import CallOptions, PriorityWord, check_attempts, check_tags, timeout_us
from puntual.model.errors import InvalidError
from puntual.model.names import check_queue
from puntual.model.policy import OnLostLease, RetryPolicy, RunPolicy
from puntual.model.run import Priority

_LARGEST_BATCH: Final = 10_000


class TaskKeywords(TypedDict, total=False):
    """What a task may be declared with.

    ``timeout`` None or ``"none"`` means no deadline. ``isolation="process"`` runs a sync function in a process that can
    be killed. ``retry_on`` and ``retry_not_on`` are exception classes or their names, and mean their subclasses too;
    without ``retry_on`` every failure is tried again.
    """

    name: str
    queue: str
    max_attempts: int
    backoff: BackoffRule
    timeout: str | None
    isolation: Literal["process"] | None
    priority: PriorityWord
    on_lost_lease: Literal["run_on", "cancel"]
    tags: Sequence[str]
    retry_on: Sequence[str | type[BaseException]]
    retry_not_on: Sequence[str | type[BaseException]]


class BatchKeywords(TaskKeywords, total=False):
    """What a batch task may be declared with; ``batch`` is how many runs one call takes at most."""

    batch: Required[int]


def declared_options(keywords: TaskKeywords) -> CallOptions:
    """Where and how a task's runs are done unless a call says otherwise.

    Raises:
        InvalidError: a value cannot be used.
    """
    retry = RetryPolicy(on=_types(keywords.get("retry_on", ())), not_on=_types(keywords.get("retry_not_on", ())))
    if "backoff" in keywords:
        rule = keywords["backoff"]
        if not isinstance(rule, BackoffRule):
            raise InvalidError(
                f"backoff is {rule!r}; it must be like puntual.exponential('5s', cap='1h').", field="backoff"
            )
        retry = msgspec.structs.replace(retry, **msgspec.structs.asdict(rule))
    if "max_attempts" in keywords:
        retry = msgspec.structs.replace(retry, max_attempts=check_attempts(keywords["max_attempts"]))
    policy = RunPolicy(retry=retry)
    if "timeout" in keywords:
        policy = msgspec.structs.replace(policy, timeout_us=timeout_us(keywords["timeout"]))
    if "on_lost_lease" in keywords:
        policy = msgspec.structs.replace(policy, on_lost_lease=_on_lost_lease(keywords["on_lost_lease"]))
    return CallOptions(
        queue=check_queue(keywords.get("queue", "default")),
        priority=Priority.parse(keywords.get("priority", "normal")),
        tags=check_tags(keywords.get("tags", ())),
        policy=policy,
    )


def _on_lost_lease(word: str) -> OnLostLease:
    try:
        return OnLostLease(word)
    except ValueError:
        raise InvalidError(f"on_lost_lease is {word!r}; it must be run_on or cancel.", field="on_lost_lease") from None


def _types(names: Sequence[str | type[BaseException]]) -> tuple[str, ...]:
    return tuple(name if isinstance(name, str) else name.__name__ for name in names)


def check_batch(size: object) -> int:
    """How many runs one call of a batch task takes.

    Raises:
        InvalidError: it is no integer from 1 to 10,000.
    """
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= _LARGEST_BATCH:
        raise InvalidError(f"batch is {size!r}; it must be a number from 1 to {_LARGEST_BATCH}.", field="batch")
    return size
