"""What a language says for each part of a sentence: names, and shapes with places for what was made before."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

Run = tuple[int, int]
"""The first and the last of some numbers in a row; one number alone has it twice."""


class RecurrenceWords(msgspec.Struct, frozen=True, kw_only=True):
    """What only the sentences of recurrence rules say.

    Args:
        units: of each frequency, singular and plural.
        nth: which of the days of a kind in a period, negative ones from the end: from the number and two nouns.
        which: the same without a noun.
        times: from how often a rule with COUNT comes.
    """

    units: dict[str, tuple[str, str]]
    nth: Callable[[int, str, str], str]
    which: Callable[[int], str]
    times: Callable[[int], str]
    of_year: str
    weeks: tuple[str, str]
    chosen: str
    only: str
    week_starts: str


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """One language; what the shapes leave open is filled in by name.

    Args:
        units: singular and plural of each unit, with what is said of numbered ones: ``minute``, ``minutes``.
        idioms: numbers of days that could be taken for weeks; the unit "exact day" is said for them.
        at: from times.
        weekdays: from runs of weekdays, Monday is 0.
        bare_weekdays: the same, after "if it is".
        months: from runs of months, with what stands before them.
        ordinal: from a number.
    """

    units: dict[str, tuple[str, str]]
    idioms: frozenset[int] = frozenset()
    numbered: dict[str, tuple[str, str]]
    at: Callable[[Sequence[str]], str]
    weekdays: Callable[[Sequence[Run]], str]
    bare_weekdays: Callable[[Sequence[Run]], str]
    weekday_names: tuple[str, ...]
    months: Callable[[Sequence[Run]], str]
    ordinal: Callable[[int], str]
    every: str
    and_: str
    to: str
    of: str
    within: str
    """Before numbered units at the beginning of a sentence."""
    every_day: str
    any_day: str
    any_weekday: str
    day: str
    days: str
    last_day: str
    day_before_last: str
    near: str
    last_workday: str
    workday: str
    workday_before_last: str
    nth_weekday: str
    last_weekday: str
    of_month: str
    on: str
    either: str
    both: str
    years: str
    window: str
    cycle: str
    counted: str
    once: str
    without: str
    date: str
    dates: str
    nth: str
    most: str
    once_at_most: str
    any_of: str
    recurrence: RecurrenceWords
    start: str
    end: str
    include: str
    exclude: str
    otherwise: dict[str, str]
    blackout: str


def listed(words: Sequence[str], last: str) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def runs(numbers: Sequence[int]) -> list[Run]:
    """Numbers in order as runs: only three or more in a row make one that is longer than one."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][-1] == number - 1:
            found[-1].append(number)
        else:
            found.append([number])
    return [
        run for row in found for run in ([(row[0], row[-1])] if len(row) > 2 else [(number, number) for number in row])
    ]
