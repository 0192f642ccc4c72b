"""An instant is an integer of microseconds since 1970 in UTC; datetimes and texts live only at the edges.

Integers compare, add and store without a zone to forget, and an hour of arithmetic on them is an hour that passed.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from puntual.model.errors import InvalidInstantError

Instant: TypeAlias = int
"""Microseconds since 1970-01-01T00:00:00Z; negative before it."""

MICROSECOND: Final = 1
MILLISECOND: Final = 1_000
SECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
WEEK: Final = 7 * DAY

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

EARLIEST: Final[Instant] = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
"""The first instant of the year 1."""

LATEST: Final[Instant] = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
"""The last instant of the year 9999."""

_RFC_3339: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?([Zz]|[+-]\d\d:\d\d)?", re.ASCII
)


def from_datetime(moment: datetime) -> Instant:
    """The instant of an aware datetime.

    Raises:
        InvalidInstantError: the datetime carries no offset.
    """
    if moment.utcoffset() is None:
        message = f"the time {moment.isoformat()} has no offset, so it is no instant: give it a time zone"
        raise InvalidInstantError(message)
    return (moment - _EPOCH) // _MICROSECOND


def to_datetime(instant: Instant) -> datetime:
    """The instant as an aware datetime in UTC.

    Raises:
        InvalidInstantError: it lies outside the years 1 to 9999.
    """
    if not EARLIEST <= instant <= LATEST:
        message = f"the instant {instant} lies outside the years 1 to 9999"
        raise InvalidInstantError(message)
    return _EPOCH + timedelta(microseconds=instant)


def format_instant(instant: Instant) -> str:
    """RFC 3339 in UTC with ``Z``: no fraction for whole seconds, else milliseconds or microseconds."""
    moment = to_datetime(instant).replace(tzinfo=None)
    if not moment.microsecond:
        precision = "seconds"
    elif moment.microsecond % 1_000:
        precision = "microseconds"
    else:
        precision = "milliseconds"
    return moment.isoformat(timespec=precision) + "Z"


def parse_instant(text: str, *, field: str | None = None) -> Instant:
    """The instant that an RFC 3339 text names.

    Args:
        text: for example ``2026-03-08T02:30:00Z`` or ``2026-03-08T02:30-05:00``.
        field: dotted path of the value, for the error.

    Raises:
        InvalidInstantError: the text is no time, has no offset, or is finer than a microsecond.
    """
    parts = _RFC_3339.fullmatch(text)
    if parts is None:
        message = f"{_shown(text)} is no time: write it like 2026-03-08T02:30:00Z or 2026-03-08T02:30:00-05:00"
        raise InvalidInstantError(message, field=field)
    year, month, day, hour, minute, second, fraction, offset = parts.groups()
    if offset is None:
        message = f"{_shown(text)} has no offset, so it is no instant: end it with Z or with an offset like -05:00"
        raise InvalidInstantError(message, field=field)
    micros = int((fraction or "").ljust(6, "0"))
    try:
        local = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second or 0), micros, tzinfo=UTC)
        instant = from_datetime(local) - _offset_us(offset)
    except ValueError as error:
        message = f"{_shown(text)} is no time: {error}"
        raise InvalidInstantError(message, field=field) from error
    if not EARLIEST <= instant <= LATEST:
        message = f"{_shown(text)} lies outside the years 1 to 9999 in UTC"
        raise InvalidInstantError(message, field=field)
    return instant


def _offset_us(offset: str) -> int:
    if offset in "Zz":
        return 0
    hours, minutes = int(offset[1:3]), int(offset[4:6])
    if hours > 23 or minutes > 59:
        message = f"the offset {offset} is not within 23:59"
        raise ValueError(message)
    size = hours * HOUR + minutes * MINUTE
    return -size if offset[0] == "-" else size


def _shown(text: str) -> str:
    """The text as an error may show it: quoted and short."""
    return repr(text if len(text) <= 60 else text[:57] + "...")
