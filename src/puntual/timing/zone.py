"""A time zone answers in integers: its offset at any instant, and the instants that a wall clock time has there.

A *wall* second counts the seconds since 1970-01-01T00:00 on the zone's own clock. Between two changes of its offset a
zone is a *stretch*, in which wall = UTC + offset; a clock put forward leaves a gap of wall seconds that do not exist,
and one put back a fold of wall seconds that come twice. What to do there is the rule's decision, made by name:

- gap: ``boundary`` runs once at the change, ``shift`` reads the time with the offset before it, ``skip`` does not run;
- fold: ``first`` and ``last`` take one of the two, ``both`` takes both.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_right
from datetime import UTC, datetime
from functools import lru_cache
from importlib import import_module, resources
from typing import Final, Literal, NamedTuple

from puntual.model.errors import InvalidZoneError
from puntual.model.instant import EARLIEST, LATEST, SECOND, Instant
from puntual.timing.tzif import ZoneData, read_tzif

Gap = Literal["boundary", "shift", "skip"]
Fold = Literal["first", "last", "both"]

FIRST_SECOND: Final = EARLIEST // SECOND
LAST_SECOND: Final = LATEST // SECOND
_NEVER: Final = 1 << 50
"""Seconds before and after everything; sums of it with an offset stay beyond everything too."""


class Stretches(NamedTuple):
    """A zone's stretches as parallel lists, in seconds; immutable, so that any thread may read while another extends.

    A stretch holds the UTC seconds from ``starts[i]`` to ``starts[i + 1]``. Its wall seconds between ``calm_from[i]``
    and ``calm_until[i]`` exist once and are touched by no gap, fold or shift: there, no policy matters.
    """

    starts: list[int]
    offsets: list[int]
    calm_from: list[int]
    calm_until: list[int]
    wall_lows: list[int]
    wall_highs: list[int]
    known_until: int


class Zone:
    """One time zone; made by `load_zone`, shared, and changed by nothing but the growth of its cache."""

    def __init__(self, name: str, data: ZoneData) -> None:
        self.name = name
        self._tail = data.tail
        self._first_offset = data.first_offset
        self._changes = list(data.changes)
        self._listed_until = -_NEVER if data.listed_until is None else data.listed_until
        self._tail_year = 1970 if data.listed_until is None else datetime.fromtimestamp(data.listed_until, UTC).year
        self._stretches = self._build(2060)

    def stretches(self, until: int = 0) -> Stretches:
        """The stretches, known at least to the UTC second ``until`` (the far end is the year 9999)."""
        known = self._stretches
        if until < known.known_until:
            return known
        year = datetime.fromtimestamp(min(max(until, 0), LAST_SECOND), UTC).year
        # Twice the time since 1970, so that reading on to the year 9999 lays out each year a bounded number of times.
        self._stretches = known = self._build(min(max(year, 2060) * 2 - 1970, 9999))
        return known

    def offset(self, instant: Instant) -> int:
        """The zone's offset at an instant, in seconds east of UTC."""
        second = instant // SECOND
        known = self.stretches(second)
        return known.offsets[bisect_right(known.starts, second) - 1]

    def resolve(self, wall: int, gap: Gap, fold: Fold) -> tuple[int, ...]:
        """The UTC seconds of a wall second: none, one or two, in order."""
        known = self.stretches(wall + 86_400 * 2)
        stretch = bisect_right(known.wall_highs, wall)
        start, offset = known.starts[stretch], known.offsets[stretch]
        if wall < start + offset and stretch:
            before = known.offsets[stretch - 1]
            return {"boundary": (start,), "shift": (wall - before,), "skip": ()}[gap]
        found = [wall - offset]
        if stretch + 1 < len(known.starts) and wall >= known.starts[stretch + 1] + known.offsets[stretch + 1]:
            found.append(wall - known.offsets[stretch + 1])
        if fold == "both":
            return tuple(found)
        return (found[0] if fold == "first" else found[-1],)

    def _build(self, until_year: int) -> Stretches:
        if self._tail is None:
            return _lay_out(self._first_offset, self._changes, _NEVER)
        changes = list(self._changes)
        offset = changes[-1][1] if changes else self._first_offset
        for year in range(self._tail_year, until_year + 1):
            for second, new in self._tail.changes(year):
                if second > self._listed_until and new != offset:
                    changes.append((second, new))
                    offset = new
        # The last days of a year may belong to a change of the next one, so the known time ends a little earlier.
        known_until = _NEVER if until_year == 9999 else int(datetime(until_year, 12, 28, tzinfo=UTC).timestamp())
        return _lay_out(self._first_offset, changes, known_until)


def _lay_out(first_offset: int, changes: list[tuple[int, int]], known_until: int) -> Stretches:
    starts = [-_NEVER, *(second for second, _ in changes)]
    offsets = [first_offset, *(offset for _, offset in changes)]
    before = [first_offset, *offsets[:-1]]
    after = [*offsets[1:], offsets[-1]]
    ends = [*starts[1:], _NEVER]
    return Stretches(
        starts,
        offsets,
        [start + now + abs(now - was) for start, now, was in zip(starts, offsets, before, strict=True)],
        [min(end, known_until) + min(now, then) for end, now, then in zip(ends, offsets, after, strict=True)],
        [start + min(now, was) for start, now, was in zip(starts, offsets, before, strict=True)],
        [end + now for end, now in zip(ends, offsets, strict=True)],
        known_until,
    )


@lru_cache(maxsize=1_024)
def load_zone(name: str) -> Zone:
    """The zone of an IANA name, exactly as the tz database spells it.

    Args:
        name: for example ``America/Bogota``; abbreviations such as ``EDT`` and fixed offsets are no zones.

    Raises:
        InvalidZoneError: there is no such name; the sentence names the nearest one.
    """
    if name not in zone_names():
        if re.fullmatch(r"(?:UTC|GMT|Z)?\s*[+-]\s*\d{1,2}(?::?\d\d)?", name.strip(), re.ASCII | re.IGNORECASE):
            raise InvalidZoneError(
                f"{name[:60]!r} is no IANA time zone but an offset: name the place whose clocks it goes by, like "
                "America/Bogota",
                field="timezone",
            )
        nearest = _nearest(name)
        shown = repr(name if len(name) <= 60 else name[:57] + "...")
        right = f"did you mean {nearest}?" if nearest else "write it like Europe/Madrid"
        raise InvalidZoneError(f"{shown} is no IANA time zone: {right}", field="timezone")
    data = resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()
    return Zone(name, read_tzif(data, name))


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """Every name of the tz database; a name outside of it never reaches a path."""
    return frozenset(resources.files("tzdata").joinpath("zones").read_text("utf-8").split())


@lru_cache(maxsize=1)
def tz_version() -> str:
    """The version of the tz database in use, for example ``2025b``: what cached ticks are stamped with."""
    return str(import_module("tzdata").IANA_VERSION)


def _nearest(name: str) -> str | None:
    wanted = "_".join(name[:60].split()).lower()
    by_lower = {known.lower(): known for known in sorted(zone_names())}
    if wanted in by_lower:
        return by_lower[wanted]
    by_city = {known.lower().rpartition("/")[2]: known for known in sorted(zone_names(), reverse=True) if "/" in known}
    if wanted in by_city:
        return by_city[wanted]
    close = difflib.get_close_matches(wanted, by_lower, n=1, cutoff=0.75)
    return by_lower[close[0]] if close else None
