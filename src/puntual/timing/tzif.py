"""A compiled time zone as plain numbers: when its offset changes, and the yearly rule that goes on for ever.

Reads RFC 9636 (TZif) version 2 and later. `zoneinfo` reads the same files but tells only the offset at one moment; an
engine that looks for the next tick needs to know until when that offset holds.
"""

from __future__ import annotations

import re
import struct
from datetime import date
from typing import Final

import msgspec

from puntual.model.errors import InvalidZoneError

_HEADER: Final = struct.Struct(">4s1s15x6l")
_FOOTER: Final = re.compile(
    r"(?:<[^>]+>|[A-Za-z]{3,})(?P<std>[-+]?[\d:]+)"
    r"(?:(?:<[^>]+>|[A-Za-z]{3,})(?P<dst>[-+]?[\d:]+)?,(?P<begin>M[^,]+),(?P<end>M[^,]+))?",
    re.ASCII,
)
_MOMENT: Final = re.compile(r"M(\d+)\.(\d)\.(\d)(?:/([-+]?[\d:]+))?", re.ASCII)
_EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()


class YearlyMoment(msgspec.Struct, frozen=True):
    """A moment of each year: the ``week``-th ``weekday`` (0 is Sunday; week 5 is the last) of a month, and its time."""

    month: int
    week: int
    weekday: int
    time: int

    def wall_second(self, year: int) -> int:
        """The moment as seconds since 1970 on the wall clock that is valid just before it."""
        first = date(year, self.month, 1)
        day = 1 + (self.weekday - first.isoweekday()) % 7 + 7 * (self.week - 1)
        while day > _month_length(year, self.month):
            day -= 7
        return (first.toordinal() - _EPOCH_ORDINAL + day - 1) * 86_400 + self.time


class Tail(msgspec.Struct, frozen=True):
    """What goes on after the last listed change: two changes a year, between two offsets in seconds east of UTC."""

    standard: int
    summer: int
    begin: YearlyMoment
    end: YearlyMoment

    def changes(self, year: int) -> list[tuple[int, int]]:
        """The year's (UTC second, offset from then on), in order."""
        return sorted(
            [
                (self.begin.wall_second(year) - self.standard, self.summer),
                (self.end.wall_second(year) - self.summer, self.standard),
            ]
        )


class ZoneData(msgspec.Struct, frozen=True):
    """A zone's offset before its first change, its listed changes as (UTC second, offset), and its tail if it has one.

    ``listed_until`` is the UTC second from which on the tail speaks; it may lie years after the last change, where a
    country gave up summer time for a while.
    """

    first_offset: int
    changes: tuple[tuple[int, int], ...]
    listed_until: int | None
    tail: Tail | None


def read_tzif(data: bytes, name: str) -> ZoneData:
    """The numbers of a TZif file.

    Raises:
        InvalidZoneError: the bytes are no TZif file of version 2 or later, or its footer is of a kind never published.
    """
    try:
        return _read(data)
    except (struct.error, IndexError, ValueError) as error:
        message = f"the data of the time zone {name} cannot be read: reinstall the tzdata package"
        raise InvalidZoneError(message) from error


def _read(data: bytes) -> ZoneData:
    magic, version, *counts = _HEADER.unpack_from(data)
    if magic != b"TZif" or version < b"2":
        message = "no TZif file of version 2"
        raise ValueError(message)
    # Version 1's block, with 4-byte times, comes first and says nothing that the second does not.
    place = _HEADER.size + _block_length(counts, time_size=4)
    _, _, *counts = _HEADER.unpack_from(data, place)
    place += _HEADER.size
    _, _, _, times, types, _ = counts
    at = struct.unpack_from(f">{times}q", data, place)
    kinds = data[place + 8 * times : place + 9 * times]
    offsets = [struct.unpack_from(">lBB", data, place + 9 * times + 6 * kind) for kind in range(types)]
    footer = data[place + _block_length(counts, time_size=8) :].decode("ascii").strip("\n")
    first = next((offset for offset, summer, _ in offsets if not summer), offsets[0][0])
    changes = [(second, offsets[kind][0]) for second, kind in zip(at, kinds, strict=True)]
    standard, tail = _read_footer(footer) if footer else (changes[-1][1] if changes else first, None)
    if not changes and tail is None:
        first = standard
    return ZoneData(first, tuple(_without_repeats(first, changes)), changes[-1][0] if changes else None, tail)


def _block_length(counts: list[int], *, time_size: int) -> int:
    is_ut, is_standard, leaps, times, types, letters = counts
    return times * (time_size + 1) + types * 6 + letters + leaps * (time_size + 4) + is_standard + is_ut


def _without_repeats(offset: int, changes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Without the changes that alter only the name or the summer flag: they move no clock."""
    kept = []
    for second, new in changes:
        if new != offset:
            kept.append((second, new))
        offset = new
    return kept


def _read_footer(text: str) -> tuple[int, Tail | None]:
    parts = _FOOTER.fullmatch(text)
    if parts is None:
        message = f"unknown footer {text}"
        raise ValueError(message)
    standard = -_seconds(parts["std"])
    if parts["begin"] is None:
        return standard, None
    summer = -_seconds(parts["dst"]) if parts["dst"] else standard + 3_600
    return standard, Tail(standard, summer, _moment(parts["begin"]), _moment(parts["end"]))


def _moment(text: str) -> YearlyMoment:
    parts = _MOMENT.fullmatch(text)
    if parts is None:
        message = f"unknown moment {text}"
        raise ValueError(message)
    return YearlyMoment(int(parts[1]), int(parts[2]), int(parts[3]), _seconds(parts[4] or "2"))


def _seconds(text: str) -> int:
    """Seconds of ``[-+]h[:mm[:ss]]``; hours may pass 24."""
    size = sum(int(part) * unit for part, unit in zip(text.lstrip("+-").split(":"), (3_600, 60, 1), strict=False))
    return -size if text.startswith("-") else size


def _month_length(year: int, month: int) -> int:
    following = date(year + month // 12, month % 12 + 1, 1) if (year, month) != (9999, 12) else date.max
    return (following - date(year, month, 1)).days + (following == date.max)
