"""What callers send, read strictly: an unknown, missing or wrong key is one sentence that names it."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TypeVar

import msgspec

from puntual.model.errors import InvalidError
from puntual.model.payload import convert
from puntual.model.schedule import Overlap

BodyT = TypeVar("BodyT", bound=msgspec.Struct)


class EnqueueBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run to make: ``delay`` is a duration, ``at`` an instant; at most one of them."""

    task: str
    args: dict[str, object] = {}
    queue: str | None = None
    delay: str | None = None
    at: str | None = None
    priority: str | None = None
    unique_key: str | None = None
    id: str | None = None
    tags: list[str] | None = None
    max_attempts: int | None = None
    timeout: str | None = None


class EditBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to change in pending runs."""

    priority: str | None = None
    at: str | None = None
    queue: str | None = None


class TriggerBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to start one run by hand: with other arguments, in spite of the overlap policy, or under an id of its own."""

    args: dict[str, object] | None = None
    overlap: str | None = None
    id: str | None = None


class BackfillBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which time to make up for, and how: instants, local times of the schedule, or words like ``24h`` and ``today``.

    ``limit`` ends it after so many runs; the answer says where to go on.
    """

    since: str
    until: str | None = None
    dry_run: bool = False
    overlap: str | None = None
    queue: str | None = None
    priority: str | None = None
    limit: int | None = None


class ReplayBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to run it again: with other arguments, or, where that makes a new run, under an id of its own."""

    args: dict[str, object] | None = None
    id: str | None = None


class QueueBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to change in a queue; ``concurrency`` null takes the limit away."""

    concurrency: int | msgspec.UnsetType | None = msgspec.UNSET
    paused: bool | msgspec.UnsetType = msgspec.UNSET
    pause_reason: str | None = None


class TokenBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A token to make; ``expires`` is an instant, or a duration from now."""

    scope: str
    name: str = ""
    expires: str | None = None


class SelectBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which schedules: exactly one of the three."""

    names: list[str] | None = None
    tag: str | None = None
    all: bool = False


def read_body(body: object, kind: type[BodyT], *, field: str = "") -> BodyT:
    """The typed form of a JSON object.

    Args:
        body: plain JSON values.
        kind: what it must be.
        field: where it stands, for errors.

    Raises:
        InvalidError: a key is unknown or missing, or a value is of another type.
    """
    if not kind.__struct_config__.forbid_unknown_fields:
        _explain(body, kind, field)
    try:
        return msgspec.convert(body, kind)
    except msgspec.ValidationError:
        _explain(body, kind, field)
        # What the names do not explain, the value of one of them does.
        return _by_key(body, kind, field)


def overlap_of(word: str) -> Overlap:
    """The overlap policy that a body names.

    Raises:
        InvalidError: there is none of that name.
    """
    try:
        return Overlap(word)
    except ValueError:
        known = ", ".join(Overlap)
        raise InvalidError(f"overlap is {word[:60]!r}; it must be one of {known}.", field="overlap") from None


def _explain(body: object, kind: type[msgspec.Struct], field: str) -> None:
    if not isinstance(body, dict):
        raise InvalidError(f"{field or 'The body'} must be a JSON object.", field=field or None)
    prefix = f"{field}." if field else ""
    known = kind.__struct_encode_fields__
    for key in body:
        if key not in known:
            near = get_close_matches(str(key), known, 1)
            way_out = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(known)}."
            raise InvalidError(f"There is no key {str(key)[:60]!r} here: {way_out}", field=f"{prefix}{key}"[:200])
    for place in msgspec.structs.fields(kind):
        if place.required and place.encode_name not in body:
            raise InvalidError(
                f"{prefix}{place.encode_name} is missing; it must be given.", field=prefix + place.encode_name
            )


def _by_key(body: object, kind: type[BodyT], field: str) -> BodyT:
    assert isinstance(body, dict)
    prefix = f"{field}." if field else ""
    for place in msgspec.structs.fields(kind):
        if place.encode_name in body:
            convert(body[place.encode_name], place.type, field=prefix + place.encode_name)
    return convert(body, kind, field=field or "body")
