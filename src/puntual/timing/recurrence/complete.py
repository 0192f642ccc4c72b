"""What a rule leaves to its DTSTART, and the plainest rule that says the same."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import msgspec

from puntual.model.errors import InvalidRuleError
from puntual.timing.recurrence.spec import PERIODS, RruleSpec


def needs_start(spec: RruleSpec) -> str:
    """Why a rule means nothing without DTSTART, as the subject of a sentence; empty where it does."""
    if spec.interval > 1:
        return f"INTERVAL={spec.interval} counts from it"
    if spec.count:
        return f"COUNT={spec.count} counts from it"
    if not spec.within_day and not (spec.by_hour and spec.by_minute):
        return "the time of day comes from it, unless BYHOUR and BYMINUTE say it"
    if spec.freq == "HOURLY" and not spec.by_minute:
        return "the minute comes from it, unless BYMINUTE says it"
    if _days_missing(spec):
        return "the day comes from it, unless " + {
            "WEEKLY": "BYDAY says it",
            "MONTHLY": "BYMONTHDAY or BYDAY says it",
        }.get(spec.freq, "BYMONTH and BYMONTHDAY, BYDAY or another part say it")
    return ""


def completed(spec: RruleSpec, wall: int) -> RruleSpec:
    """The rule with each part that it takes from its DTSTART, a wall second; without one, seconds are 0."""
    start = datetime.fromtimestamp(wall, UTC)
    missing: dict[str, object] = {}
    if spec.freq != "SECONDLY" and not spec.by_second:
        missing["by_second"] = (start.second,)
    if spec.freq not in ("SECONDLY", "MINUTELY") and not spec.by_minute:
        missing["by_minute"] = (start.minute,)
    if not spec.within_day and not spec.by_hour:
        missing["by_hour"] = (start.hour,)
    if _days_missing(spec):
        if spec.freq == "WEEKLY":
            missing["by_day"] = ((0, start.weekday()),)
        else:
            missing["by_month_day"] = (start.day,)
        if spec.freq == "YEARLY" and not spec.by_month:
            missing["by_month"] = (start.month,)
    return msgspec.structs.replace(spec, **missing)


def coarsest(spec: RruleSpec, start: int) -> RruleSpec:
    """The completed rule with the longest frequency that can say it: 5,400 seconds are 90 minutes.

    Raises:
        InvalidRuleError: INTERVAL leads to a time that a part leaves out, or BYSETPOS chooses from too few.
    """
    if spec.freq == "SECONDLY" and spec.by_set_pos:
        if not {1, -1} & set(spec.by_set_pos):
            raise InvalidRuleError("this never fires: a second has only one time for BYSETPOS to choose from")
        spec = msgspec.structs.replace(spec, by_set_pos=())
    if spec.freq == "SECONDLY" and 60 % spec.interval == 0:
        seconds = range(start % spec.interval, 60, spec.interval)
        kept = tuple(second for second in seconds if not spec.by_second or second in spec.by_second)
        if not kept:
            raise InvalidRuleError("this never fires: INTERVAL leads to no second of BYSECOND")
        return msgspec.structs.replace(spec, freq="MINUTELY", interval=1, by_second=kept)
    for freq, size, field, longer in _LONGER:
        if spec.freq == freq and spec.interval % size == 0:
            own, asked = start // PERIODS[freq] % size, getattr(spec, field)
            if asked and own not in asked:
                name = field.replace("_", "").upper()
                raise InvalidRuleError(f"this never fires: INTERVAL leads to {own} alone, which {name} leaves out")
            spec = msgspec.structs.replace(spec, freq=longer, interval=spec.interval // size, **{field: (own,)})
    return spec


_LONGER: Final = (
    ("SECONDLY", 60, "by_second", "MINUTELY"),
    ("MINUTELY", 60, "by_minute", "HOURLY"),
    ("HOURLY", 24, "by_hour", "DAILY"),
)


def _days_missing(spec: RruleSpec) -> bool:
    """Whether DTSTART says on which days of its period the rule is due; a week number always has days beside it."""
    if spec.freq not in ("WEEKLY", "MONTHLY", "YEARLY"):
        return False
    return not (spec.by_day or spec.by_month_day or spec.by_year_day)
