"""One row that cannot be read stops nobody: it is shown as far as it can be.

Such rows come from a newer version of this code, or from a hand in the database. A batch is decoded whole, as fast as
can be, and row by row only when that fails.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from puntual.model.policy import RunPolicy
from puntual.model.run import Origin, Priority, Run
from puntual.store.rows.codec import decode

T = TypeVar("T")
StructT = TypeVar("StructT", bound=msgspec.Struct)

_runs = msgspec.json.Decoder(tuple[Run, ...])
_run = msgspec.json.Decoder(Run)
_raws = msgspec.json.Decoder(list[msgspec.Raw])
_firsts = msgspec.json.Decoder(list[Any])


class Unreadable(msgspec.Struct, frozen=True):
    """The id of a row, and why it cannot be read."""

    id: str
    why: str


#: What stands for a part of a run that cannot be read; its other parts are only texts and numbers.
_INSTEAD: dict[str, object] = {
    "priority": Priority.NORMAL,
    "origin": Origin.EVENT,
    "tags": (),
    "policy": RunPolicy(),
    "attempts": (),
}


def readable_runs(text: str) -> tuple[tuple[Run, ...], list[Unreadable]]:
    """The runs of an array of ``$run``, and which of its rows are none."""
    try:
        return _runs.decode(text), []
    except msgspec.MsgspecError:
        runs: list[Run] = []
        unreadable: list[Unreadable] = []
        for raw in decode(_raws, text):
            try:
                runs.append(_run.decode(raw))
            except msgspec.MsgspecError as error:
                unreadable.append(Unreadable(str(decode(_firsts, str(raw, "utf-8"))[0]), str(error)))
        return tuple(runs), unreadable


def shown_runs(text: str) -> tuple[Run, ...]:
    """The runs of an array of ``$run``, for people: what of a run cannot be read is left out of it."""
    try:
        return _runs.decode(text)
    except msgspec.MsgspecError:
        rows = msgspec.json.decode(text)
        found = (mended(dict(zip(Run.__struct_fields__, row, strict=False)), Run) for row in rows)
        return tuple(run for run in found if run is not None)


def readable(decoder: msgspec.json.Decoder[list[T]], kind: type[T], text: str) -> list[T]:
    """The values of an array, without those that cannot be read."""
    try:
        return decoder.decode(text)
    except msgspec.MsgspecError:
        return [found for raw in decode(_raws, text) if (found := _value(raw, kind)) is not None]


def mended(given: object, kind: type[StructT]) -> StructT | None:
    """A struct from the parts of it that can be read, the others as if they were not given; None when it is none."""
    if not isinstance(given, dict):
        return None
    parts: dict[str, object] = {}
    for field in msgspec.structs.fields(kind):
        if field.encode_name not in given:
            continue
        value = given[field.encode_name]
        try:
            parts[field.name] = msgspec.convert(value, field.type)
        except msgspec.MsgspecError:
            inner = mended(value, field.type) if isinstance(field.type, type) else None
            if inner is not None:
                parts[field.name] = inner
            elif field.name in _INSTEAD and field.required:
                parts[field.name] = _INSTEAD[field.name]
    try:
        return kind(**parts)
    except TypeError:
        return None


def _value(raw: msgspec.Raw, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.MsgspecError:
        return None
