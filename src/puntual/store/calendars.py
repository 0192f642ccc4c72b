"""What a store keeps of calendars; they are written together with the schedules that name them, and only so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from puntual.timing.calendar import Calendar


class CalendarWrite(msgspec.Struct, frozen=True, kw_only=True):
    """A calendar to write, or to remove where ``calendar`` is None.

    ``was`` is the version that must stand, 0 for none yet; None: any, also none.
    """

    name: str
    calendar: Calendar | None = None
    was: int | None = None


class CalendarRead(msgspec.Struct, frozen=True, kw_only=True):
    """A calendar that a change of schedules goes by: it is at version ``was`` until that is written."""

    name: str
    was: int


class CalendarNote(msgspec.Struct, frozen=True, kw_only=True):
    """That the days of a calendar were looked at: when they were last found out, and why not now, if not."""

    name: str
    version: int
    refreshed_at: int
    trouble: str | None = None


class CalendarUse(msgspec.Struct, frozen=True, array_like=True):
    """A schedule names a calendar, and has its days as of a version."""

    schedule: str
    calendar: str
    version: int


class CalendarStore(Protocol):
    """Calendars, as `ScheduleStore.change_schedules` wrote them."""

    async def list_calendars(self, names: Sequence[str] | None = None) -> list[Calendar]:
        """Calendars by name, ascending: all of them, or those of these names that there are."""
        ...

    async def note_calendar(self, note: CalendarNote) -> bool:
        """Writes that a calendar's days were looked at, and what was wrong; its version stays.

        False when it is not at the version of the note any more: nothing was written then. A repeat writes the same.
        """
        ...

    async def calendar_uses(self, names: Sequence[str] | None = None) -> list[CalendarUse]:
        """Which schedules name which calendars, all of them or these, and the version of each that they have.

        It reads every schedule: for changes, and for now and then.
        """
        ...
