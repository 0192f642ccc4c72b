"""The sentence of a recurrence rule: its times, its days, what it leaves out, and where it begins and ends."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Final

from puntual.model.instant import SECOND, format_instant
from puntual.timing.clock import time_text
from puntual.timing.describe.days import numbers
from puntual.timing.describe.words import Words, listed, runs
from puntual.timing.recurrence.grammar import until_wall
from puntual.timing.recurrence.rule import RruleRule
from puntual.timing.recurrence.spec import RruleSpec
from puntual.timing.wallclock import format_wall

_MOST_TIMES: Final = 6


def recurrence(rule: RruleRule, words: Words) -> str:
    """The sentence, for example ``at 17:00 every 2 weeks on Friday, counted from 2026-02-27T17:00:00``.

    Raises:
        InvalidRuleError: the rule cannot be read.
    """
    spec = rule.completed
    period = _every(spec, words)
    if spec.within_day:
        sentence = period + _within(spec, words) + _days(spec, words)
    elif spec.freq == "DAILY":
        days = _days(spec, words)
        sentence = _times(spec, words)
        sentence += words.cycle.format(period) + days if spec.interval > 1 else days or words.every_day
    else:
        sentence = _times(spec, words) + (words.cycle.format(period) if spec.interval > 1 else "") + _days(spec, words)
        if sentence == _times(spec, words):
            # Months or weeks of the year alone, on each of their days.
            sentence += words.every_day
    sentence += _which(spec, words)
    if spec.interval > 1 or spec.count:
        sentence = words.counted.format(sentence, rule.dtstart)
    elif rule.dtstart:
        sentence += words.start.format(rule.dtstart)
    return sentence + _end(spec, words)


def _every(spec: RruleSpec, words: Words) -> str:
    one, many = words.recurrence.units[spec.freq]
    return words.every.format(one if spec.interval == 1 else f"{spec.interval} {many}")


def _times(spec: RruleSpec, words: Words) -> str:
    """The times of day, one by one where they are few."""
    if len(spec.by_hour) * len(spec.by_minute) * len(spec.by_second) <= _MOST_TIMES:
        times = product(spec.by_hour, spec.by_minute, spec.by_second)
        return words.at([time_text(hour * 3_600 + minute * 60 + second) for hour, minute, second in times])
    parts = [("second", spec.by_second), ("minute", spec.by_minute), ("hour", spec.by_hour)]
    found = [_numbered(unit, values, words) for unit, values in parts if (unit, values) != ("second", (0,))]
    return words.within + words.of.join(found).replace(" de el ", " del ")


def _within(spec: RruleSpec, words: Words) -> str:
    """Where in its period a rule within the day is due, and to which hours, minutes and seconds it is limited."""
    places = [("minute", spec.by_minute)] if spec.freq == "HOURLY" else []
    if spec.freq != "SECONDLY" and spec.by_second != (0,):
        places.insert(0, ("second", spec.by_second))
    limits = [("hour", spec.by_hour)]
    if spec.freq != "HOURLY":
        limits.insert(0, ("minute", spec.by_minute))
    if spec.freq == "SECONDLY":
        limits.insert(0, ("second", spec.by_second))
    found = [_numbered(unit, values, words) for unit, values in places]
    sentence = " " + words.within + words.and_.join(f" {each} " for each in found).strip() if found else ""
    for unit, values in limits:
        if values:
            sentence += words.recurrence.only.format(words.within + _numbered(unit, values, words))
    return sentence


def _numbered(unit: str, values: Sequence[int], words: Words) -> str:
    one, many = words.numbered[unit]
    return f"{many if len(values) > 1 else one} {numbers(runs(values), words)}"


def _days(spec: RruleSpec, words: Words) -> str:
    """The days, weeks and months that a rule names."""
    by_day, by_weekday = _by_day(spec, words), _by_weekday(spec, words, bare=False)
    if by_day and by_weekday:
        found = words.both.format(by_day, _by_weekday(spec, words, bare=True))
    else:
        found = words.on.format(by_day or by_weekday) if by_day or by_weekday else ""
    if spec.by_week_no:
        found += _weeks(spec, words)
    return found + (words.months(runs(spec.by_month)) if spec.by_month else "")


def _by_day(spec: RruleSpec, words: Words) -> str:
    own = words.recurrence
    found = []
    if spec.by_month_day:
        ahead = [day for day in spec.by_month_day if day > 0]
        back = [-day - 1 for day in reversed(spec.by_month_day) if day < 0]
        each = [(words.days if len(ahead) > 1 else words.day).format(numbers(runs(ahead), words))] if ahead else []
        each += [words.day_before_last.format(words.ordinal(day)) if day else words.last_day for day in back]
        found.append(words.of_month.format(listed(each, words.and_)))
    if spec.by_year_day:
        ahead = [day for day in spec.by_year_day if day > 0]
        each = []
        if ahead:
            each = [
                own.of_year.format((words.days if len(ahead) > 1 else words.day).format(numbers(runs(ahead), words)))
            ]
        nouns = own.units["DAILY"][0], own.units["YEARLY"][0]
        each += [own.nth(day, *nouns) for day in reversed(spec.by_year_day) if day < 0]
        found.append(listed(each, words.and_))
    if len(found) == 2:
        return words.both.format(*found).removeprefix(words.on.format(""))
    return found[0] if found else ""


def _by_weekday(spec: RruleSpec, words: Words, *, bare: bool) -> str:
    plain = [weekday for which, weekday in spec.by_day if not which]
    found = [(words.bare_weekdays if bare else words.weekdays)(runs(plain))] if plain and len(plain) < 7 else []
    in_month = spec.freq == "MONTHLY" or spec.by_month
    period = words.recurrence.units["MONTHLY" if in_month else "YEARLY"][0]
    found += [
        words.recurrence.nth(which, words.weekday_names[weekday], period)
        for which, weekday in sorted(spec.by_day, key=lambda day: (day[0] < 0, day))
        if which
    ]
    return listed(found, words.and_) if found else ""


def _weeks(spec: RruleSpec, words: Words) -> str:
    ahead = [str(a) if a == b else words.to.format(a, b) for a, b in runs([n for n in spec.by_week_no if n > 0])]
    back = [f"{number}" for number in reversed(spec.by_week_no) if number < 0]
    return words.recurrence.weeks[len(spec.by_week_no) > 1].format(listed([*ahead, *back], words.and_))


def _which(spec: RruleSpec, words: Words) -> str:
    """What BYSETPOS leaves of a period, and where weeks begin if it matters."""
    own = words.recurrence
    found = ""
    if spec.by_set_pos:
        ahead = runs([position for position in spec.by_set_pos if position > 0])
        each = [own.which(a) if a == b else words.to.format(own.which(a), own.which(b)) for a, b in ahead]
        each += [own.which(position) for position in spec.by_set_pos if position < 0]
        chosen = listed(each, words.and_).replace(" a el ", " al ")
        found = own.chosen.format(chosen, own.units[spec.freq][0])
    if spec.week_start and (spec.by_week_no or (spec.freq == "WEEKLY" and (spec.interval > 1 or spec.by_set_pos))):
        found += own.week_starts.format(words.weekday_names[spec.week_start])
    return found


def _end(spec: RruleSpec, words: Words) -> str:
    if spec.count:
        return words.recurrence.times(spec.count)
    if not spec.until:
        return ""
    wall, utc = until_wall(spec.until)
    return words.end.format(format_instant(wall * SECOND) if utc else format_wall(wall))
