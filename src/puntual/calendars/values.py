"""The values of an iCalendar that are times: dates, times of day, durations and periods (RFC 5545, section 3.3)."""

from __future__ import annotations

import re
from datetime import date
from typing import Final, NamedTuple

from puntual.model.errors import InvalidZoneError
from puntual.model.instant import SECOND
from puntual.timing.zone import Zone, load_zone

DAY: Final = 86_400
_EPOCH: Final = date(1970, 1, 1).toordinal()
_TIME: Final = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z?))?", re.ASCII)
_DURATION: Final = re.compile(
    r"\+?P(?:(\d{1,5})W|(?:(\d{1,6})D)?(?:T(?:(\d{1,7})H)?(?:(\d{1,8})M)?(?:(\d{1,10})S)?)?)", re.ASCII
)


class Moment(NamedTuple):
    """A wall second, of a whole day or ``timed``; ``utc`` where it was written as one of UTC."""

    wall: int
    timed: bool
    utc: bool = False

    @property
    def day(self) -> int:
        """The day since 1970 that it lies on."""
        return self.wall // DAY


def moment(text: str) -> Moment:
    """A date or a time.

    Raises:
        ValueError: it is neither.
    """
    found = _TIME.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text[:30]!r} is no date like 20261224 and no time like 20261224T090000")
    year, month, day, hour, minute, second, utc = found.groups()
    midnight = (date(int(year), int(month), int(day)).toordinal() - _EPOCH) * DAY
    if hour is None:
        return Moment(midnight, timed=False)
    if int(hour) > 23 or int(minute) > 59 or int(second) > 60:
        raise ValueError(f"{text[:30]!r} is no time of day")
    # A leap second is the last one that clocks show.
    seconds = int(hour) * 3_600 + int(minute) * 60 + min(int(second), 59)
    return Moment(midnight + seconds, timed=True, utc=bool(utc))


def shown_in(found: Moment, zone: Zone | None) -> Moment:
    """A time of UTC as the clocks of a zone show it; any other as it is."""
    if not found.utc or zone is None:
        return found
    return Moment(found.wall + zone.offset(found.wall * SECOND), found.timed)


def duration(text: str) -> int:
    """The seconds of a duration like ``P2D`` or ``PT1H30M``.

    Raises:
        ValueError: it is none, or it goes backwards.
    """
    found = _DURATION.fullmatch(text.strip().upper())
    if found is None or not any(found.groups()):
        raise ValueError(f"{text[:30]!r} is no duration like P2D or PT1H30M")
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return weeks * 7 * DAY + days * DAY + hours * 3_600 + minutes * 60 + seconds


def zone_of(name: str | None) -> Zone | None:
    """The zone of that name; None where there is none, or it is one of a program's own."""
    if not name:
        return None
    try:
        return load_zone(name)
    except InvalidZoneError:
        return None
