"""A second opinion on cron ticks, slow on purpose: it walks every local minute and asks `zoneinfo`, sharing no code.

A rule is drawn as text and, beside it, as the plain sets that the text means, so that the oracle needs no parser.
"""

from __future__ import annotations

import calendar
from datetime import UTC, date, datetime, timedelta
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    DayTest = Callable[[date], bool]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


class Numbers(NamedTuple):
    """A field of numbers: its text, what it means, and whether it repeats by itself."""

    text: str
    values: frozenset[int]
    wild: bool = False


class Days(NamedTuple):
    """A field of days: its text, its test, and whether it begins with a star."""

    text: str
    matches: DayTest
    starred: bool = False


class Drawn(NamedTuple):
    """A rule in both forms."""

    second: Numbers
    minute: Numbers
    hour: Numbers
    day: Days
    month: Numbers
    weekday: Days

    @property
    def unix(self) -> str:
        """The five fields."""
        return f"{self.minute.text} {self.hour.text} {self.day.text} {self.month.text} {self.weekday.text}"

    @property
    def seconds(self) -> str:
        """The six fields."""
        return f"{self.second.text} {self.unix}"

    def matches_day(self, day: date) -> bool:
        """crontab(5): either field is enough, unless one begins with a star."""
        if day.month not in self.month.values:
            return False
        by_day, by_weekday = self.day.matches(day), self.weekday.matches(day)
        if self.day.starred or self.weekday.starred:
            return by_day and by_weekday
        return by_day or by_weekday


def draw_numbers(random: Random, low: int, high: int) -> Numbers:
    """A field of plain numbers in one of the ways people write it."""
    every = range(low, high + 1)
    first, last = sorted((random.randint(low, high), random.randint(low, high)))
    step = random.randint(1, high - low)
    match random.randrange(7):
        case 0:
            return Numbers("*", frozenset(every), wild=True)
        case 1:
            return Numbers(f"*/{step}", frozenset(every[::step]), wild=True)
        case 2:
            return Numbers(f"{first}-{last}", frozenset(range(first, last + 1)))
        case 3:
            return Numbers(f"{first}-{last}/{step}", frozenset(range(first, last + 1, step)))
        case 4:
            some = sorted({random.randint(low, high) for _ in range(3)})
            return Numbers(",".join(map(str, some)), frozenset(some))
        case _:
            return Numbers(str(first), frozenset([first]))


def draw_day(random: Random, *, plain: bool = False) -> Days:
    """A day of the month field; ``plain`` leaves out L and W."""
    kind = random.randrange(4 if plain else 9)
    if kind < 2:
        return Days("*", lambda _: True, starred=True)
    if kind < 4:
        numbers = draw_numbers(random, 1, 31)
        return Days(numbers.text, lambda day: day.day in numbers.values, starred=numbers.wild)
    number = random.randint(1, 31)
    back = random.choice((0, 1, 3, 8, 27, 28, 29, 30))
    return {
        4: Days("L", lambda day: day.day == length(day)),
        5: Days("LW", lambda day: day.day == nearest(day, length(day))),
        6: Days(f"{number}W", lambda day: number <= length(day) and day.day == nearest(day, number)),
        7: Days(f"L-{back}", lambda day: day.day == length(day) - back),
        8: Days(f"L,{number}", lambda day: day.day in (length(day), number)),
    }[kind]


def draw_weekday(random: Random, *, plain: bool = False) -> Days:
    """A weekday field; ``plain`` leaves out # and L."""
    first, second = random.randrange(7), random.randrange(7)
    kind = random.randrange(5 if plain else 8)
    if kind < 2:
        return Days("*", lambda _: True, starred=True)
    if kind == 2:
        step = random.randint(1, 6)
        return Days(f"*/{step}", lambda day: day.isoweekday() % 7 % step == 0, starred=True)
    if kind == 3:
        named = random.random() < 0.5
        text = f"{WEEKDAYS[first]}-{WEEKDAYS[second]}" if named else f"{first}-{second}"
        run = {(first + ahead) % 7 for ahead in range((second - first) % 7 + 1)}
        return Days(text.lower(), lambda day: day.isoweekday() % 7 in run)
    if kind == 4:
        return Days(f"{first},{WEEKDAYS[second]}", lambda day: day.isoweekday() % 7 in (first, second))
    if kind == 5:
        return Days(f"{first}L", lambda day: day.isoweekday() % 7 == first and day.day + 7 > length(day))
    which = random.randint(1, 5)
    return Days(f"{first}#{which}", lambda day: day.isoweekday() % 7 == first and (day.day + 6) // 7 == which)


def draw_rule(random: Random, *, near: tuple[int, int] | None = None, plain: bool = False) -> Drawn:
    """A random rule; ``near`` is (hour, minute) that its fixed times shall often be close to."""
    hour, minute = draw_numbers(random, 0, 23), draw_numbers(random, 0, 59)
    if near is not None and random.random() < 0.6:
        around = sorted({(near[0] + random.randint(-2, 1)) % 24 for _ in range(random.randint(1, 3))})
        hour = Numbers(",".join(map(str, around)), frozenset(around))
        minute = minute if random.random() < 0.7 else Numbers(str(near[1]), frozenset([near[1]]))
    month = Numbers("*", frozenset(range(1, 13)))
    if random.random() < 0.2:
        month = draw_numbers(random, 1, 12)
    day, weekday = draw_day(random, plain=plain), draw_weekday(random, plain=plain)
    if random.random() < 0.5:
        day, weekday = Days("*", lambda _: True, starred=True), Days("*", lambda _: True, starred=True)
    return Drawn(draw_numbers(random, 0, 59), minute, hour, day, month, weekday)


def length(day: date) -> int:
    """How many days the day's month has."""
    return calendar.monthrange(day.year, day.month)[1]


def nearest(day: date, number: int) -> int:
    """The Monday to Friday nearest to a day of the same month, without leaving it."""
    for away in (0, -1, 1, -2, 2):
        candidate = number + away
        if 1 <= candidate <= length(day) and day.replace(day=candidate).isoweekday() < 6:
            return candidate
    raise AssertionError(number)


@cache
def zone(name: str) -> ZoneInfo:
    """The zone of the tzdata package, whatever the machine itself has."""
    with resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


@cache
def changes(name: str, first: int, last: int) -> tuple[datetime, ...]:
    """The UTC moments from one year to another at which the zone's offset changes."""
    found = []
    moment, end = datetime(first, 1, 1, tzinfo=UTC), datetime(last, 12, 31, tzinfo=UTC)
    while moment < end:
        after = moment + timedelta(hours=12)
        if offset_at(moment, name) != offset_at(after, name):
            found.append(_change_between(name, moment, after))
        moment = after
    return tuple(found)


def offset_at(moment: datetime, name: str) -> timedelta:
    """The zone's offset at a UTC moment."""
    offset = moment.astimezone(zone(name)).utcoffset()
    assert offset is not None
    return offset


def ticks(
    rule: Drawn, name: str, span: tuple[datetime, datetime], policy: tuple[str | None, str | None], *, seconds: bool
) -> list[int]:
    """The ticks, in microseconds, of a span of UTC moments, both included, by walking every local minute around it."""
    elapsed = rule.minute.wild or rule.hour.wild
    gap = policy[0] or ("skip" if elapsed else "boundary")
    fold = policy[1] or ("both" if elapsed else "first")
    found: set[datetime] = set()
    for wall in walls(rule, span, seconds=seconds):
        found.update(resolve(wall, name, gap, fold))
    return sorted(int((tick - EPOCH).total_seconds()) * 1_000_000 for tick in found if span[0] <= tick <= span[1])


def walls(rule: Drawn, span: tuple[datetime, datetime], *, seconds: bool) -> Iterator[datetime]:
    """The local times that a rule has in and around a span of UTC moments."""
    wall = span[0].replace(tzinfo=None, second=0) - timedelta(hours=30)
    end = span[1].replace(tzinfo=None) + timedelta(hours=30)
    while wall <= end:
        if not rule.matches_day(wall.date()):
            wall = wall.replace(hour=0, minute=0) + timedelta(days=1)
            continue
        if wall.minute in rule.minute.values and wall.hour in rule.hour.values:
            yield from (wall.replace(second=second) for second in (rule.second.values if seconds else (0,)))
        wall += MINUTE


def resolve(wall: datetime, name: str, gap: str, fold: str) -> list[datetime]:
    """The UTC moments of a local time."""
    here = zone(name)
    moments = sorted({wall.replace(tzinfo=here, fold=turn).astimezone(UTC) for turn in (0, 1)})
    real = [moment for moment in moments if moment.astimezone(here).replace(tzinfo=None, fold=0) == wall]
    if real:
        return real if fold == "both" else [real[0] if fold == "first" else real[-1]]
    if gap == "skip":
        return []
    if gap == "shift":
        return [moments[-1]]
    return [_change_between(name, moments[0], moments[-1])]


def _change_between(name: str, low: datetime, high: datetime) -> datetime:
    """The first second, later than ``low``, with the offset of ``high``."""
    old = offset_at(low, name)
    while high - low > timedelta(seconds=1):
        middle = low + timedelta(seconds=int((high - low).total_seconds()) // 2)
        low, high = (middle, high) if offset_at(middle, name) == old else (low, middle)
    return high
