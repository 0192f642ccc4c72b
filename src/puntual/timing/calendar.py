"""What a calendar means: the days that it names, as a schedule keeps them beside its rule."""

from __future__ import annotations

from typing import Literal

import msgspec

from puntual.model.calendar import CalendarSpec

#: What becomes of a tick on a day that is closed.
Otherwise = Literal["skip", "next", "previous"]


class CalendarDays(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The days of one version of a calendar.

    Args:
        name: what the calendar is called.
        version: grows with each change of its days.
        dates: single days, as days since 1970-01-01, ascending and each once.
        weekdays: days of the week that belong to it wholly, 0 for Sunday to 6 for Saturday.
        until: the last day that the calendar knows anything about; None where it speaks of all time.
    """

    name: str
    version: int
    dates: tuple[int, ...] = ()
    weekdays: tuple[int, ...] = ()
    until: int | None = None


class Calendar(msgspec.Struct, frozen=True, kw_only=True):
    """A calendar as the store keeps it: what was written, and what that means now.

    Args:
        spec: what was written.
        days: what it means; it has the calendar's name and version.
        owner: whose it is.
        updated_at: when the version was made.
        refreshed_at: when its days were last found out, whether they had changed or not.
        trouble: why the last attempt to find them out failed, if it did; the days are then older.
    """

    spec: CalendarSpec
    days: CalendarDays
    owner: str | None = None
    updated_at: int
    refreshed_at: int
    trouble: str | None = None

    @property
    def name(self) -> str:
        """The name that users type."""
        return self.days.name

    @property
    def version(self) -> int:
        """Grows with each change."""
        return self.days.version
