"""A phrase half read: what its clauses have said so far; each thing may be said once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from puntual.model.said import as_said, said
from puntual.timing.phrase.cursor import Cursor
from puntual.timing.phrase.kinds import Kind


class Unplaced(NamedTuple):
    """An n-th of something that needs "of the month": without it, it could as well be every n-th."""

    which: int
    ordinal: str
    noun: str
    column: int
    named: int
    """How many of them were named."""


@dataclass(slots=True)
class Draft:
    """What was said; `cursor` is there to refuse with the place where it was said twice."""

    cursor: Cursor
    times: frozenset[int] | None = None
    times_place: int = 0
    """Where they stand in the tokens, to read them again with a part of the day that is named after them."""
    part: int | None = None
    every_us: int = 0
    window: tuple[int, int] | None = None
    minutes: frozenset[int] = frozenset()
    hours: frozenset[int] = frozenset()
    all_days: bool = False
    weekdays: frozenset[int] | None = None
    numbers: set[int] = field(default_factory=set)
    before_last: set[int] = field(default_factory=set)
    near: set[int] = field(default_factory=set)
    working: set[int] = field(default_factory=set)
    nth: set[tuple[int, int]] = field(default_factory=set)
    of_month: bool = False
    unplaced: Unplaced | None = None
    months: frozenset[int] = frozenset()
    except_weekdays: frozenset[int] = frozenset()
    count: int = 0
    unit: Kind | None = None
    counted: bool = False
    unit_column: int = 1
    since: str | None = None
    starts: bool = False
    """Whether the date was said as a beginning and not as what the cycle counts from."""

    @property
    def has_days(self) -> bool:
        """Whether some days of the month were named."""
        return bool(self.numbers or self.before_last or self.near or self.working or self.nth)

    def once(self, before: object, what: str, column: int) -> None:
        """Refuses to be told the same thing twice.

        Raises:
            InvalidRuleError: it was said before.
        """
        if before:
            self.cursor.refuse(said("the phrase says {what} twice", what=as_said(what)), column=column)
