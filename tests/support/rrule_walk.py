"""A second opinion on recurrence rules, slow on purpose: it walks every day or second.

A rule is drawn as plain numbers and written as text for the program; the walk needs no parser and shares no code.
Times of the wall clock are datetimes in UTC until they are given a zone.
"""

from __future__ import annotations

import calendar
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import product
from random import Random
from typing import NamedTuple
from zoneinfo import ZoneInfo

from tests.support.timing_oracle import zone as tzdata_zone

NAMES = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
DAY = timedelta(days=1)
UNITS = {"HOURLY": timedelta(hours=1), "MINUTELY": timedelta(minutes=1), "SECONDLY": timedelta(seconds=1)}


class Drawn(NamedTuple):
    """A rule; ``days`` has (which, weekday) with 0 for each one."""

    freq: str
    start: datetime
    interval: int = 1
    months: tuple[int, ...] = ()
    month_days: tuple[int, ...] = ()
    year_days: tuple[int, ...] = ()
    weeks: tuple[int, ...] = ()
    days: tuple[tuple[int, int], ...] = ()
    hours: tuple[int, ...] = ()
    minutes: tuple[int, ...] = ()
    seconds: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()
    week_start: int = 0

    @property
    def text(self) -> str:
        """The rule without its DTSTART."""
        parts = [f"FREQ={self.freq}"]
        parts += [f"INTERVAL={self.interval}"] if self.interval > 1 else []
        parts += [f"WKST={NAMES[self.week_start]}"] if self.week_start else []
        for name, values in (
            ("BYMONTH", self.months),
            ("BYMONTHDAY", self.month_days),
            ("BYYEARDAY", self.year_days),
            ("BYWEEKNO", self.weeks),
            ("BYDAY", [f"{which or ''}{NAMES[day]}" for which, day in self.days]),
            ("BYHOUR", self.hours),
            ("BYMINUTE", self.minutes),
            ("BYSECOND", self.seconds),
            ("BYSETPOS", self.positions),
        ):
            parts += [f"{name}={','.join(map(str, values))}"] if values else []
        return ";".join(parts)


def draw(random: Random, freq: str) -> Drawn:
    """A rule of a frequency with some of the parts that it takes."""
    start = datetime(
        random.randint(1990, 2030),
        random.randint(1, 12),
        random.randint(1, 28),
        random.randint(0, 23),
        random.choice((0, 30)),
        random.choice((0, 0, 0, 15)),
        tzinfo=UTC,
    )
    within_day = freq in UNITS
    weeks = _some(random, (*range(1, 54), *range(-53, 0)), 4) if freq == "YEARLY" else ()
    numbered = freq in ("MONTHLY", "YEARLY") and not weeks
    days = tuple(
        sorted(
            {
                (random.choice((0, 0, 1, 2, -1, 5, -2)) if numbered else 0, random.randrange(7))
                for _ in range(random.choice((0, 0, 1, 2, 5)))
            }
        )
    )
    if weeks and not days:
        days = ((0, random.randrange(7)),)
    spec = Drawn(
        freq,
        start,
        interval=random.choice((1, 1, 1, 2, 3, 5, 12, 13)),
        months=_some(random, range(1, 13), 4),
        month_days=() if freq == "WEEKLY" else _some(random, (*range(1, 32), *range(-31, 0)), 4),
        year_days=_some(random, (*range(1, 367), *range(-366, 0)), 8) if within_day or freq == "YEARLY" else (),
        weeks=weeks,
        days=days,
        hours=_some(random, range(24), 3),
        minutes=_some(random, range(60), 3),
        seconds=_some(random, range(60), 5),
        week_start=random.randrange(7),
    )
    if spec.text.count("BY") and random.random() < 0.3:
        return spec._replace(positions=_some(random, (1, 2, 3, -1, -2, 7), 1))
    return spec


def walls(rule: Drawn, first: datetime, end: datetime) -> list[datetime]:
    """The local times of a rule from one midnight up to another, which are the beginnings of years."""
    found = _within_day(rule, first, end) if rule.freq in UNITS else _on_days(rule, first, end)
    return sorted(wall for wall in set(found) if max(first, rule.start) <= wall < end)


def instants(found: Iterable[datetime], zone: str, gap: str, fold: str) -> list[datetime]:
    """The instants of local times in a zone under two policies."""
    info = tzdata_zone(zone)
    real: set[datetime] = set()
    for wall in found:
        early, late = (wall.replace(tzinfo=info, fold=side).astimezone(UTC) for side in (0, 1))
        if early.astimezone(info).replace(tzinfo=UTC) != wall:
            # The offset before the change puts a skipped time after it, and the one after it before.
            if gap != "skip":
                real.add(early if gap == "shift" else _change(late, early, info))
        else:
            real |= {"first": {early}, "last": {late}, "both": {early, late}}[fold]
    return sorted(real)


def _change(before: datetime, after: datetime, info: ZoneInfo) -> datetime:
    """The first instant with the offset of ``after``."""
    while after - before > timedelta(seconds=1):
        middle = before + timedelta(seconds=(after - before) // timedelta(seconds=2))
        if middle.astimezone(info).utcoffset() == after.astimezone(info).utcoffset():
            after = middle
        else:
            before = middle
    return after


def _some(random: Random, values: Sequence[int], often: int) -> tuple[int, ...]:
    """Nothing most of the time, else one to three of the values: once in ``often``."""
    if random.randrange(often):
        return ()
    return tuple(sorted({random.choice(values) for _ in range(random.randint(1, 3))}))


def _on_days(rule: Drawn, first: datetime, end: datetime) -> Iterator[datetime]:
    rule = _filled(rule)
    periods: dict[int, list[datetime]] = defaultdict(list)
    day, last = first.date() - 7 * DAY, end.date() + 7 * DAY
    origin = _period(rule, rule.start.date())
    times = list(product(rule.hours, rule.minutes, rule.seconds))
    while day < last:
        number = _period(rule, day)
        if (number - origin) % rule.interval == 0 and _matches(rule, day):
            periods[number] += [datetime(day.year, day.month, day.day, *time, tzinfo=UTC) for time in times]
        day += DAY
    for found in periods.values():
        yield from _chosen(sorted(found), rule.positions)


def _within_day(rule: Drawn, first: datetime, end: datetime) -> Iterator[datetime]:
    unit = UNITS[rule.freq]
    seconds = rule.seconds or (rule.start.second,)
    minutes = rule.minutes or (rule.start.minute,)
    base = rule.start.replace(second=0) if rule.freq == "MINUTELY" else rule.start
    base = base.replace(minute=0, second=0) if rule.freq == "HOURLY" else base
    # Counted in whole periods from the one of the start, of which every INTERVAL-th counts.
    number = max(0, -(-(first - base) // (unit * rule.interval)) - 1)
    wall = base + number * rule.interval * unit
    while wall < end:
        if (
            (not rule.hours or wall.hour in rule.hours)
            and (rule.freq == "HOURLY" or not rule.minutes or wall.minute in rule.minutes)
            and (rule.freq != "SECONDLY" or not rule.seconds or wall.second in rule.seconds)
            and _matches(rule, wall.date())
        ):
            if rule.freq == "HOURLY":
                found = [wall.replace(minute=minute, second=second) for minute in minutes for second in seconds]
            else:
                found = [wall] if rule.freq == "SECONDLY" else [wall.replace(second=second) for second in seconds]
            yield from _chosen(sorted(found), rule.positions)
        wall += rule.interval * unit


def _filled(rule: Drawn) -> Drawn:
    """The rule with what it takes from its start."""
    start = rule.start
    rule = rule._replace(
        hours=rule.hours or (start.hour,),
        minutes=rule.minutes or (start.minute,),
        seconds=rule.seconds or (start.second,),
    )
    if rule.days or rule.month_days or rule.year_days or rule.weeks or rule.freq == "DAILY":
        return rule
    if rule.freq == "WEEKLY":
        return rule._replace(days=((0, start.weekday()),))
    months = rule.months or ((start.month,) if rule.freq == "YEARLY" else ())
    return rule._replace(month_days=(start.day,), months=months)


def _chosen(found: list[datetime], positions: Sequence[int]) -> list[datetime]:
    if not positions:
        return found
    return [found[at - 1 if at > 0 else at] for at in positions if abs(at) <= len(found)]


def _period(rule: Drawn, day: date) -> int:
    match rule.freq:
        case "YEARLY":
            return day.year
        case "MONTHLY":
            return day.year * 12 + day.month
        case "WEEKLY":
            return (day.toordinal() - (day.weekday() - rule.week_start) % 7) // 7
        case _:
            return day.toordinal()


def _matches(rule: Drawn, day: date) -> bool:
    in_month = calendar.monthrange(day.year, day.month)[1]
    in_year = date(day.year, 12, 31).timetuple().tm_yday
    of_year = day.timetuple().tm_yday
    return (
        (not rule.months or day.month in rule.months)
        and (not rule.month_days or bool({day.day, day.day - in_month - 1} & {*rule.month_days}))
        and (not rule.year_days or bool({of_year, of_year - in_year - 1} & {*rule.year_days}))
        and (not rule.weeks or _in_weeks(rule, day))
        and (not rule.days or any(_is_day(rule, day, which, weekday) for which, weekday in rule.days))
    )


def _is_day(rule: Drawn, day: date, which: int, weekday: int) -> bool:
    if day.weekday() != weekday:
        return False
    if rule.freq == "MONTHLY" or rule.months:
        place, length = day.day, calendar.monthrange(day.year, day.month)[1]
    else:
        place, length = day.timetuple().tm_yday, date(day.year, 12, 31).timetuple().tm_yday
    return which in (0, (place - 1) // 7 + 1, -((length - place) // 7 + 1))


def _in_weeks(rule: Drawn, day: date) -> bool:
    """A week belongs to the year of its fourth day, and is numbered by how many such days came before in it."""
    middle = day - ((day.weekday() - rule.week_start) % 7 - 3) * DAY
    number = (middle.timetuple().tm_yday - 1) // 7 + 1
    last = date(middle.year, 12, 31)
    weeks = (last.timetuple().tm_yday - (last.weekday() - middle.weekday()) % 7 - 1) // 7 + 1
    return bool({number, number - weeks - 1} & {*rule.weeks})
