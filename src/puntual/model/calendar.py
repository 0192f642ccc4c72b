"""What a calendar is made of: days that are written, days of the week, the holidays of a country, an iCalendar."""

from __future__ import annotations

import re
from datetime import date
from typing import Final

import msgspec

from puntual.model.errors import InvalidError
from puntual.model.instant import DAY

#: A calendar holds no more days: it is copied into every schedule that names it. Ten years of every day are fewer.
MOST_DAYS: Final = 5_000
#: Bytes of an iCalendar: of a feed, and of a text that is kept.
LONGEST_FEED: Final = 4 << 20
LONGEST_ICAL: Final = 1 << 20
#: How an iCalendar begins (RFC 5545, section 3.4).
ICAL_START: Final = "BEGIN:VCALENDAR"

_EPOCH: Final = date(1970, 1, 1).toordinal()
_DATES: Final = re.compile(r"(\d{4}-\d\d-\d\d)(?:\s*\.\.\s*(\d{4}-\d\d-\d\d))?", re.ASCII)


class CalendarSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A calendar as it was written; its days are those of all of its parts together.

    Args:
        dates: single dates, and ranges whose ends both belong to them: ``2026-12-24..2027-01-02``.
        weekdays: days of the week, 0 for Sunday to 6 for Saturday.
        country: whose public holidays, as ISO 3166-1 has it: ``CO``.
        subdivision: of which part of the country.
        ical: the address of an iCalendar, or its very text.
        refresh_us: how often an address is asked anew.
    """

    dates: tuple[str, ...] = ()
    weekdays: tuple[int, ...] = ()
    country: str | None = None
    subdivision: str | None = None
    ical: str | None = None
    refresh_us: int = DAY

    @property
    def feed(self) -> str | None:
        """The address of its iCalendar, if it has one."""
        return None if self.ical is None or is_ical(self.ical) else self.ical

    @property
    def ical_text(self) -> str | None:
        """The text of its iCalendar, if that was written."""
        return self.ical if self.ical is not None and is_ical(self.ical) else None


def is_ical(text: str) -> bool:
    """Whether this is an iCalendar itself, and no name of one."""
    return text.lstrip("\ufeff \t\r\n")[: len(ICAL_START)].upper() == ICAL_START


def asked_url(url: str) -> str:
    """The address by which a feed is asked: ``webcal`` means https, as other programs write it."""
    scheme, colon, rest = url.partition(":")
    return f"https:{rest}" if colon and scheme.lower() in ("webcal", "webcals") else url


def days_of(text: str, *, field: str = "dates") -> range:
    """The days of a date or of a range, counted from 1970-01-01.

    Raises:
        InvalidError: it is neither, it ends before it begins, or it is longer than a calendar may be.
    """
    found = _DATES.fullmatch(text.strip())
    try:
        first, last = (_day(part or found[1]) for part in found.groups()) if found else (None, None)
    except ValueError:
        first = last = None
    if first is None or last is None:
        raise InvalidError(
            f"{text[:40]!r} is no date like 2026-12-24 and no range like 2026-12-24..2027-01-02.", field=field
        )
    if last < first:
        raise InvalidError(f"{text[:40]} ends before it begins: write the earlier date first.", field=field)
    if last - first >= MOST_DAYS:
        raise InvalidError(f"{text[:40]} is longer than {MOST_DAYS:,} days; weekdays: have no end.", field=field)
    return range(first, last + 1)


def day_of(day: date) -> int:
    """A date as days since 1970-01-01."""
    return day.toordinal() - _EPOCH


def date_of(day: int) -> date:
    """Days since 1970-01-01 as a date."""
    return date.fromordinal(day + _EPOCH)


def _day(text: str) -> int:
    return day_of(date.fromisoformat(text))
