"""A second opinion on phrases: from plain data to ticks, by looking at each day and each second; shares no code.

An entry of the corpus carries its meaning: ``times`` (or ``every`` with ``from`` and ``to``, ``minutes`` with
``hours``, or a ``period`` of elapsed seconds), and the days on which they hold: ``weekdays``, ``days``, ``last`` (1 is
the last day of a month), ``nth`` (weekday, which; -1 is the last), ``working`` (n-th Monday to Friday), ``near`` (the
Monday to Friday nearest to a day), ``months``, ``weeks`` or ``cycle`` (every so many weeks or days from the date
``anchor`` on).
"""

from __future__ import annotations

import calendar
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

Meaning = dict[str, Any]

_NAMES: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY: Final = timedelta(days=1)
_FAR: Final = 10_000
"""Days that are looked at: no rule of the corpus rests for longer."""


def ticks(meaning: Meaning, zone: str, after: datetime, count: int) -> list[datetime]:
    """The first ticks after an instant, in UTC."""
    if "period" in meaning:
        return _grid(meaning, zone, after, count)
    local = ZoneInfo(zone)
    found: set[datetime] = set()
    day = after.astimezone(local).date() - _DAY
    for _ in range(_FAR):
        if matches(meaning, day):
            found |= {tick for tick in _of_day(meaning, local, day) if tick > after}
        day += _DAY
        # The day after may still add to a change at midnight.
        if len(found) > count and max(sorted(found)[:count]) < datetime.combine(day - _DAY, time(), UTC) - _DAY:
            break
    return sorted(found)[:count]


def between(meaning: Meaning, zone: str, low: datetime, high: datetime) -> list[datetime]:
    """The ticks after an instant and up to another, in UTC."""
    local = ZoneInfo(zone)
    day, last = low.astimezone(local).date() - _DAY, high.astimezone(local).date() + _DAY
    found: set[datetime] = set()
    while day <= last:
        if matches(meaning, day):
            found |= {tick for tick in _of_day(meaning, local, day) if low < tick <= high}
        day += _DAY
    return sorted(found)


def matches(meaning: Meaning, day: date) -> bool:
    """Whether the rule holds on a date."""
    by_month_day = [test(meaning[key], day) for key, test in _TESTS.items() if key in meaning]
    return (
        day.month in meaning.get("months", range(1, 13))
        and _NAMES[day.weekday()] in meaning.get("weekdays", _NAMES)
        and (not by_month_day or any(by_month_day))
        and _in_cycle(meaning, day)
    )


def _in_cycle(meaning: Meaning, day: date) -> bool:
    if "weeks" not in meaning and "cycle" not in meaning:
        return True
    passed = (day - date.fromisoformat(meaning["anchor"])).days
    weeks: int = meaning.get("weeks", 0)
    cycle: int = meaning.get("cycle", 0)
    return passed // 7 % weeks == 0 if weeks else passed % cycle == 0


def _month(day: date) -> list[date]:
    length = calendar.monthrange(day.year, day.month)[1]
    return [day.replace(day=number) for number in range(1, length + 1)]


def _by_number(numbers: list[int], day: date) -> bool:
    return day.day in numbers


def _by_last(numbers: list[int], day: date) -> bool:
    return any(_month(day)[-number] == day for number in numbers)


def _by_nth(pairs: list[tuple[str, int]], day: date) -> bool:
    same = [other for other in _month(day) if other.weekday() == day.weekday()]
    place = same.index(day)
    return any(_NAMES[day.weekday()] == name and which in (place + 1, place - len(same)) for name, which in pairs)


def _by_working(numbers: list[int], day: date) -> bool:
    working = [other for other in _month(day) if other.weekday() < 5]
    return day in working and any(
        number in (working.index(day) + 1, working.index(day) - len(working)) for number in numbers
    )


def _by_near(numbers: list[int], day: date) -> bool:
    working = [other for other in _month(day) if other.weekday() < 5]
    wanted = [number for number in numbers if number <= len(_month(day))]
    # A Saturday's Friday and a Sunday's Monday are both one day away, so that no two are equally near.
    return any(min(working, key=lambda other: abs(other.day - number)) == day for number in wanted)


_TESTS: Final[dict[str, Callable[[list[Any], date], bool]]] = {
    "days": _by_number,
    "last": _by_last,
    "nth": _by_nth,
    "working": _by_working,
    "near": _by_near,
}


def _of_day(meaning: Meaning, zone: ZoneInfo, day: date) -> Iterator[datetime]:
    """The ticks of one local date: fixed times once, whatever the clocks do; what repeats in elapsed time."""
    fixed = "times" in meaning or meaning.get("fixed", False)
    for second in sorted(_seconds(meaning)):
        wall = datetime.combine(day, time()) + timedelta(seconds=second)
        real = _instants(wall, zone)
        if real:
            yield from real[:1] if fixed else real
        elif fixed:
            yield _first_after_gap(wall, zone)


def _seconds(meaning: Meaning) -> set[int]:
    """The seconds of the day at which it fires."""
    if "times" in meaning:
        return {_second(text) for text in meaning["times"]}
    if "every" in meaning:
        first, last = _second(meaning.get("from", "00:00")), _second(meaning.get("to", "23:59:59"))
        return {second for second in range(first, last + 1) if (second - first) % meaning["every"] == 0}
    hours = meaning.get("hours", range(24))
    return {hour * 3_600 + minute * 60 for hour in hours for minute in meaning["minutes"]}


def _second(text: str) -> int:
    at = time.fromisoformat(text)
    return at.hour * 3_600 + at.minute * 60 + at.second


def _instants(wall: datetime, zone: ZoneInfo) -> list[datetime]:
    """The instants at which the zone's clock shows a time."""
    both = {wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}
    return sorted(instant for instant in both if instant.astimezone(zone).replace(tzinfo=None) == wall)


def _first_after_gap(wall: datetime, zone: ZoneInfo) -> datetime:
    """The instant at which the clock jumps over a time, found by looking at each minute."""
    instant = wall.replace(tzinfo=UTC) - timedelta(hours=30)
    while instant.astimezone(zone).replace(tzinfo=None) < wall:
        instant += timedelta(minutes=1)
    return instant


def _grid(meaning: Meaning, zone: str, after: datetime, count: int) -> list[datetime]:
    """Elapsed time from the anchor, or from the local midnight of the day on which the corpus was written."""
    anchor = meaning.get("anchor", "2026-01-01")
    if "T" in anchor:
        start = datetime.fromisoformat(anchor).replace(tzinfo=UTC)
    else:
        start = datetime.combine(date.fromisoformat(anchor), time(), ZoneInfo(zone)).astimezone(UTC)
    step = timedelta(seconds=meaning["period"])
    tick = start + (after - start) // step * step
    found: list[datetime] = []
    while len(found) < count:
        if tick > after:
            found.append(tick)
        tick += step
    return found
