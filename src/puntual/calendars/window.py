"""The years in which a calendar that speaks of many is looked at: the last one, this one, and the ten to come."""

from __future__ import annotations

from datetime import date
from typing import NamedTuple

from puntual.model.calendar import date_of, day_of
from puntual.model.instant import DAY, Instant

_BACK, _AHEAD = 1, 10


class Window(NamedTuple):
    """The first and the last day, as days since 1970; whole years."""

    first: int
    last: int

    @property
    def years(self) -> range:
        """Its years."""
        return range(date_of(self.first).year, date_of(self.last).year + 1)


def window(now: Instant) -> Window:
    """The years around an instant."""
    year = date_of(now // DAY).year
    return Window(day_of(date(year - _BACK, 1, 1)), day_of(date(year + _AHEAD, 12, 31)))
