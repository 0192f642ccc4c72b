"""One sentence says when a timetable is due, in English or Spanish, and leaves out nothing that would change the time.

The sentence of a rule that a phrase can say is a phrase: read again, it gives the same rule.
"""

from __future__ import annotations

from typing import Final

from puntual.model.duration import format_duration
from puntual.model.instant import HOUR, MINUTE, SECOND, Instant, format_instant
from puntual.timing.clock import ClockRule, clock_spec, time_text
from puntual.timing.cron.grammar import CronSpec, parse_cron
from puntual.timing.cron.items import Values
from puntual.timing.describe.days import bits, days, numbers, weekday_runs
from puntual.timing.describe.english import ENGLISH
from puntual.timing.describe.recurrence import recurrence
from puntual.timing.describe.spanish import SPANISH
from puntual.timing.describe.words import Words, listed, runs
from puntual.timing.recurrence.rule import RruleRule
from puntual.timing.rule import (
    Closures,
    CronRule,
    DaysRule,
    IntervalRule,
    OnceRule,
    PlainRule,
    Rule,
    SelectRule,
    Timetable,
    days_of,
    parts_of,
)

LANGUAGES: Final = {"en": ENGLISH, "es": SPANISH}
_MOST_TIMES: Final = 6
"""Up to so many times of day are listed one by one, if they are a product of hours and minutes."""


def describe(timetable: Timetable, lang: str = "en") -> str:
    """The sentence, for example ``At 09:30 on Monday to Friday (America/New_York)``.

    Args:
        timetable: what to describe.
        lang: ``en`` or ``es``.

    Raises:
        InvalidRuleError: the timetable holds an expression that cannot be read.
    """
    words = LANGUAGES[lang]
    rule = timetable.rule
    sentence = _any(rule, words)
    named = (*parts_of(rule), *(rule.without if isinstance(rule, SelectRule) else ()))
    if not all(
        isinstance(part, IntervalRule) or (isinstance(part, OnceRule) and part.instant is not None) for part in named
    ):
        sentence += f" ({timetable.timezone})"
    if isinstance(rule, SelectRule):
        sentence += _counted(rule, timetable.start, words)
    if timetable.start is not None:
        sentence += words.start.format(format_instant(timetable.start))
    if timetable.end is not None:
        sentence += words.end.format(format_instant(timetable.end))
    if timetable.closures is not None:
        sentence += _closed(timetable.closures, words)
    return sentence[0].upper() + sentence[1:]


def sentences(timetable: Timetable) -> dict[str, str]:
    """The sentence in each language.

    Raises:
        InvalidRuleError: the timetable holds an expression that cannot be read.
    """
    return {lang: describe(timetable, lang) for lang in LANGUAGES}


def _any(rule: Rule, words: Words) -> str:
    """All rules that it is due by, and what it leaves out."""
    parts = parts_of(rule)
    times = [part.wall or format_instant(part.instant or 0) for part in parts if isinstance(part, OnceRule)]
    if len(times) == len(parts):
        sentence = words.once.format(listed(times, words.and_))
    else:
        sentence = words.any_of.join(_plain(part, words) for part in parts)
    if isinstance(rule, SelectRule) and rule.without:
        sentence += ";" if len(parts) > len(times) + 1 else ","
        sentence += words.without.format("; ".join(_exception(each, words) for each in rule.without))
    return sentence


def _exception(rule: PlainRule | DaysRule, words: Words) -> str:
    if isinstance(rule, OnceRule):
        return words.date.format(rule.wall or format_instant(rule.instant or 0))
    if not isinstance(rule, DaysRule):
        return _plain(rule, words)
    if rule.first:
        return (words.date if rule.first == rule.last else words.dates).format(rule.first, rule.last)
    return _days_of(days_of(rule), words, repeats=False).lstrip(" ,")


def _counted(rule: SelectRule, start: Instant | None, words: Words) -> str:
    """Which of the ticks that are left stay."""
    sentence = words.nth.format(rule.every_nth) if rule.every_nth > 1 else ""
    if rule.max_ticks is not None:
        sentence += words.once_at_most if rule.max_ticks == 1 else words.most.format(rule.max_ticks)
    # From a start that is written anyway it goes without saying.
    if rule.counted_from in (None, start):
        return sentence
    return words.counted.format(sentence, format_instant(rule.counted_from or 0))


def _plain(rule: PlainRule, words: Words) -> str:
    match rule:
        case CronRule():
            spec = parse_cron(rule.expr, rule.dialect, rule.hash_key)
            times, repeats = _times(spec, words)
            years = words.years.format(numbers(runs(spec.years), words)) if spec.years else ""
            return times + days(spec.days, words, repeats=repeats) + years
        case ClockRule():
            return _clock(rule, words)
        case RruleRule():
            return recurrence(rule, words)
        case IntervalRule():
            period = words.every.format(format_duration(rule.period_us))
            return words.counted.format(period, format_instant(rule.anchor))
        case OnceRule(instant=int(instant)):
            return words.once.format(format_instant(instant))
        case OnceRule():
            return words.once.format(rule.wall)


def _closed(closures: Closures, words: Words) -> str:
    """When a timetable makes no run."""
    sentence = ""
    for shape, names in ((words.include, closures.include), (words.exclude, closures.exclude)):
        if names:
            sentence += shape.format(listed(names, words.and_))
    sentence += words.otherwise[closures.otherwise]
    for each in closures.blackouts:
        sentence += words.blackout.format(format_duration(each.for_us), _any(each.rule, words))
    return sentence


def _clock(rule: ClockRule, words: Words) -> str:
    spec = clock_spec(rule)
    if rule.every_us:
        unit, size = next((name, size) for name, size in _SIZES if rule.every_us % size == 0)
        sentence = words.window.format(_every(rule.every_us // size, unit, words), rule.since, rule.until)
    else:
        sentence = words.at([time_text(second) for second in spec.times])
    return sentence + _days_of(rule, words, repeats=bool(rule.every_us))


def _days_of(rule: ClockRule, words: Words, *, repeats: bool) -> str:
    """The days of a clock rule, with what its cycle counts from."""
    spec = clock_spec(rule)
    if not rule.cycle_days:
        return days(spec.days, words, repeats=repeats)
    if rule.weekday == "*":
        unit = "exact day" if rule.cycle_days in words.idioms else "day"
        sentence = words.cycle.format(_every(rule.cycle_days, unit, words))
    else:
        sentence = words.cycle.format(_every(rule.cycle_days // 7, "week", words))
        sentence += words.on.format(words.weekdays(weekday_runs(spec.days.weekdays)))
    return words.counted.format(sentence, rule.anchor)


_SIZES: Final = (("hour", HOUR), ("minute", MINUTE), ("second", SECOND))


def _every(count: int, unit: str, words: Words) -> str:
    one, many = words.units[unit]
    return words.every.format(one if count == 1 else f"{count} {many}")


def _times(spec: CronSpec, words: Words) -> tuple[str, bool]:
    """The times of day of an expression, and whether they repeat by themselves."""
    seconds, minutes, hours = (bits(values.mask) for values in (spec.second, spec.minute, spec.hour))
    wild = spec.second.wild or spec.minute.wild or spec.hour.wild
    if not wild and len(seconds) * len(minutes) * len(hours) <= _MOST_TIMES:
        found = [hour * 3_600 + minute * 60 + second for hour in hours for minute in minutes for second in seconds]
        shown = [time_text(time) + (":00" if seconds != [0] and time % 60 == 0 else "") for time in found]
        return words.at(shown), False
    parts = [_unit(spec.minute, "minute", 60, words), _unit(spec.hour, "hour", 24, words)]
    if seconds != [0]:
        parts.insert(0, _unit(spec.second, "second", 60, words))
    # "Every minute of every hour" says no more than "every minute".
    whole = {_every(1, unit, words) for unit in ("minute", "hour")}
    while len(parts) > 1 and parts[-1][0] in whole and parts[-2][1]:
        parts.pop()
    sentence = words.of.join(text for text, _ in parts).replace(" de el ", " del ")
    return ("" if parts[0][1] else words.within) + sentence, any(every for _, every in parts)


def _unit(values: Values, name: str, size: int, words: Words) -> tuple[str, bool]:
    """What an expression says of a unit, and whether it is "every"."""
    found = bits(values.mask)
    if len(found) == size:
        return _every(1, name, words), True
    step = found[1] - found[0] if len(found) > 1 else size
    if (values.wild or values.open_step) and size % step == 0 and found == list(range(0, size, step)):
        return _every(step, name, words), True
    one, many = words.numbered[name]
    return f"{many if len(found) > 1 else one} {numbers(runs(found), words)}", False
