"""A task's arguments and options as a value, ready to be enqueued by whoever holds a store."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal, TypeAlias, TypedDict

import msgspec

from puntual.model.duration import parse_duration
from puntual.model.errors import InvalidError
from puntual.model.instant import from_datetime, parse_instant
from puntual.model.names import check_queue
from puntual.model.payload import safe_text
from puntual.model.policy import RunPolicy
from puntual.model.run import NewRun, Priority

PriorityWord: TypeAlias = Literal["critical", "high", "normal", "low"]
_LONGEST_NAME = 200


class CallKeywords(TypedDict, total=False):
    """What may differ from one call to the next.

    ``delay`` is a duration or timedelta, ``at`` an aware datetime or RFC 3339 text; one of the two. ``timeout`` None or
    ``"none"`` means no deadline.
    """

    delay: str | timedelta
    at: str | datetime
    unique_key: str
    queue: str
    priority: PriorityWord
    tags: Sequence[str]
    max_attempts: int
    timeout: str | None


class CallOptions(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Where and when a run is to be done. ``due_at`` None means now, plus ``delay_us``."""

    queue: str = "default"
    priority: Priority = Priority.NORMAL
    tags: tuple[str, ...] = ()
    policy: RunPolicy = RunPolicy()
    delay_us: int = 0
    due_at: int | None = None
    unique_key: str | None = None

    def changed(self, changes: CallKeywords) -> CallOptions:
        """These options with some of them replaced.

        Raises:
            InvalidError: a value cannot be used, or ``delay`` and ``at`` are both given.
        """
        check_keywords(changes, CallKeywords)
        if "delay" in changes and "at" in changes:
            raise InvalidError("Give delay or at, not both.", field="delay")
        made: dict[str, object] = {}
        if "delay" in changes:
            made |= {"delay_us": _delay(changes["delay"]), "due_at": None}
        if "at" in changes:
            made |= {"delay_us": 0, "due_at": _instant(changes["at"])}
        if "unique_key" in changes:
            made["unique_key"] = check_name(changes["unique_key"], field="unique_key")
        if "queue" in changes:
            made["queue"] = check_queue(changes["queue"])
        if "priority" in changes:
            made["priority"] = Priority.parse(changes["priority"])
        if "tags" in changes:
            made["tags"] = check_tags(changes["tags"])
        policy = self.policy
        if "max_attempts" in changes:
            attempts = check_attempts(changes["max_attempts"])
            policy = msgspec.structs.replace(policy, retry=msgspec.structs.replace(policy.retry, max_attempts=attempts))
        if "timeout" in changes:
            policy = msgspec.structs.replace(policy, timeout_us=timeout_us(changes["timeout"]))
        return msgspec.structs.replace(self, policy=policy, **made)


class Call(msgspec.Struct, frozen=True, gc=False):
    """One call of a task that has not been enqueued: the task's name, its arguments as JSON text, and its options."""

    task: str
    args: str
    options: CallOptions

    def new_run(self, id: str) -> NewRun:
        """The run to insert, under this id."""
        options = self.options
        return NewRun(
            id=id,
            task=self.task,
            args=self.args,
            queue=options.queue,
            priority=options.priority,
            due_at=options.due_at,
            delay_us=options.delay_us,
            max_attempts=options.policy.retry.max_attempts,
            policy=options.policy,
            unique_key=options.unique_key,
            tags=options.tags,
        )


def check_name(text: object, *, field: str) -> str:
    """A short text that is to be a tag or a key.

    Raises:
        InvalidError: it is no text, empty, longer than 200 characters, or has characters that cannot be printed.
    """
    if not isinstance(text, str) or not text or len(text) > _LONGEST_NAME or not text.isprintable():
        raise InvalidError(
            f"{field} is {safe_text(text, limit=60, as_repr=True)}; it must be 1 to {_LONGEST_NAME} printable letters.",
            field=field,
        )
    return text


def check_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """The tags as the store keeps them.

    Raises:
        InvalidError: one cannot be used, or a single text was given for the list.
    """
    if isinstance(tags, str):
        raise InvalidError(f"tags is the text {tags!r}; it must be a list, like [{tags!r}].", field="tags")
    return tuple(check_name(tag, field="tags") for tag in tags)


def check_keywords(given: Mapping[str, object], kind: type) -> None:
    """Refuses a keyword that the TypedDict ``kind`` does not have, which Python itself would let pass.

    Raises:
        InvalidError: there is one; the nearest known one is named.
    """
    known = kind.__annotations__
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"it is one of {', '.join(known)}"
            raise InvalidError(f"There is no option {name!r}: {hint}.", field=name)


def check_attempts(number: object) -> int:
    """How many times a run may be started.

    Raises:
        InvalidError: it is no integer of at least 1.
    """
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= 1_000_000:
        raise InvalidError(f"max_attempts is {number!r}; it must be a number from 1 to 1000000.", field="max_attempts")
    return number


def timeout_us(text: str | None) -> int | None:
    """The deadline of an attempt in microseconds; None or ``"none"`` means that there is none.

    Raises:
        InvalidError: it is no duration, or zero.
    """
    if text is None or text == "none":
        return None
    timeout = parse_duration(text, field="timeout")
    if not timeout:
        raise InvalidError("timeout is zero; it must be a duration like 30s, or none.", field="timeout")
    return timeout


def _delay(delay: str | timedelta) -> int:
    if isinstance(delay, str):
        return parse_duration(delay, field="delay")
    if delay < timedelta(0):
        raise InvalidError(f"delay is {delay}; it must not be negative.", field="delay")
    return delay // timedelta(microseconds=1)


def _instant(at: str | datetime) -> int:
    return parse_instant(at, field="at") if isinstance(at, str) else from_datetime(at)
