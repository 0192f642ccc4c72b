"""Calendars: locked and checked before the schedules that name them, and written after, in the same transaction."""

from __future__ import annotations

from collections.abc import Sequence

from puntual.store.calendars import CalendarNote, CalendarRead, CalendarUse, CalendarWrite
from puntual.store.postgres.transaction import Tx
from puntual.store.rows.calendars import (
    calendar_row,
    calendars_of,
    check_versions,
    still_named,
    uses_of,
    written_of,
)
from puntual.timing.calendar import Calendar


async def listed(tx: Tx, names: Sequence[str] | None) -> list[Calendar]:
    """Calendars by name."""
    return calendars_of(await tx.text("list_calendars", None if names is None else list(names)))


async def check(tx: Tx, asked: Sequence[CalendarWrite | CalendarRead]) -> None:
    """Refuses what expects another version; nobody else writes calendars until the end."""
    if asked:
        await tx.change("lock_calendars" if written_of(asked) else "hold_calendars")
        check_versions(asked, await listed(tx, [each.name for each in asked]))


async def put(tx: Tx, writes: Sequence[CalendarWrite]) -> None:
    """Writes and removes; what a schedule names is not removed."""
    for write in sorted(writes, key=lambda write: write.name):
        if write.calendar is not None:
            await tx.change("put_calendar", *calendar_row(write.calendar))
    if gone := [write.name for write in writes if write.calendar is None]:
        if found := await uses(tx, gone):
            raise still_named(found)
        await tx.change("remove_calendars", gone)


async def note(tx: Tx, note: CalendarNote) -> bool:
    """Writes how the last look at a calendar went."""
    return await tx.change("note_calendar", note.name, note.version, note.refreshed_at, note.trouble) > 0


async def uses(tx: Tx, names: Sequence[str] | None) -> list[CalendarUse]:
    """Which schedules name which calendars."""
    return uses_of(await tx.text("calendar_uses", None if names is None else list(names)))
