"""Each kind of value is read, written and described in one place, so that reader, export and schema cannot disagree."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import Final, Protocol
from unicodedata import category

import msgspec

from puntual.manifest.errors import nearest, shown
from puntual.manifest.names import check_name
from puntual.model.duration import format_duration, parse_duration
from puntual.model.errors import InvalidManifestError
from puntual.model.names import LONGEST

NONE: Final = "none"
JsonSchema = dict[str, object]


class Kind(Protocol):
    """A kind of value: how it is read from a tree, written back, and described to an editor."""

    def read(self, value: object, field: str) -> object:
        """The typed value; raises a `PuntualError` that names ``field``."""
        ...

    def write(self, value: object) -> object:
        """What `read` takes back to the same value."""
        ...

    def schema(self) -> JsonSchema:
        """Its JSON Schema."""
        ...


def wrong(value: object, right: str, field: str) -> InvalidManifestError:
    """The fault of a value, with the words that follow "it must be"."""
    return InvalidManifestError(f"{shown(value)} is not right: it must be {right}", field=field)


def read_text(value: object, field: str, what: str = "a text") -> str:
    """The text; a number or a boolean is not made one, since how it was written is lost."""
    if isinstance(value, str) and value.strip():
        return value
    raise wrong(
        value, what if value is None or isinstance(value, str | dict | list) else f"{what}, so put it in quotes", field
    )


def no_duration(value: object, field: str, *, none: bool = False) -> InvalidManifestError:
    """The fault of a value that should be a duration; a bare number is most often seconds, but nobody said so."""
    bare = isinstance(value, int | float) and not isinstance(value, bool)
    example = f", for example {value}s" if bare else " like 90s or 1h30m"
    return wrong(value, f"a duration with its unit{example}{', or none' if none else ''}", field)


class Text(msgspec.Struct, frozen=True):
    """A text of up to ``most`` characters, on one line or on several."""

    most: int = 200
    multiline: bool = False

    def read(self, value: object, field: str) -> str:
        """The text as it is."""
        text = value if self.multiline and isinstance(value, str) else read_text(value, field)
        if len(text) > self.most:
            raise InvalidManifestError(
                f"{shown(text)} has {len(text)} characters, and {self.most} are the most", field=field
            )
        allowed = "\n\t" if self.multiline else ""
        hidden = next((letter for letter in text if category(letter) == "Cc" and letter not in allowed), None)
        if hidden is not None:
            raise InvalidManifestError(
                f"{shown(text)} holds the character {hidden!r}, which cannot be shown", field=field
            )
        return text

    def write(self, value: object) -> object:
        """The text."""
        return value

    def schema(self) -> JsonSchema:
        """A string."""
        return {"type": "string", "maxLength": self.most}


class Name(msgspec.Struct, frozen=True):
    """A name of ours."""

    what: str = "name"

    def read(self, value: object, field: str) -> str:
        """The name."""
        return check_name(read_text(value, field, "a name"), field=field, what=self.what)

    def write(self, value: object) -> object:
        """The name."""
        return value

    def schema(self) -> JsonSchema:
        """A string."""
        return {"type": "string", "minLength": 1, "maxLength": LONGEST}


class Flag(msgspec.Struct, frozen=True):
    """True or false."""

    def read(self, value: object, field: str) -> bool:
        """The boolean; the words that other formats have for it are not guessed."""
        if isinstance(value, bool):
            return value
        raise wrong(value, "true or false", field)

    def write(self, value: object) -> object:
        """The boolean."""
        return value

    def schema(self) -> JsonSchema:
        """A boolean."""
        return {"type": "boolean"}


class Whole(msgspec.Struct, frozen=True):
    """A whole number between two bounds, or ``none`` where that has a meaning."""

    least: int
    most: int
    none: bool = False

    def read(self, value: object, field: str) -> int | None:
        """The number."""
        if self.none and value == NONE:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and self.least <= value <= self.most:
            return value
        raise wrong(value, f"a whole number from {self.least} to {self.most}{' or none' if self.none else ''}", field)

    def write(self, value: object) -> object:
        """The number."""
        return NONE if value is None else value

    def schema(self) -> JsonSchema:
        """An integer with bounds."""
        number: JsonSchema = {"type": "integer", "minimum": self.least, "maximum": self.most}
        return {"anyOf": [number, {"const": NONE}]} if self.none else number


class Duration(msgspec.Struct, frozen=True):
    """A duration in microseconds, or ``none`` where that has a meaning."""

    least_us: int = 0
    most_us: int | None = None
    none: bool = False

    def read(self, value: object, field: str) -> int | None:
        """The microseconds."""
        if self.none and value == NONE:
            return None
        if not isinstance(value, str):
            raise no_duration(value, field, none=self.none)
        length = parse_duration(value, field=field)
        if length < self.least_us:
            way_out = "; none means no limit" if self.none else ""
            raise InvalidManifestError(
                f"{value} is too short: at least {format_duration(self.least_us)}{way_out}", field=field
            )
        if self.most_us is not None and length > self.most_us:
            raise InvalidManifestError(f"{value} is too long: at most {format_duration(self.most_us)}", field=field)
        return length

    def write(self, value: object) -> object:
        """The canonical text."""
        return format_duration(value) if isinstance(value, int) else NONE

    def schema(self) -> JsonSchema:
        """A string; how it is built is said in words, for no pattern says it readably."""
        return {"type": "string", "examples": ["90s", "5m", "1h30m", "2d", *([NONE] if self.none else [])]}


class Choice(msgspec.Struct, frozen=True):
    """One of a few words. ``also`` are words of other systems, read as ours."""

    values: Mapping[str, object]
    also: Mapping[str, str] = msgspec.field(default_factory=dict)

    def read(self, value: object, field: str) -> object:
        """What the word stands for."""
        word = self.also.get(value, value) if isinstance(value, str) else value
        if isinstance(word, str) and word in self.values:
            return self.values[word]
        words = list(self.values)
        meant = nearest(word, words) if isinstance(word, str) else None
        listed = f"{', '.join(words[:-1])} or {words[-1]}"
        raise wrong(value, f"{listed}{f'; did you mean {meant}?' if meant else ''}", field)

    def write(self, value: object) -> object:
        """The word."""
        return next(word for word, stands_for in self.values.items() if stands_for == value)

    def schema(self) -> JsonSchema:
        """An enumeration."""
        return {"enum": [*self.values, *self.also]}


def words_of(enum: type[StrEnum | IntEnum], **also: str) -> Choice:
    """The choice among the members of an enumeration, by their names in lower case."""
    return Choice({member.name.lower(): member for member in enum}, also)


def plain_words(*words: str) -> Choice:
    """The choice among words that stand for themselves."""
    return Choice({word: word for word in words})


class Several(msgspec.Struct, frozen=True):
    """A list of one kind, up to ``most`` items, none twice."""

    kind: Kind
    most: int = 50

    def read(self, value: object, field: str) -> tuple[object, ...]:
        """The items in their order."""
        if not isinstance(value, list):
            raise wrong(value, "a list, like [a, b]", field)
        if len(value) > self.most:
            raise InvalidManifestError(f"it has {len(value)} items, and {self.most} are the most", field=field)
        items = tuple(self.kind.read(item, f"{field}[{place}]") for place, item in enumerate(value))
        twice = next((item for place, item in enumerate(items) if item in items[:place]), None)
        if twice is not None:
            raise InvalidManifestError(f"{shown(twice)} stands in it twice", field=field)
        return items

    def write(self, value: object) -> object:
        """The items as a list."""
        return [self.kind.write(item) for item in value] if isinstance(value, tuple) else []

    def schema(self) -> JsonSchema:
        """An array."""
        return {"type": "array", "items": self.kind.schema(), "maxItems": self.most, "uniqueItems": True}


class OneOrMore(msgspec.Struct, frozen=True):
    """One of a kind, or a list of up to ``most``, in which nothing stands twice; kept as it was written."""

    kind: Kind
    most: int

    def read(self, value: object, field: str) -> tuple[object, ...]:
        """The items in their order."""
        if isinstance(value, list):
            return Several(self.kind, self.most).read(value, field)
        return (self.kind.read(value, field),)

    def write(self, value: object) -> object:
        """The items as a list, one alone as itself."""
        items = [self.kind.write(item) for item in value] if isinstance(value, tuple) else []
        return items[0] if len(items) == 1 else items

    def schema(self) -> JsonSchema:
        """The item, or an array of such."""
        return {"anyOf": [self.kind.schema(), {**Several(self.kind, self.most).schema(), "minItems": 1}]}


_FAILURE: Final = re.compile(r"[1-5]xx|[1-5]\d\d|[^\W\d]\w*(?:\.[^\W\d]\w*)*")


class Failure(msgspec.Struct, frozen=True):
    """What a retry policy names: a status, a class of them, or a type of error."""

    def read(self, value: object, field: str) -> str:
        """The name as text."""
        name = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if isinstance(name, str) and len(name) <= LONGEST and _FAILURE.fullmatch(name):
            return name
        raise wrong(
            value, "a class of statuses like 5xx, a status like 429, or a type of error like ConnectionError", field
        )

    def write(self, value: object) -> object:
        """Statuses as numbers, all else as text."""
        return int(value) if isinstance(value, str) and value.isdecimal() else value

    def schema(self) -> JsonSchema:
        """A string or a status."""
        return {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 100, "maximum": 599}]}
