"""A meaning becomes a rule: cron where cron can say it, a clock rule where it cannot."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Final

from puntual.model.errors import InvalidRuleError
from puntual.model.instant import HOUR, MINUTE, SECOND
from puntual.timing.clock import ClockRule, anchor_day, day_text, time_text
from puntual.timing.cron.fields import CronDialect
from puntual.timing.phrase.meaning import ALL_WEEKDAYS, Meaning
from puntual.timing.rule import CronRule
from puntual.timing.zone import Fold, Gap

_WEEKDAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


def rule_of(meaning: Meaning, anchor: str | None, gap: Gap | None, fold: Fold | None) -> CronRule | ClockRule:
    """The rule of a meaning that is more than a period.

    Args:
        meaning: what the phrase says.
        anchor: the local date from which its cycle counts; None if nobody said one.
        gap: the policy where the clocks go forward; None is the rule's usual one.
        fold: the policy where they go back.

    Raises:
        InvalidRuleError: it has a cycle and no anchor.
    """
    months = _months(meaning, anchor)
    day, weekday, working = _day_fields(meaning)
    month = _numbers(months, 12)
    if not (working or meaning.window or _is_long(meaning)):
        times = _cron_times(meaning)
        if times is not None:
            dialect, text = times
            expr = f"{text} {day} {month} {weekday}"
            return CronRule(expr=expr, dialect=dialect, dst_gap=gap, dst_fold=fold)
    cycle, start = _cycle(meaning, anchor)
    first, last = meaning.window or (0, 0)
    return ClockRule(
        at=tuple(time_text(second) for second in sorted(meaning.times)),
        every_us=meaning.every_us,
        since=time_text(first) if meaning.window else "",
        until=time_text(last) if meaning.window else "",
        day=day,
        month=month,
        weekday=weekday,
        working_days=working,
        cycle_days=cycle,
        anchor=start,
        dst_gap=gap,
        dst_fold=fold,
    )


def needs_anchor(meaning: Meaning) -> bool:
    """Whether it has to be said from when on it counts."""
    return meaning.cycle is not None


def start_of(meaning: Meaning, today: str, ahead: int) -> str:
    """The date on which a cycle would begin that starts now, or some days, weeks or months later."""
    unit = meaning.cycle.unit if meaning.cycle else "day"
    if unit == "month":
        months = int(today[:4]) * 12 + int(today[5:7]) - 1 + ahead
        if months // 12 > date.max.year:
            raise InvalidRuleError("a cycle begins in the years 1 to 9999: say an anchor within them", field="anchor")
        return f"{months // 12:04}-{months % 12 + 1:02}-01"
    start = anchor_day(ClockRule(anchor=today)) + ahead * (7 if unit == "week" else 1)
    return day_text(start + _to_weekday(meaning, start) if unit == "week" else start)


def _to_weekday(meaning: Meaning, day: int) -> int:
    """How many days it is to the first of the weekdays; day 0 since 1970 was a Thursday, 4."""
    return min((weekday - day - 4) % 7 for weekday in meaning.weekdays)


def _is_long(meaning: Meaning) -> bool:
    return meaning.cycle is not None and meaning.cycle.unit != "month"


def _months(meaning: Meaning, anchor: str | None) -> frozenset[int]:
    cycle = meaning.cycle
    if cycle is None or cycle.unit != "month":
        return meaning.months
    start = int(_anchor(anchor, meaning)[5:7])
    return frozenset((start + ahead - 1) % 12 + 1 for ahead in range(0, 12, cycle.count))


def _anchor(anchor: str | None, meaning: Meaning) -> str:
    if anchor is None:
        raise InvalidRuleError("a cycle needs an anchor: say from when on it counts", column=meaning.column)
    return anchor


def _cycle(meaning: Meaning, anchor: str | None) -> tuple[int, str]:
    """The length of the cycle in days, and the first day of it on or after the anchor: equal cycles are equal rules."""
    cycle = meaning.cycle
    if cycle is None or cycle.unit == "month":
        return 0, ""
    start = anchor_day(ClockRule(anchor=_anchor(anchor, meaning)))
    if cycle.unit == "day":
        return cycle.count, day_text(start)
    return cycle.count * 7, day_text(start + _to_weekday(meaning, start))


def _cron_times(meaning: Meaning) -> tuple[CronDialect, str] | None:
    """The cron fields for seconds, minutes and hours, if there are some that say it."""
    if meaning.times:
        parts = [(second // 3_600, second // 60 % 60, second % 60) for second in meaning.times]
        hours, minutes, seconds = (frozenset(part[place] for part in parts) for place in range(3))
        if len(hours) * len(minutes) * len(seconds) != len(parts):
            return None
        text = f"{_numbers(minutes, 60)} {_numbers(hours, 24)}"
        return ("unix", text) if seconds == {0} else ("seconds", f"{_numbers(seconds, 60)} {text}")
    us = meaning.every_us
    if meaning.minutes:
        return "unix", f"{_numbers(meaning.minutes, 60)} {_numbers(meaning.hours, 24) if not us else _step(us // HOUR)}"
    if us % HOUR == 0:
        return "unix", f"0 {_step(us // HOUR)}"
    if us % MINUTE == 0:
        return "unix", f"{_step(us // MINUTE)} *"
    return "seconds", f"{_step(us // SECOND)} * *"


def _step(count: int) -> str:
    return "*" if count == 1 else f"*/{count}"


def _numbers(numbers: Iterable[int], size: int, names: tuple[str, ...] = ()) -> str:
    """A cron field: numbers in order, three or more in a row as a range, all of them as a star."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    if not runs or len(runs[0]) == size:
        return "*"
    words: list[str] = []
    for run in runs:
        shown = [names[number] if names else str(number) for number in run]
        words += [f"{shown[0]}-{shown[-1]}"] if len(run) > 2 else shown
    return ",".join(words)


def _day_fields(meaning: Meaning) -> tuple[str, str, tuple[int, ...]]:
    """The cron fields for day and weekday, and the working days that neither can say."""
    weekdays = "*" if meaning.weekdays == ALL_WEEKDAYS else _numbers(meaning.weekdays, 7, _WEEKDAYS)
    days = meaning.days
    if days is None:
        return "*", weekdays, ()
    items = [_numbers(days.numbers, 99)] if days.numbers else []
    items += ["L" if not back else f"L-{back}" for back in sorted(days.before_last)]
    items += [f"{day}W" for day in sorted(days.near)]
    by_nth = [
        f"{_WEEKDAYS[weekday]}L" if which < 0 else f"{_WEEKDAYS[weekday]}#{which}"
        for weekday, which in sorted(days.nth, key=lambda found: (found[1] < 0, found[1], found[0]))
    ]
    kinds = sum(map(bool, (items, by_nth, days.working)))
    if kinds > 1:
        raise InvalidRuleError(
            "days, weekdays and working days of the month are rules of their own: write a list of them"
        )
    return ",".join(items) or "*", ",".join(by_nth) or "*", tuple(sorted(days.working))
