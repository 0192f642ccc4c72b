"""What each field of a cron expression may hold, per declared dialect."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

CronDialect = Literal["unix", "seconds", "quartz"]
FieldName = Literal["second", "minute", "hour", "day", "month", "weekday", "year"]

_MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


class Field(msgspec.Struct, frozen=True):
    """One field: its range, its names, and whether a range may run past the end (``FRI-MON``).

    ``base`` is what is taken off a written number to get the number meant: Quartz writes Sunday as 1.
    """

    name: FieldName
    low: int
    high: int
    names: dict[str, int] = {}
    wraps: bool = False
    base: int = 0
    hashes: bool = True

    @property
    def size(self) -> int:
        """How many values the field has; ``*/n`` with such a step or a larger one is refused."""
        return 7 if self.name == "weekday" else self.high - self.low + 1


def _weekdays(first: int) -> dict[str, int]:
    return {name: number for number, name in enumerate(_WEEKDAYS, first)}


_NUMBERED_MONTHS: Final = {name: number for number, name in enumerate(_MONTHS, 1)}
_UNIX: Final = (
    Field("minute", 0, 59),
    Field("hour", 0, 23),
    Field("day", 1, 31),
    Field("month", 1, 12, _NUMBERED_MONTHS),
    Field("weekday", 0, 7, _weekdays(0), wraps=True),
)
_QUARTZ: Final = (
    Field("second", 0, 59, wraps=True, hashes=False),
    Field("minute", 0, 59, wraps=True, hashes=False),
    Field("hour", 0, 23, wraps=True, hashes=False),
    Field("day", 1, 31, wraps=True, hashes=False),
    Field("month", 1, 12, _NUMBERED_MONTHS, wraps=True, hashes=False),
    Field("weekday", 1, 7, _weekdays(1), wraps=True, base=1, hashes=False),
    Field("year", 1970, 2099, hashes=False),
)

FIELDS: Final[dict[CronDialect, tuple[Field, ...]]] = {
    "unix": _UNIX,
    "seconds": (Field("second", 0, 59), *_UNIX),
    "quartz": _QUARTZ,
}
LAYOUTS: Final[dict[CronDialect, str]] = {
    "unix": "minute hour day month weekday",
    "seconds": "second minute hour day month weekday",
    "quartz": "second minute hour day month weekday [year]",
}
ALIASES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
