"""A cron expression is read once, by the grammar of the dialect it declares, and every character of it is understood.

The day rule is vixie-cron's (crontab(5)): where both day and weekday are restricted either is enough, but a field that
begins with ``*`` does not count as restricted, so that the two must agree. ``L``, ``W`` and ``#`` follow Quartz, ``H``
follows Jenkins: a value fixed by a hash of the schedule's name, so that a fleet of ``H H * * *`` is spread out.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import msgspec

from puntual.model.errors import InvalidRuleError
from puntual.model.said import said
from puntual.timing.cron.days import DayRule
from puntual.timing.cron.fields import ALIASES, FIELDS, LAYOUTS, CronDialect
from puntual.timing.cron.items import FieldReader, Values, quoted
from puntual.timing.cron.wall import WallPattern

_LONGEST: Final = 1_000


class CronSpec(msgspec.Struct, frozen=True):
    """An expression understood: the values of each time field, the rule for days, and the years if it names some."""

    second: Values
    minute: Values
    hour: Values
    day: Values
    month: Values
    weekday: Values
    days: DayRule
    years: tuple[int, ...] = ()

    @property
    def elapsed(self) -> bool:
        """Whether the rule repeats by itself within the day, and so follows elapsed time through gaps and folds."""
        return self.minute.wild or self.hour.wild

    @property
    def fields(self) -> tuple[tuple[str, Values], ...]:
        """Each field's name and what it says, from seconds to weekdays."""
        return (
            ("second", self.second),
            ("minute", self.minute),
            ("hour", self.hour),
            ("day", self.day),
            ("month", self.month),
            ("weekday", self.weekday),
        )

    @property
    def hashed(self) -> bool:
        """Whether some field is fixed by a hash of the schedule's name."""
        return any(values.hashed for _, values in self.fields)

    def pattern(self) -> WallPattern:
        """The pattern of wall clock seconds that the expression matches."""
        return WallPattern(self.second.mask, self.minute.mask, self.hour.mask, self.days, self.years)


@lru_cache(maxsize=4_096)
def parse_cron(expr: str, dialect: CronDialect, hash_key: str) -> CronSpec:
    """What an expression means in a dialect.

    Args:
        expr: the fields, or an ``@name``, which means the same in each dialect.
        dialect: which grammar; never guessed.
        hash_key: what ``H`` is spread by, the schedule's name.

    Raises:
        InvalidRuleError: with the column, what was wrong there and what would be right; or no date ever matches.
    """
    if len(expr) > _LONGEST:
        message = said("a cron expression has at most {most} characters, this one has {n}", most=_LONGEST, n=len(expr))
        raise InvalidRuleError(message)
    if not expr.isascii():
        column = next(place for place, letter in enumerate(expr, 1) if not letter.isascii())
        message = said("{letter!r} is no part of a cron expression", letter=expr[column - 1])
        raise InvalidRuleError(message, column=column)
    if expr.strip().startswith("@"):
        expr, dialect = _alias(expr), "unix"
    readers = _readers(expr, dialect, hash_key)
    read = {name: reader.read() for name, reader in readers.items()}
    day, weekday = readers["day"], readers["weekday"]
    if dialect == "quartz" and (day.text == "?") == (weekday.text == "?"):
        raise InvalidRuleError(
            "quartz needs ? in exactly one of day and weekday: the one that does not matter", column=day.column
        )
    spec = CronSpec(
        second=read.get("second", Values("0", 1)),
        minute=read["minute"],
        hour=read["hour"],
        day=read["day"],
        month=read["month"],
        weekday=read["weekday"],
        days=_day_rule(read, day, weekday),
        years=_years(read["year"]) if "year" in read else (),
    )
    if not spec.pattern().ever_matches():
        message = said(
            "{expr} never fires: no date has the day {day} in the month {month}{of_years}",
            expr=quoted(expr),
            day=day.text,
            month=spec.month.text,
            of_years=said(" of {years}", years=read["year"].text) if spec.years else "",
        )
        raise InvalidRuleError(message, column=day.column)
    return spec


def _readers(expr: str, dialect: CronDialect, hash_key: str) -> dict[str, FieldReader]:
    fields = FIELDS[dialect]
    words = [(found[0].upper(), found.start() + 1) for found in re.finditer(r"\S+", expr)]
    optional = 1 if dialect == "quartz" else 0
    if not len(fields) - optional <= len(words) <= len(fields):
        message = said(
            "a {dialect} cron expression has the fields {fields!r}, but {expr} has {n} of them",
            dialect=dialect,
            fields=LAYOUTS[dialect],
            expr=quoted(expr),
            n=len(words),
        )
        raise InvalidRuleError(message)
    return {
        field.name: FieldReader(field, word, column, hash_key)
        for field, (word, column) in zip(fields, words, strict=False)
    }


def _day_rule(read: dict[str, Values], day: FieldReader, weekday: FieldReader) -> DayRule:
    return DayRule(
        months=read["month"].mask,
        days=read["day"].mask,
        before_last=tuple(day.before_last),
        near=tuple(day.near),
        near_before_last=tuple(day.near_before_last),
        weekdays=read["weekday"].mask,
        nth=tuple(weekday.nth),
        last_weekdays=weekday.last_weekdays,
        both=read["day"].starred or read["weekday"].starred,
    )


def _years(values: Values) -> tuple[int, ...]:
    """The years named, in order; none for ``*``, which names them all."""
    return (
        () if values.text == "*" else tuple(year for year in range(values.mask.bit_length()) if values.mask >> year & 1)
    )


def _alias(expr: str) -> str:
    name = expr.strip().lower()
    if name == "@reboot":
        raise InvalidRuleError("@reboot is no time: puntual's schedules do not start with the machine", column=1)
    if name not in ALIASES:
        message = said("{name} is no name puntual knows: use {known}", name=quoted(name), known=", ".join(ALIASES))
        raise InvalidRuleError(message, column=1)
    return ALIASES[name]
