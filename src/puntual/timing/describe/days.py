"""The part of a sentence that says on which days."""

from __future__ import annotations

from collections.abc import Sequence

from puntual.timing.cron.days import ALL_DAYS, ALL_MONTHS, ALL_WEEKDAYS, DayRule
from puntual.timing.describe.words import Run, Words, listed, runs


def days(rule: DayRule, words: Words, *, repeats: bool) -> str:
    """The days and months of a rule.

    Args:
        rule: which days.
        words: the language.
        repeats: whether "every day" goes without saying, after "every minute".
    """
    by_day, by_weekday = _by_day(rule, words), _by_weekday(rule, words)
    if not rule.both:
        found = words.either.format(by_day or words.any_day, by_weekday or words.any_weekday)
    elif by_day and by_weekday:
        found = words.both.format(by_day, _by_weekday(rule, words, bare=True))
    elif by_day or by_weekday:
        found = words.on.format(by_day or by_weekday)
    else:
        found = "" if repeats else words.every_day
    return found + months(rule, words)


def months(rule: DayRule, words: Words) -> str:
    """The months of a rule, nothing where it is all of them."""
    return "" if rule.months == ALL_MONTHS else words.months(runs(bits(rule.months)))


def numbers(found: Sequence[Run], words: Words) -> str:
    """``1, 3 and 5 to 8``."""
    return listed([str(a) if a == b else words.to.format(a, b) for a, b in found], words.and_)


def bits(mask: int) -> list[int]:
    """The numbers of the bits that are set."""
    return [number for number in range(mask.bit_length()) if mask >> number & 1]


def weekday_runs(mask: int) -> list[Run]:
    """Runs of weekdays from Monday as 0, of a mask from Sunday as 0."""
    return runs(sorted((weekday - 1) % 7 for weekday in bits(mask)))


def _by_day(rule: DayRule, words: Words) -> str:
    if rule.days == ALL_DAYS:
        return ""
    several = bits(rule.days)
    found = [(words.days if len(several) > 1 else words.day).format(numbers(runs(several), words))] if several else []
    found += [_before_last(back, words) for back in rule.before_last]
    found += [_near(words.day.format(day), words) for day in rule.near]
    found += [_near(_before_last(back, words), words) if back else words.last_workday for back in rule.near_before_last]
    found += [_workday(which, words) for which in rule.working]
    return words.of_month.format(listed(found, words.and_)) if found else ""


def _before_last(back: int, words: Words) -> str:
    return words.day_before_last.format(words.ordinal(back)) if back else words.last_day


def _near(day: str, words: Words) -> str:
    return words.near.format(day).replace(" a el ", " al ")


def _workday(which: int, words: Words) -> str:
    if which > 0:
        return words.workday.format(words.ordinal(which))
    return words.last_workday if which == -1 else words.workday_before_last.format(words.ordinal(-1 - which))


def _by_weekday(rule: DayRule, words: Words, *, bare: bool = False) -> str:
    if rule.weekdays == ALL_WEEKDAYS:
        return ""
    found = []
    if rule.weekdays:
        found.append((words.bare_weekdays if bare else words.weekdays)(weekday_runs(rule.weekdays)))
    names = words.weekday_names
    found += [words.nth_weekday.format(words.ordinal(which), names[weekday - 1]) for weekday, which in rule.nth]
    found += [words.last_weekday.format(names[weekday - 1]) for weekday in bits(rule.last_weekdays)]
    return listed(found, words.and_) if found else ""
