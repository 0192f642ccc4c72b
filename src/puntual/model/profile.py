"""Says where a value leaves the JSON profile, or would not come back as it went, with the path and one sentence.

This is the slow and strict half of ``model.payload``: it runs only when the fast half saw something that it cannot
vouch for.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Final
from uuid import UUID

import msgspec

from puntual.model.errors import InvalidPayloadError

MAX_DEPTH: Final = 64
#: Python itself neither reads nor writes longer ones (its guard against quadratic work).
MAX_INT_DIGITS: Final = 4300

_INT_BITS: Final = int(MAX_INT_DIGITS * math.log2(10)) - 1
_SCALARS: Final = (str, int, float, bool, type(None))
_ARRAYS: Final = (list, tuple, set, frozenset)
_RICH: Final = (date, timedelta, UUID, bytes)


def refuse(value: object, path: str, depth: int = 0) -> None:
    """Returns if the value fits the profile.

    Args:
        value: what is to be written as JSON.
        path: where it stands, for example ``args.invoice_id``.
        depth: in how many arrays and objects it stands already.

    Raises:
        InvalidPayloadError: the first fault found, with ``field`` set to its path.
    """
    if isinstance(value, Enum):
        value = value.value
    if depth >= MAX_DEPTH and _is_container(value):
        raise _fault(path, f"is nested deeper than {MAX_DEPTH} arrays and objects")
    if isinstance(value, str):
        _refuse_text(value, path)
    elif isinstance(value, int | float | Decimal):
        _refuse_number(value, path)
    elif isinstance(value, datetime | time):
        _refuse_time(value, path)
    elif value is not None and not isinstance(value, _RICH):
        for place, part in _parts(value, path):
            refuse(part, place, depth + 1)


def refuse_change(sent: object, received: object, path: str, *, annotated: bool) -> None:
    """Returns if what a handler would receive is what was sent.

    Args:
        sent: the value in the profile, as the caller gave it.
        received: the same, written and read back by annotation.
        path: where it stands.
        annotated: the parameter says what it takes, so that an array may arrive as another kind of array.

    Raises:
        InvalidPayloadError: a rich type would arrive as something else.
    """
    if isinstance(sent, _SCALARS) and not isinstance(sent, Enum):
        return
    same_kind = type(received) is type(sent) or (isinstance(sent, dict) and isinstance(received, dict))
    if not same_kind and not (annotated and isinstance(sent, list | tuple) and isinstance(received, list | tuple)):
        if isinstance(sent, Enum) and sent == received:
            return
        raise _fault(
            path,
            f"is a {_name(sent)} but would arrive as a {_name(received)}: annotate the parameter with its type",
        )
    if isinstance(sent, datetime) and isinstance(received, datetime) and sent - received:
        raise _fault(path, "has an offset with seconds, which JSON text does not carry: convert it to UTC")
    if isinstance(sent, set | frozenset):
        pairs = zip(sorted(map(_name, sent)), sorted(map(_name, _members(received))), strict=True)
        if any(before != after for before, after in pairs):
            raise _fault(path, "has members that would arrive as another type: annotate the parameter with their type")
    elif not isinstance(sent, _RICH) and _is_container(sent):
        for (place, before), (_, after) in zip(_parts(sent, path), _parts(received, path), strict=True):
            refuse_change(before, after, place, annotated=annotated)


def _members(value: object) -> set[object] | frozenset[object]:
    assert isinstance(value, set | frozenset)
    return value


def _parts(value: object, path: str) -> Iterator[tuple[str, object]]:
    """What a container holds, each with its path."""
    if isinstance(value, dict):
        for key, part in value.items():
            if not isinstance(key, str):
                raise _fault(path, f"has the key {_shown(key)}: keys must be text")
            _refuse_text(key, f"{path}: the key {_shown(key)}")
            yield f"{path}.{key}", part
    elif isinstance(value, _ARRAYS):
        for index, part in enumerate(value):
            yield f"{path}[{index}]", part
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield f"{path}.{name}", getattr(value, name)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield f"{path}.{field.name}", getattr(value, field.name)
    else:
        raise _fault(
            path,
            f"is a {_name(value)}, which is no JSON value: pass text, numbers, lists, objects with text keys, dates, "
            "UUID, Decimal, dataclasses or Structs",
        )


def _is_container(value: object) -> bool:
    return isinstance(value, (dict, msgspec.Struct, *_ARRAYS)) or (
        dataclasses.is_dataclass(value) and not isinstance(value, type)
    )


def _refuse_text(text: str, path: str) -> None:
    if "\0" in text:
        raise _fault(path, f"has a NUL character at position {text.index(chr(0))}, which no database keeps: remove it")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _fault(
            path, f"has a lone surrogate at position {error.start}, which is no text: decode it as UTF-8"
        ) from None


def _refuse_number(number: float | Decimal, path: str) -> None:
    if isinstance(number, int):
        if number.bit_length() > _INT_BITS:
            raise _fault(path, f"is an integer of more than {MAX_INT_DIGITS} digits: pass it as text")
    elif not math.isfinite(number):
        raise _fault(path, f"is {number}, which JSON does not have: pass a finite number, text or null")


def _refuse_time(moment: datetime | time, path: str) -> None:
    if isinstance(moment, datetime) and moment.utcoffset() is None:
        raise _fault(path, f"is {moment.isoformat()}, a time without offset: give it a time zone")


def _fault(path: str, what: str) -> InvalidPayloadError:
    path = path.encode("utf-8", "backslashreplace").decode()
    return InvalidPayloadError(f"{path} {what}.", field=path.partition(": the key ")[0])


def _name(value: object) -> str:
    return type(value).__name__


def _shown(key: object) -> str:
    text = ascii(key)
    return text if len(text) <= 60 else text[:57] + "..."
