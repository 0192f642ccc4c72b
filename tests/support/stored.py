"""What releases must agree on: what the database keeps as JSON and as words, and what all make alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import inspect

from puntual.model.attempt import Attempt
from puntual.model.calendar import CalendarSpec
from puntual.model.command import Command
from puntual.model.ids import follow_up_id, key_run_id, tick_run_id
from puntual.model.policy import RunPolicy
from puntual.model.run import DeadReason, Origin, Priority, RunState
from puntual.model.schedule import Pause, ScheduleSpec, Stretch
from puntual.targets.http.request import HttpRequest
from puntual.timing.calendar import CalendarDays
from puntual.timing.rule import Timetable
from puntual.timing.spread import stable_offset
from puntual.wake.contract import CHANNEL, RUNS

#: What is written and read by puntual alone, in columns of runs, schedules, calendars and the pause of everything.
KEPT: Final = (RunPolicy, Attempt, ScheduleSpec, Timetable, Stretch, Pause, CalendarSpec, CalendarDays)
#: What users write as the arguments of the built-in tasks, and is read again when they run.
GIVEN: Final = (HttpRequest, Command)
#: Words that have a column of their own.
WORDS: Final = (RunState, Origin, DeadReason, Priority)


class Shape(msgspec.Struct, frozen=True, omit_defaults=True):
    """A struct, as far as others must agree on it.

    ``required`` are the fields that must be there, ``optional`` the others with the JSON of what their lack means, both
    in order; ``tag`` is what tells it among others.
    """

    array: bool = False
    strict: bool = False
    tag: str | None = None
    required: tuple[str, ...] = ()
    optional: dict[str, Any] = {}


class Stored(msgspec.Struct, frozen=True):
    """All structs and all sets of words, by their names; and examples of what two processes make alike, unasked."""

    shapes: dict[str, Shape]
    words: dict[str, list[str | int]]
    alike: dict[str, str | int] = {}


def stored() -> Stored:
    """What this release keeps."""
    shapes: dict[str, Shape] = {}
    words: dict[str, list[str | int]] = {kind.__name__: [one.value for one in kind] for kind in WORDS}
    for root in (*KEPT, *GIVEN):
        for found in _reached(inspect.type_info(root)):
            if isinstance(found, inspect.StructType):
                shapes[found.cls.__name__] = _shape(found)
                words |= _literals(found)
            elif isinstance(found, inspect.EnumType):
                words[found.cls.__name__] = [one.value for one in found.cls]
    return Stored(shapes, words, _alike())


def _alike() -> dict[str, str | int]:
    """Ids of the same run, the moment of the same tick, and how processes wake each other."""
    moment = 1_800_000_000_000_000
    tick = tick_run_id("01a3185c-5000-7b0f-9b10-aff55228716a", moment)
    return {
        "tick_run_id": tick,
        "follow_up_id": follow_up_id(tick, 3),
        "key_run_id": key_run_id("ana", "order-17", 2, moment),
        "spread": stable_offset("nightly", 3_600_000_000),
        "channel": CHANNEL,
        "hint": RUNS,
    }


def _reached(kind: inspect.Type) -> Iterator[inspect.Type]:
    """A type and all that it is made of."""
    yield kind
    for part in _parts(kind):
        yield from _reached(part)


def _parts(kind: inspect.Type) -> list[inspect.Type]:
    match kind:
        case inspect.StructType(fields=fields):
            return [field.type for field in fields]
        case inspect.UnionType(types=several) | inspect.TupleType(item_types=several):
            return list(several)
        case inspect.VarTupleType(item_type=one) | inspect.ListType(item_type=one) | inspect.DictType(value_type=one):
            return [one]
    return []


def _shape(found: inspect.StructType) -> Shape:
    return Shape(
        array=found.array_like,
        strict=found.forbid_unknown_fields,
        tag=None if found.tag is None else f"{found.tag_field}={found.tag}",
        required=tuple(field.encode_name for field in found.fields if field.required),
        optional={field.encode_name: _meaning(field) for field in found.fields if not field.required},
    )


def _meaning(field: inspect.Field) -> object:
    """What it means that a field is not there."""
    value = field.default
    if value is msgspec.NODEFAULT:
        value = "(nothing)" if field.default_factory is msgspec.NODEFAULT else field.default_factory()
    return msgspec.json.decode(msgspec.json.encode(value))


def _literals(found: inspect.StructType) -> dict[str, list[str | int]]:
    """The words of the fields that have some spelled out."""
    return {
        f"{found.cls.__name__}.{field.encode_name}": sorted(word for word in part.values if isinstance(word, str))
        for field in found.fields
        for part in (field.type, *_parts(field.type))
        if isinstance(part, inspect.LiteralType)
    }
