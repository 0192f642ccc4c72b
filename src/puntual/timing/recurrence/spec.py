"""What a recurrence rule may say: its frequencies, its parts with their ranges, and which parts a frequency takes."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

Freq = Literal["SECONDLY", "MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY"]

WEEKDAYS: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
#: How many seconds a period has; those of a month and a year are the longest.
PERIODS: Final[dict[Freq, int]] = {
    "SECONDLY": 1,
    "MINUTELY": 60,
    "HOURLY": 3_600,
    "DAILY": 86_400,
    "WEEKLY": 7 * 86_400,
    "MONTHLY": 31 * 86_400,
    "YEARLY": 366 * 86_400,
}


class RruleSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The parts of a rule, those that it does not have empty; the numbers of each in order, each once.

    ``by_day`` has (which, weekday) with Monday as 0 and 0 for each one; ``until`` is as it was written.
    """

    freq: Freq
    interval: int = 1
    count: int = 0
    until: str = ""
    by_second: tuple[int, ...] = ()
    by_minute: tuple[int, ...] = ()
    by_hour: tuple[int, ...] = ()
    by_day: tuple[tuple[int, int], ...] = ()
    by_month_day: tuple[int, ...] = ()
    by_year_day: tuple[int, ...] = ()
    by_week_no: tuple[int, ...] = ()
    by_month: tuple[int, ...] = ()
    by_set_pos: tuple[int, ...] = ()
    week_start: int = 0

    @property
    def within_day(self) -> bool:
        """Whether its period is shorter than a day."""
        return PERIODS[self.freq] < PERIODS["DAILY"]

    @property
    def elapsed(self) -> bool:
        """Whether it repeats by itself within the day, as a cron rule with a wildcard for minute or hour does."""
        return self.within_day and not (self.by_hour and (self.by_minute or self.freq == "HOURLY"))


class NumberPart(msgspec.Struct, frozen=True):
    """A part that lists numbers: the field that keeps them, their range, and whether ``-1`` is the last one."""

    field: str
    low: int
    high: int
    signed: bool = False
    only: tuple[Freq, ...] = tuple(PERIODS)
    """The frequencies that take it, by the table of RFC 5545, section 3.3.10."""


_WITHIN_DAY: Final[tuple[Freq, ...]] = ("SECONDLY", "MINUTELY", "HOURLY")

NUMBER_PARTS: Final = {
    "BYSECOND": NumberPart("by_second", 0, 59),
    "BYMINUTE": NumberPart("by_minute", 0, 59),
    "BYHOUR": NumberPart("by_hour", 0, 23),
    "BYMONTHDAY": NumberPart("by_month_day", 1, 31, True, (*_WITHIN_DAY, "DAILY", "MONTHLY", "YEARLY")),
    "BYYEARDAY": NumberPart("by_year_day", 1, 366, True, (*_WITHIN_DAY, "YEARLY")),
    "BYWEEKNO": NumberPart("by_week_no", 1, 53, True, ("YEARLY",)),
    "BYMONTH": NumberPart("by_month", 1, 12),
    "BYSETPOS": NumberPart("by_set_pos", 1, 366, True),
}
OTHER_PARTS: Final = ("FREQ", "INTERVAL", "COUNT", "UNTIL", "BYDAY", "WKST")
