"""The words of English sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from puntual.timing.describe.words import Run, Words, listed

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
    any_of="; or ",
    start=", from {}",
    end=", until {}",
)
