"""Every zone of the tz database and every change of its clocks, found and judged by `zoneinfo` alone.

Nothing here is ours: a rule is the sets of minutes, hours and days that it names, and each wall time of them is put to
`zoneinfo`, which knows whether it exists once, twice or never.
"""

from __future__ import annotations

import io
from bisect import bisect_right
from datetime import UTC, date, datetime, timedelta
from functools import cache
from importlib import resources
from typing import NamedTuple
from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
#: A zone that changed its clocks and changed them back within a day would be missed: see the test of the changes.
STEP = timedelta(days=1)


class Change(NamedTuple):
    """The moment at which a zone's offset changes, and both offsets."""

    moment: datetime
    before: timedelta
    after: timedelta

    @property
    def walls(self) -> tuple[datetime, datetime]:
        """The first wall time that is skipped or comes twice, and the first after them that is not."""
        naive = self.moment.replace(tzinfo=None)
        return naive + min(self.before, self.after), naive + max(self.before, self.after)

    @property
    def window(self) -> tuple[datetime, datetime]:
        """The moments around it that are looked at, both included."""
        reach = abs(self.after - self.before) + 4 * HOUR
        return self.moment - reach, self.moment + reach


class Near(NamedTuple):
    """A rule near a change: its text, and what it means; ``day`` says on which dates it matches."""

    text: str
    minutes: frozenset[int]
    hours: frozenset[int]
    wild: bool = False
    dates: tuple[int | None, int | None] = (None, None)
    weekday: int | None = None

    def matches(self, day: date) -> bool:
        """Whether it is due on a date."""
        number, month = self.dates
        return (
            (number is None or day.day == number)
            and (month is None or day.month == month)
            and (self.weekday is None or day.isoweekday() % 7 == self.weekday)
        )


@cache
def zones() -> dict[str, tuple[str, ...]]:
    """Every name of the tz database by one of those whose data are the same, byte for byte."""
    alike: dict[bytes, list[str]] = {}
    for name in sorted(resources.files("tzdata").joinpath("zones").read_text("utf-8").split()):
        alike.setdefault(_data(name), []).append(name)
    return {names[0]: tuple(names) for names in alike.values()}


def zone(name: str) -> ZoneInfo:
    """The zone of the tzdata package, whatever the machine itself has."""
    return ZoneInfo.from_file(io.BytesIO(_data(name)), key=name)


def _data(name: str) -> bytes:
    return resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()


def changes(here: ZoneInfo, first: int, last: int) -> list[Change]:
    """Every change from the start of one year to the end of another."""
    found: list[Change] = []
    moment, end = datetime(first, 1, 1, tzinfo=UTC), datetime(last + 1, 1, 1, tzinfo=UTC)
    offset = _offset(moment, here)
    while moment < end:
        following = moment + STEP
        if (new := _offset(following, here)) != offset:
            found.append(Change(_between(moment, following, here), offset, new))
            offset = new
        moment = following
    return found


def near(change: Change) -> list[Near]:
    """Rules that a change concerns: fixed times in it and at its edges, and times that come again and again."""
    first, end = change.walls
    middle = first + (end - first) / 2
    middle -= timedelta(seconds=middle.second, microseconds=middle.microsecond)
    just_before = first - MINUTE
    minute, hour = middle.minute, middle.hour
    day, month, weekday = middle.day, middle.month, middle.isoweekday() % 7
    around = (first - HOUR, first, middle, end)
    every = frozenset(range(24))
    return [
        _fixed({minute}, {hour}),
        _fixed({first.minute}, {moment.hour for moment in (first - HOUR, first, end)}),
        Near("*/20 * * * *", frozenset((0, 20, 40)), every, wild=True),
        Near(f"{minute} * * * *", frozenset([minute]), every, wild=True),
        _fixed({0, 15, 30, 45}, {moment.hour for moment in around}),
        _fixed({minute}, {hour})._replace(text=f"{minute} {hour} {day} {month} *", dates=(day, month)),
        Near(f"* {first.hour} * * *", frozenset(range(60)), frozenset([first.hour]), wild=True),
        _fixed({just_before.minute, end.minute}, {just_before.hour, end.hour}),
        _fixed({minute}, {hour})._replace(text=f"{minute} {hour} * * {weekday}", weekday=weekday),
    ]


def _fixed(minutes: set[int], hours: set[int]) -> Near:
    text = f"{','.join(map(str, sorted(minutes)))} {','.join(map(str, sorted(hours)))} * * *"
    return Near(text, frozenset(minutes), frozenset(hours))


class Judge:
    """Says when a rule is due around the changes of one zone."""

    def __init__(self, here: ZoneInfo, known: list[Change]) -> None:
        self._here = here
        self._moments = [change.moment for change in known]

    def ticks(self, rule: Near, change: Change, gap: str | None, fold: str | None) -> list[int]:
        """The ticks of the change's window, in microseconds, in order."""
        gap = gap or ("skip" if rule.wild else "boundary")
        fold = fold or ("both" if rule.wild else "first")
        low, high = change.window
        found: set[datetime] = set()
        for wall in _walls(rule, change):
            found.update(self._resolve(wall, gap, fold))
        return sorted((tick - EPOCH) // timedelta(microseconds=1) for tick in found if low <= tick <= high)

    def _resolve(self, wall: datetime, gap: str, fold: str) -> list[datetime]:
        here = self._here
        one = wall.replace(tzinfo=here, fold=0).astimezone(UTC)
        other = wall.replace(tzinfo=here, fold=1).astimezone(UTC)
        if one == other:
            return [one]
        if one.astimezone(here).replace(tzinfo=None, fold=0) == wall:
            return {"first": [min(one, other)], "last": [max(one, other)], "both": [one, other]}[fold]
        # Skipped: the moments are those that the offsets before and after the change would give.
        if gap == "boundary":
            return [self._moments[bisect_right(self._moments, max(one, other)) - 1]]
        return [max(one, other)] if gap == "shift" else []


def _walls(rule: Near, change: Change) -> list[datetime]:
    """The rule's wall times that can have a tick in the window."""
    low, high = change.window
    first = low.replace(tzinfo=None) + min(change.before, change.after)
    last = high.replace(tzinfo=None) + max(change.before, change.after)
    found: list[datetime] = []
    day = first.replace(hour=0, minute=0, second=0)
    while day <= last:
        if rule.matches(day.date()):
            walls = (day + timedelta(hours=hour, minutes=minute) for hour in rule.hours for minute in rule.minutes)
            found.extend(wall for wall in walls if first <= wall <= last)
        day += timedelta(days=1)
    return found


def _offset(moment: datetime, here: ZoneInfo) -> timedelta:
    offset = moment.astimezone(here).utcoffset()
    assert offset is not None
    return offset


def _between(low: datetime, high: datetime, here: ZoneInfo) -> datetime:
    """The first second, later than ``low``, with the offset of ``high``."""
    old = _offset(low, here)
    while high - low > timedelta(seconds=1):
        middle = low + timedelta(seconds=(high - low) // timedelta(seconds=1) // 2)
        low, high = (middle, high) if _offset(middle, here) == old else (low, middle)
    return high
