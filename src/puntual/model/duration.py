"""A duration is an integer of microseconds; this reads what people type and writes it back so that it reads the same.

Only units of fixed length exist: a month or a year has none, so both are refused rather than approximated.
"""

from __future__ import annotations

import difflib
import re
from fractions import Fraction
from typing import Final

from puntual.model.errors import InvalidDurationError
from puntual.model.instant import DAY, HOUR, MICROSECOND, MILLISECOND, MINUTE, SECOND, WEEK

LONGEST: Final = 100 * 366 * DAY
"""About a hundred years: longer ones are mistakes, and would overflow what stores keep."""

_NAMES: Final[dict[int, tuple[str, ...]]] = {
    WEEK: ("w", "wk", "wks", "week", "weeks"),
    DAY: ("d", "day", "days"),
    HOUR: ("h", "hr", "hrs", "hour", "hours"),
    MINUTE: ("m", "min", "mins", "minute", "minutes"),
    SECOND: ("s", "sec", "secs", "second", "seconds"),
    MILLISECOND: ("ms", "millisecond", "milliseconds"),
    MICROSECOND: ("us", "microsecond", "microseconds"),
}
_UNITS: Final = {name: size for size, names in _NAMES.items() for name in names}
_CANONICAL: Final = ((DAY, "d"), (HOUR, "h"), (MINUTE, "m"), (SECOND, "s"), (MILLISECOND, "ms"), (MICROSECOND, "us"))

_WORD: Final = re.compile(r"[a-z]{3,20}", re.ASCII)
_PART: Final = re.compile(r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*([a-z]+)", re.ASCII)
_ISO: Final = re.compile(
    r"P(?:(?P<w>{n})W)?(?:(?P<d>{n})D)?(?:T(?=.)(?:(?P<h>{n})H)?(?:(?P<m>{n})M)?(?:(?P<s>{n})S)?)?".format(
        n=r"\d{1,15}(?:\.\d{1,9})?"
    ),
    re.ASCII | re.IGNORECASE,
)


def parse_duration(text: str, *, field: str | None = None) -> int:
    """The microseconds that a text names; zero is allowed.

    Args:
        text: ``90s``, ``1h30m``, ``2 weeks``, ``1.5 hours``, or ISO 8601 like ``PT5M``; units from large to small.
        field: dotted path of the value, for the error.

    Raises:
        InvalidDurationError: it is no duration, negative, finer than a microsecond or longer than a hundred years.
    """
    stripped = text.strip()
    if stripped.startswith("-"):
        raise _error(text, "is negative: a duration is zero or more", field)
    parts = _iso_parts(stripped) if stripped[:1] in ("P", "p") else _unit_parts(stripped)
    if parts is None:
        raise _error(text, f"is no duration: {_meant(text)}write it like 90s, 5m, 1h30m, 2d, '2 weeks' or PT5M", field)
    total = Fraction(0)
    smallest = LONGEST
    for number, unit in parts:
        if unit >= smallest:
            raise _error(text, "is no duration: name each unit once, from large to small", field)
        smallest = unit
        total += Fraction(number) * unit
    if total.denominator != 1:
        raise _error(text, "is finer than a microsecond", field)
    if total > LONGEST:
        raise _error(text, "is longer than a hundred years", field)
    return int(total)


def format_duration(us: int) -> str:
    """The canonical text of a duration, for example ``1h30m``; `parse_duration` reads it back to the same value.

    Args:
        us: microseconds, zero or more.
    """
    if us < 0:
        message = f"a duration is zero or more, not {us} microseconds"
        raise InvalidDurationError(message)
    parts = []
    for size, name in _CANONICAL:
        count, us = divmod(us, size)
        if count:
            parts.append(f"{count}{name}")
    return "".join(parts) or "0s"


def _unit_parts(text: str) -> list[tuple[str, int]] | None:
    lowered = text.lower()
    parts: list[tuple[str, int]] = []
    place = 0
    while place < len(lowered):
        found = _PART.match(lowered, place)
        if found is None or found[2] not in _UNITS:
            return None
        parts.append((found[1], _UNITS[found[2]]))
        place = found.end()
    return parts or None


def _iso_parts(text: str) -> list[tuple[str, int]] | None:
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    return [(number, _UNITS[unit]) for unit, number in found.groupdict().items() if number is not None] or None


def _meant(text: str) -> str:
    """The nearest unit to a word that is none; nothing when no word is near one."""
    for word in _WORD.findall(text.lower()):
        near = difflib.get_close_matches(word, [name for name in _UNITS if len(name) > 2], 1, 0.75)
        if word not in _UNITS and near:
            return f"did you mean {near[0]}? Else "
    return ""


def _error(text: str, what: str, field: str | None) -> InvalidDurationError:
    shown = repr(text if len(text) <= 60 else text[:57] + "...")
    return InvalidDurationError(f"{shown} {what}", field=field)
