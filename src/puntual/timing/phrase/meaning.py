"""What a phrase means, before it becomes a rule: plain sets of times and days, the same whatever the language."""

from __future__ import annotations

import msgspec

ALL_WEEKDAYS = frozenset(range(7))


class Days(msgspec.Struct, frozen=True, kw_only=True):
    """Which days of a month; a day that any of these names is one."""

    numbers: frozenset[int] = frozenset()
    before_last: frozenset[int] = frozenset()
    """0 is the month's last day, 1 the one before it."""
    near: frozenset[int] = frozenset()
    """The Monday to Friday nearest to a day of the month."""
    working: frozenset[int] = frozenset()
    """1 is the first Monday to Friday of the month, -1 the last."""
    nth: frozenset[tuple[int, int]] = frozenset()
    """(weekday, which): 1 is the first of the month, -1 the last."""


class Cycle(msgspec.Struct, frozen=True):
    """Every so many days, weeks (then on weekdays) or months, from an anchor on."""

    count: int
    unit: str


class Meaning(msgspec.Struct, frozen=True, kw_only=True):
    """A phrase understood.

    Args:
        times: seconds of the day, where it names times.
        every_us: the period, where it repeats; alone it is an interval.
        window: first and last second of the day in which it repeats.
        minutes: the minutes of the hours in which it fires, where it names minutes.
        hours: those hours; empty for each of ``every_us``.
        weekdays: which (0 is Sunday), all where it names none.
        days: which days of the month, None where it names none.
        months: which, all where it names none.
        cycle: every n days, weeks or months.
        since: the anchor written in the phrase, a date or an instant.
        starts: whether that was said in words that could as well mean when the rule begins.
        column: of the words that need an anchor.
    """

    times: frozenset[int] = frozenset()
    every_us: int = 0
    window: tuple[int, int] | None = None
    minutes: frozenset[int] = frozenset()
    hours: frozenset[int] = frozenset()
    weekdays: frozenset[int] = ALL_WEEKDAYS
    days: Days | None = None
    months: frozenset[int] = frozenset()
    cycle: Cycle | None = None
    since: str | None = None
    starts: bool = False
    column: int = 1
    alone: bool = False
    """Nothing but a period was said: elapsed time."""
