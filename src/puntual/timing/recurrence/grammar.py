"""The text of a recurrence rule is read once, and every character of it is understood or named in the refusal.

The grammar and the limits are those of RFC 5545, section 3.3.10: a part comes once, COUNT and UNTIL exclude each other,
and a part that the frequency does not take is refused instead of ignored.
"""

from __future__ import annotations

import difflib
import re
from functools import lru_cache
from typing import Final

import msgspec

from puntual.model.errors import InvalidRuleError
from puntual.timing.recurrence.spec import NUMBER_PARTS, OTHER_PARTS, PERIODS, WEEKDAYS, RruleSpec
from puntual.timing.wallclock import parse_wall

LONGEST: Final = 2_000
_LONGEST_PERIOD: Final = 100 * PERIODS["YEARLY"]
_MOST_TICKS: Final = 1_000_000
_BASIC: Final = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(Z?)", re.ASCII)
_DATE: Final = re.compile(r"\d{8}", re.ASCII)
_DAY: Final = re.compile(r"([+-]?\d{1,2})?(MO|TU|WE|TH|FR|SA|SU)", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?\d{1,3}", re.ASCII)


class Part(msgspec.Struct, frozen=True):
    """One ``NAME=value`` and the column at which it begins."""

    name: str
    value: str
    column: int

    def wrong(self, why: str) -> InvalidRuleError:
        """The refusal of the part."""
        value = self.value if len(self.value) <= 40 else self.value[:37] + "..."
        return InvalidRuleError(f"{self.name}={value}: {why}", column=self.column)


@lru_cache(maxsize=4_096)
def parse_rrule(expr: str) -> RruleSpec:
    """What ``FREQ=WEEKLY;BYDAY=MO`` means.

    Raises:
        InvalidRuleError: with the column of the part that is wrong, and what would be right.
    """
    if len(expr) > LONGEST:
        raise InvalidRuleError(f"a recurrence rule has at most {LONGEST} characters, this one has {len(expr)}")
    parts = _parts(expr.upper())
    read: dict[str, object] = {
        NUMBER_PARTS[name].field: _numbers(part) for name, part in parts.items() if name in NUMBER_PARTS
    }
    read["freq"] = _freq(parts.get("FREQ"))
    if "BYDAY" in parts:
        read["by_day"] = _days(parts["BYDAY"])
    if "WKST" in parts:
        read["week_start"] = _week_start(parts["WKST"])
    for name, most in (("INTERVAL", _MOST_TICKS * 10_000), ("COUNT", _MOST_TICKS)):
        if name in parts:
            read[name.lower()] = _positive(parts[name], most)
    if "UNTIL" in parts:
        until_wall(parts["UNTIL"].value, parts["UNTIL"].column)
        read["until"] = parts["UNTIL"].value
    spec = msgspec.convert(read, RruleSpec)
    _check(spec, parts)
    return spec


def until_wall(text: str, column: int | None = None) -> tuple[int, bool]:
    """The wall second of an UNTIL, and whether it is one of UTC rather than of the rule's zone.

    Raises:
        InvalidRuleError: it is no time; a date alone is refused, since programs differ on whether it is included.
    """
    if _DATE.fullmatch(text):
        raise InvalidRuleError(
            f"UNTIL={text} is a date, and programs differ on whether that day still counts: "
            f"write UNTIL={text}T235959 to include it or UNTIL={text}T000000 to end before it",
            column=column,
        )
    return basic_wall(text, "UNTIL", column)


def basic_wall(text: str, name: str, column: int | None = None) -> tuple[int, bool]:
    """The wall second of ``20270131T093000``, and whether it ends with ``Z``.

    Raises:
        InvalidRuleError: it is no such time.
    """
    found = _BASIC.fullmatch(text)
    if found is None:
        shown = text if len(text) <= 40 else text[:37] + "..."
        raise InvalidRuleError(f"{name}={shown}: write a time like 20270131T093000", column=column)
    year, month, day, hour, minute, second, utc = found.groups()
    try:
        return parse_wall(f"{year}-{month}-{day}T{hour}:{minute}:{second}"), bool(utc)
    except InvalidRuleError as error:
        why = error.message.rpartition(": ")[2]
        raise InvalidRuleError(f"{name}={text} is no time: {why}", column=column) from error


def _parts(expr: str) -> dict[str, Part]:
    parts: dict[str, Part] = {}
    column = 1
    for item in expr.removesuffix(";").split(";"):
        name, equals, value = item.partition("=")
        part = Part(name, value, column)
        if not item:
            raise InvalidRuleError("a part is empty: write one semicolon between two parts", column=column)
        if not equals:
            raise InvalidRuleError(f"{name[:40]!r} is no part: write parts like FREQ=DAILY;BYHOUR=9", column=column)
        if name not in NUMBER_PARTS and name not in OTHER_PARTS:
            raise InvalidRuleError(_unknown(name), column=column)
        if not value:
            raise InvalidRuleError(
                f"{name} has no value: write it like {_EXAMPLES.get(name, name + '=1')}", column=column
            )
        if name in parts:
            raise part.wrong(f"{name} comes twice: say it once, its values with commas between")
        parts[name] = part
        column += len(item) + 1
    return parts


_EXAMPLES: Final = {
    "FREQ": "FREQ=DAILY",
    "UNTIL": "UNTIL=20271231T235959Z",
    "BYDAY": "BYDAY=MO,FR",
    "WKST": "WKST=MO",
}
_FOREIGN: Final = {
    "DTSTART": "DTSTART is a line of its own before the rule: DTSTART:20270131T093000",
    "TZID": "the zone is said with timezone, not in the rule",
    "BYEASTER": "BYEASTER is no part of RFC 5545: name such days in a calendar",
    "RSCALE": "RSCALE is not supported: rules follow the Gregorian calendar",
    "SKIP": "SKIP is not supported: days that a month does not have are left out, BYMONTHDAY=-1 is its last day",
}


def _unknown(name: str) -> str:
    if name in _FOREIGN:
        return _FOREIGN[name]
    known = [*OTHER_PARTS, *NUMBER_PARTS]
    near = difflib.get_close_matches(name[:20], known, 1, 0.75)
    right = f"did you mean {near[0]}?" if near else f"use {', '.join(known)}"
    return f"{name[:40]!r} is no part of a recurrence rule: {right}"


def _freq(part: Part | None) -> str:
    if part is None:
        raise InvalidRuleError("a recurrence rule needs a frequency, like FREQ=DAILY")
    if part.value not in PERIODS:
        raise part.wrong(f"use one of {', '.join(PERIODS)}; every second week is FREQ=WEEKLY;INTERVAL=2")
    return part.value


def _positive(part: Part, most: int) -> int:
    if not (part.value.isascii() and part.value.isdigit()) or len(part.value) > 12:
        raise part.wrong("write a whole number from 1 on")
    if not 1 <= int(part.value) <= most:
        raise part.wrong(f"it goes from 1 to {most}")
    return int(part.value)


def _numbers(part: Part) -> tuple[int, ...]:
    known = NUMBER_PARTS[part.name]
    found = set()
    for item in part.value.split(","):
        number = int(item) if _NUMBER.fullmatch(item) else None
        if number is None or (number < 0 and not known.signed) or not known.low <= abs(number) <= known.high:
            back = f" or from -{known.high} to -1, counted from the end" if known.signed else ""
            raise part.wrong(f"{item[:20]!r} is no number from {known.low} to {known.high}{back}")
        found.add(number)
    return tuple(sorted(found))


def _days(part: Part) -> tuple[tuple[int, int], ...]:
    found = set()
    for item in part.value.split(","):
        match = _DAY.fullmatch(item)
        which = int(match[1] or 0) if match else 0
        if match is None or (match[1] and not 1 <= abs(which) <= 53):
            raise part.wrong(f"{item[:20]!r} is no day like MO, 1MO (the first Monday) or -1FR (the last Friday)")
        found.add((which, WEEKDAYS.index(match[2])))
    return tuple(sorted(found))


def _week_start(part: Part) -> int:
    if part.value not in WEEKDAYS:
        raise part.wrong(f"use one of {', '.join(WEEKDAYS)}")
    return WEEKDAYS.index(part.value)


def _check(spec: RruleSpec, parts: dict[str, Part]) -> None:
    """Refuses what parts cannot say together."""
    for name, part in parts.items():
        if name in NUMBER_PARTS and spec.freq not in NUMBER_PARTS[name].only:
            raise part.wrong(f"FREQ={spec.freq} takes no {name}, only {', '.join(NUMBER_PARTS[name].only)} do")
    if spec.count and spec.until:
        raise parts["COUNT"].wrong("COUNT and UNTIL both end the rule: keep one of them")
    if spec.interval * PERIODS[spec.freq] > _LONGEST_PERIOD:
        raise parts["INTERVAL"].wrong(f"with FREQ={spec.freq} that is a period of more than a hundred years")
    if spec.by_set_pos and not any(name.startswith("BY") and name != "BYSETPOS" for name in parts):
        raise parts["BYSETPOS"].wrong("it chooses among what another part gives, like BYDAY=MO,TU,WE,TH,FR")
    most = max((abs(which) for which, _ in spec.by_day), default=0)
    if most and (spec.freq not in ("MONTHLY", "YEARLY") or spec.by_week_no):
        beside = " with BYWEEKNO" if spec.by_week_no else ""
        raise parts["BYDAY"].wrong(f"FREQ={spec.freq}{beside} takes days without a number, like MO")
    if most > 5 and (spec.freq == "MONTHLY" or spec.by_month):
        raise parts["BYDAY"].wrong("a month has at most five of each weekday")
    if spec.by_week_no and not (spec.by_day or spec.by_month_day or spec.by_year_day):
        raise parts["BYWEEKNO"].wrong(
            "RFC 5545 means the weekday of DTSTART, many programs each day of the week: "
            "add BYDAY=MO for one, or BYDAY=MO,TU,WE,TH,FR,SA,SU for each"
        )
