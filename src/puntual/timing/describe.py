"""One English sentence says when a timetable is due, and leaves nothing out that would make it due at another time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from puntual.model.duration import format_duration
from puntual.model.instant import format_instant
from puntual.timing.cron.days import ALL_DAYS, ALL_MONTHS, ALL_WEEKDAYS
from puntual.timing.cron.grammar import CronSpec, parse_cron
from puntual.timing.rule import AnyRule, CronRule, IntervalRule, OnceRule, PlainRule, Timetable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from puntual.timing.cron.days import DayRule
    from puntual.timing.cron.items import Values

_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_MOST_TIMES: Final = 6
"""Up to so many times of day are listed one by one."""


def describe(timetable: Timetable) -> str:
    """The sentence, for example ``At 09:30 on Monday to Friday (America/New_York)``.

    Raises:
        InvalidRuleError: the timetable holds an expression that cannot be read.
    """
    rule = timetable.rule
    parts = rule.rules if isinstance(rule, AnyRule) else (rule,)
    sentence = "; or ".join(_plain(part) for part in parts)
    if not all(
        isinstance(part, IntervalRule) or (isinstance(part, OnceRule) and part.instant is not None) for part in parts
    ):
        sentence += f" ({timetable.timezone})"
    if timetable.start is not None:
        sentence += f", from {format_instant(timetable.start)}"
    if timetable.end is not None:
        sentence += f", until {format_instant(timetable.end)}"
    return sentence[0].upper() + sentence[1:]


def ordinal(number: int) -> str:
    """``1st``, ``2nd``, ``3rd``, ``4th``, ``11th``."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def listed(words: Sequence[str], last: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def _plain(rule: PlainRule) -> str:
    match rule:
        case CronRule():
            spec = parse_cron(rule.expr, rule.dialect, rule.hash_key)
            times = _times(spec)
            return times + _days(spec, repeats=times.startswith("every ") or " every " in times)
        case IntervalRule():
            return f"every {format_duration(rule.period_us)}, counted from {format_instant(rule.anchor)}"
        case OnceRule(instant=int(instant)):
            return f"once at {format_instant(instant)}"
        case OnceRule():
            return f"once at {rule.wall}"


def _times(spec: CronSpec) -> str:
    seconds, minutes, hours = (_bits(values.mask) for values in (spec.second, spec.minute, spec.hour))
    wild = spec.second.wild or spec.minute.wild or spec.hour.wild
    if not wild and len(seconds) * len(minutes) * len(hours) <= _MOST_TIMES:
        return "at " + listed(
            [
                f"{hour:02}:{minute:02}" + ("" if seconds == [0] else f":{second:02}")
                for hour in hours
                for minute in minutes
                for second in seconds
            ]
        )
    parts = [_unit(spec.minute, minutes, "minute", 60), _unit(spec.hour, hours, "hour", 24)]
    if seconds != [0]:
        parts.insert(0, _unit(spec.second, seconds, "second", 60))
    # "Every minute of every hour" says no more than "every minute".
    while len(parts) > 1 and parts[-1] in ("every hour", "every minute") and parts[-2].startswith("every "):
        parts.pop()
    return ("" if parts[0].startswith("every ") else "at ") + " of ".join(parts)


def _unit(values: Values, numbers: list[int], name: str, size: int) -> str:
    if len(numbers) == size:
        return f"every {name}"
    step = numbers[1] - numbers[0] if len(numbers) > 1 else size
    if (values.wild or values.open_step) and size % step == 0 and numbers == list(range(0, size, step)):
        return f"every {step} {name}s"
    return f"{name}{'s' if len(numbers) > 1 else ''} {listed(_runs(numbers))}"


def _days(spec: CronSpec, *, repeats: bool) -> str:
    rule = spec.days
    by_day, by_weekday = _by_day(rule), _by_weekday(rule)
    if not rule.both:
        days = f" on {by_day or 'any day'} or on {by_weekday or 'any weekday'}"
    elif by_day and by_weekday:
        days = f" on {by_day} if it is {by_weekday}"
    else:
        days = f" on {by_day or by_weekday}" if by_day or by_weekday else ("" if repeats else " every day")
    if rule.months != ALL_MONTHS:
        days += f", in {listed(_runs(_bits(rule.months), ('', *_MONTHS)))}"
    return days + (f", in {listed(_runs(list(spec.years)))}" if spec.years else "")


def _by_day(rule: DayRule) -> str:
    if rule.days == ALL_DAYS:
        return ""
    numbers = _bits(rule.days)
    words = [f"day{'s' if len(numbers) > 1 else ''} {listed(_runs(numbers))}"] if numbers else []
    words += [_before_last("day", back) for back in rule.before_last]
    words += [f"the working day nearest to day {day}" for day in rule.near]
    words += [
        f"the working day nearest to {_before_last('day', back)}" if back else "the last working day"
        for back in rule.near_before_last
    ]
    return f"{listed(words)} of the month"


def _before_last(name: str, back: int) -> str:
    return f"the {ordinal(back)} {name} before the last" if back else f"the last {name}"


def _by_weekday(rule: DayRule) -> str:
    if rule.weekdays == ALL_WEEKDAYS:
        return ""
    days = sorted((weekday - 1) % 7 for weekday in _bits(rule.weekdays))
    words = [listed(_runs(days, _WEEKDAYS))] if days else []
    words += [f"the {ordinal(which)} {_WEEKDAYS[weekday - 1]} of the month" for weekday, which in rule.nth]
    words += [f"the last {_WEEKDAYS[weekday - 1]} of the month" for weekday in _bits(rule.last_weekdays)]
    return listed(words)


def _runs(numbers: list[int], names: Sequence[str] | None = None) -> list[str]:
    """Numbers as words, three or more in a row as ``a to b``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    words: list[str] = []
    for run in runs:
        shown = [names[number] if names else str(number) for number in run]
        words += [f"{shown[0]} to {shown[-1]}"] if len(run) > 2 else shown
    return words


def _bits(mask: int) -> list[int]:
    return [number for number in range(mask.bit_length()) if mask >> number & 1]
