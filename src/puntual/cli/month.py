"""Months as grids of weeks, Monday first, each day with its mark, beside each other where the terminal has room."""

from __future__ import annotations

from calendar import Calendar, month_abbr
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import zip_longest
from typing import Final

_GAP: Final = "   "
_DAYS: Final = "".join(f"{name:>3} " for name in ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"))
_WIDTH: Final = len(_DAYS)


def grids(months: Sequence[date], marks: Mapping[date, str], width: int) -> list[str]:
    """The lines of the grids.

    Args:
        months: a day of each.
        marks: one letter behind each day that has one.
        width: of the terminal, in letters.
    """
    beside = max(1, (width + len(_GAP)) // (_WIDTH + len(_GAP)))
    lines: list[str] = []
    for start in range(0, len(months), beside):
        row = [_grid(month, marks) for month in months[start : start + beside]]
        lines += ["", *(_GAP.join(parts).rstrip() for parts in zip_longest(*row, fillvalue=" " * _WIDTH))]
    return lines[1:]


def _grid(month: date, marks: Mapping[date, str]) -> list[str]:
    title = f"{month_abbr[month.month]} {month.year}"
    weeks = Calendar().monthdatescalendar(month.year, month.month)
    return [f"{title:^{_WIDTH}}", _DAYS, *("".join(_cell(day, month, marks) for day in week) for week in weeks)]


def _cell(day: date, month: date, marks: Mapping[date, str]) -> str:
    return f"{day.day:>3}{marks.get(day, ' ')}" if day.month == month.month else " " * 4
