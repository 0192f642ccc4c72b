"""Between calendars and rows, and what of their writes is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from puntual.model.errors import ChangedError, ConflictError
from puntual.store.calendars import CalendarUse, CalendarWrite
from puntual.store.rows.codec import SqlValue, decode, encode
from puntual.store.rows.readable import readable
from puntual.timing.calendar import Calendar

_NAMED: Final = 3
_calendars = msgspec.json.Decoder(list[Calendar])
_versions = msgspec.json.Decoder(list[tuple[str, int]])
_uses = msgspec.json.Decoder(list[CalendarUse])


def calendar_row(calendar: Calendar) -> tuple[SqlValue, ...]:
    """A calendar as the parameters of ``put_calendars``."""
    return (
        calendar.name,
        calendar.owner,
        calendar.version,
        encode(calendar.spec),
        encode(calendar.days),
        calendar.updated_at,
        calendar.refreshed_at,
        calendar.trouble,
    )


def calendars_of(text: str) -> list[Calendar]:
    """What ``list_calendars`` answers, without those that cannot be read."""
    return readable(_calendars, Calendar, text)


def versions_of(text: str) -> dict[str, int]:
    """What ``calendar_versions`` answers."""
    versions = decode(_versions, text)
    return dict(versions)


def uses_of(text: str) -> list[CalendarUse]:
    """What ``calendar_uses`` answers."""
    return decode(_uses, text)


def check_versions(writes: Sequence[CalendarWrite], standing: Mapping[str, int]) -> None:
    """Refuses to write what somebody else changed first.

    Raises:
        ChangedError: a calendar is not at the version that the write expects.
    """
    for write in writes:
        version = standing.get(write.name, 0)
        if write.was is None or write.was == version:
            continue
        if not version:
            raise ChangedError(f"The calendar {write.name} does not exist any more; nothing was changed.", field="name")
        if not write.was:
            raise ChangedError(f"There is a calendar {write.name} already; nothing was changed.", field="name")
        raise ChangedError(
            f"The calendar {write.name} is at version {version}, not {write.was}: somebody changed it first;"
            " nothing was changed.",
            field="version",
        )


def still_named(uses: Sequence[CalendarUse]) -> ConflictError:
    """The refusal to remove a calendar that schedules name."""
    name = uses[0].calendar
    users = sorted(use.schedule for use in uses if use.calendar == name)
    more = f" and {len(users) - _NAMED:,} more" if len(users) > _NAMED else ""
    return ConflictError(
        f"The calendar {name} is named by {', '.join(users[:_NAMED])}{more}; nothing was changed.",
        hint="Take it out of their calendars: first.",
        field=name,
    )
