"""The words of English sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from puntual.timing.describe.words import RecurrenceWords, Run, Words, listed

_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = (
    *("", "January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def ordinal(number: int) -> str:
    """``1st``, ``2nd``, ``3rd``, ``4th``, ``11th``."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def _at(times: Sequence[str]) -> str:
    return "at " + listed(times, "and")


def _named(runs: Sequence[Run], names: Sequence[str]) -> str:
    return listed([names[a] if a == b else f"{names[a]} to {names[b]}" for a, b in runs], "and")


def _weekdays(runs: Sequence[Run]) -> str:
    return _named(runs, _WEEKDAYS)


def _months(runs: Sequence[Run]) -> str:
    return ", in " + _named(runs, _MONTHS)


_UNITS: Final = {
    "second": ("second", "seconds"),
    "minute": ("minute", "minutes"),
    "hour": ("hour", "hours"),
    "day": ("day", "days"),
    "week": ("week", "weeks"),
}


def _nth(which: int, noun: str, period: str) -> str:
    """``the 1st Monday of the month``, ``the last day of the year``, ``the 2nd Friday from the end of the month``."""
    if which > 0:
        return f"the {ordinal(which)} {noun} of the {period}"
    return (
        f"the last {noun} of the {period}"
        if which == -1
        else f"the {ordinal(-which)} {noun} from the end of the {period}"
    )


def _which(number: int) -> str:
    if number > 0:
        return f"the {ordinal(number)}"
    return "the last" if number == -1 else f"the {ordinal(-number)} from the end"


_RECURRENCE: Final = RecurrenceWords(
    units={
        "SECONDLY": ("second", "seconds"),
        "MINUTELY": ("minute", "minutes"),
        "HOURLY": ("hour", "hours"),
        "DAILY": ("day", "days"),
        "WEEKLY": ("week", "weeks"),
        "MONTHLY": ("month", "months"),
        "YEARLY": ("year", "years"),
    },
    nth=_nth,
    which=_which,
    times=lambda count: ", once" if count == 1 else f", {count} times",
    of_year="{} of the year",
    weeks=(", in week {} of the year", ", in weeks {} of the year"),
    chosen=", only {} of these in each {}",
    only=", only {}",
    week_starts=", weeks beginning on {}",
)

ENGLISH: Final = Words(
    units=_UNITS,
    numbered=_UNITS,
    at=_at,
    weekdays=_weekdays,
    bare_weekdays=_weekdays,
    weekday_names=_WEEKDAYS,
    months=_months,
    ordinal=ordinal,
    every="every {}",
    and_="and",
    to="{} to {}",
    of=" of ",
    within="at ",
    every_day=" every day",
    any_day="any day",
    any_weekday="any weekday",
    day="day {}",
    days="days {}",
    last_day="the last day",
    day_before_last="the {} day before the last",
    near="the working day nearest to {}",
    last_workday="the last working day",
    workday="the {} working day",
    workday_before_last="the {} working day before the last",
    nth_weekday="the {} {} of the month",
    last_weekday="the last {} of the month",
    of_month="{} of the month",
    on=" on {}",
    either=" on {} or on {}",
    both=" on {} if it is {}",
    years=", in {}",
    window="{} from {} to {}",
    cycle=" {}",
    counted="{}, counted from {}",
    once="once at {}",
    without=" except {}",
    date="on {}",
    dates="from {} to {}",
    nth=", one of every {} of these times",
    most=", at most {} times",
    once_at_most=", at most once",
    any_of="; or ",
    recurrence=_RECURRENCE,
    start=", from {}",
    end=", until {}",
    include=", only on days of {}",
    exclude=", not on days of {}",
    otherwise={
        "skip": "",
        "next": ", else on the next business day",
        "previous": ", else on the previous business day",
    },
    blackout="; never in the {} that begin {}",
)
