"""Between calendars and rows, and what of their writes is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from puntual.model.errors import ChangedError, ConflictError
from puntual.store.calendars import CalendarRead, CalendarUse, CalendarWrite
from puntual.store.rows.codec import SqlValue, encode
from puntual.store.rows.readable import readable
from puntual.timing.calendar import Calendar

_NAMED: Final = 3
_calendars = msgspec.json.Decoder(list[Calendar])
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


def uses_of(text: str) -> list[CalendarUse]:
    """What ``calendar_uses`` answers, without those that cannot be read."""
    return readable(_uses, CalendarUse, text)


def written_of(asked: Sequence[CalendarWrite | CalendarRead]) -> list[CalendarWrite]:
    """Those that are written or removed, and not only read."""
    return [each for each in asked if isinstance(each, CalendarWrite)]


def check_versions(asked: Sequence[CalendarWrite | CalendarRead], standing: Sequence[Calendar]) -> None:
    """Refuses to write, or to go by, what somebody else changed first; one that cannot be read counts as none.

    Raises:
        ChangedError: a calendar is not at the version that is expected.
    """
    versions = {calendar.name: calendar.version for calendar in standing}
    for each in asked:
        version = versions.get(each.name, 0)
        if each.was is None or each.was == version:
            continue
        if not version:
            raise ChangedError(f"The calendar {each.name} does not exist any more; nothing was changed.", field="name")
        if not each.was:
            raise ChangedError(f"There is a calendar {each.name} already; nothing was changed.", field="name")
        raise ChangedError(
            f"The calendar {each.name} is at version {version}, not {each.was}: somebody changed it first;"
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
