"""Calendars: checked before the schedules that name them are changed, and written after, in the same transaction."""

from __future__ import annotations

from collections.abc import Sequence

from puntual.store.calendars import CalendarNote, CalendarRead, CalendarUse, CalendarWrite
from puntual.store.rows.calendars import (
    calendar_row,
    calendars_of,
    check_versions,
    still_named,
    uses_of,
)
from puntual.store.rows.codec import encode
from puntual.store.sqlite.transaction import Tx
from puntual.timing.calendar import Calendar


def listed(tx: Tx, names: Sequence[str] | None) -> list[Calendar]:
    """Calendars by name."""
    return calendars_of(tx.text("list_calendars", None if names is None else encode(list(names))))


def check(tx: Tx, asked: Sequence[CalendarWrite | CalendarRead]) -> None:
    """Refuses what expects another version."""
    if asked:
        check_versions(asked, listed(tx, [each.name for each in asked]))


def put(tx: Tx, writes: Sequence[CalendarWrite]) -> None:
    """Writes and removes; what a schedule names is not removed."""
    if rows := [calendar_row(write.calendar) for write in writes if write.calendar is not None]:
        tx.change_rows("put_calendars", rows)
    if gone := [write.name for write in writes if write.calendar is None]:
        if found := uses(tx, gone):
            raise still_named(found)
        tx.change("remove_calendars", encode(gone))


def note(tx: Tx, note: CalendarNote) -> bool:
    """Writes how the last look at a calendar went."""
    return tx.change("note_calendar", note.name, note.version, note.refreshed_at, note.trouble) > 0


def uses(tx: Tx, names: Sequence[str] | None) -> list[CalendarUse]:
    """Which schedules name which calendars."""
    return uses_of(tx.text("calendar_uses", None if names is None else encode(list(names))))
