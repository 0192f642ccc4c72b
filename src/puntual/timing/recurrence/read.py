"""The lines of a recurrence rule as calendars write them, and the options beside it, become one rule.

What would silently be lost is refused: other lines of a calendar, a zone that is not the schedule's, a DTSTART said
twice, and a rule that means nothing without one.
"""

from __future__ import annotations

import re
from typing import Final

from puntual.model.errors import InvalidRuleError
from puntual.model.instant import SECOND, Instant
from puntual.timing.options import Read, RuleOptions
from puntual.timing.recurrence.complete import needs_start
from puntual.timing.recurrence.grammar import LONGEST, basic_wall, parse_rrule
from puntual.timing.recurrence.rule import RruleRule
from puntual.timing.wallclock import format_wall
from puntual.timing.zone import load_zone

_PROPERTY: Final = re.compile(r"(RRULE|DTSTART)((?:;[^:]*)?):(.*)", re.ASCII | re.IGNORECASE)
_OTHER: Final = re.compile(r"([A-Z-]{1,40})[;:]", re.ASCII | re.IGNORECASE)
_EXAMPLE: Final = "FREQ=WEEKLY;BYDAY=MO;BYHOUR=9;BYMINUTE=0"
_ELSEWHERE: Final = {
    "RDATE": "RDATE adds times to a rule: write them as a schedule of their own, under at:",
    "EXDATE": "EXDATE takes times away from a rule: write them under except:",
    "EXRULE": "EXRULE takes the times of a rule away: write that rule under except:",
    "DTEND": "DTEND says how long an appointment lasts, and a run has no such end: leave it out",
}


def read_rrule(text: str, options: RuleOptions) -> Read:
    """The rule of a text like ``FREQ=DAILY;BYHOUR=9;BYMINUTE=0``, alone or after its line ``DTSTART:20270131T093000``.

    Raises:
        InvalidRuleError: it cannot be read, or depends on a DTSTART that nobody gave.
    """
    if len(text) > LONGEST + 200:
        raise InvalidRuleError(f"a recurrence rule has at most {LONGEST} characters, this text has {len(text)}")
    expr, column, written = "", 1, ""
    for found in re.finditer(r"\S+", text):
        name, value = _line(found[0], options)
        if expr if name == "RRULE" else written:
            raise InvalidRuleError(f"there are two lines {name}: keep one of them", column=found.start() + 1)
        if name == "DTSTART":
            written = value
        else:
            expr, column = value, found.end() - len(value) + 1
    if not expr:
        raise InvalidRuleError(f"there is no rule: write it like {_EXAMPLE}")
    try:
        spec = parse_rrule(expr)
    except InvalidRuleError as error:
        at = None if error.column is None else error.column + column - 1
        raise InvalidRuleError(error.message, column=at) from error
    dtstart = _dtstart(written, options)
    why = needs_start(spec)
    if why and not dtstart:
        example = format_wall(options.now // SECOND + load_zone(options.timezone).offset(options.now))
        raise InvalidRuleError(
            f"this rule depends on a DTSTART ({why}): add the line "
            f"DTSTART:{re.sub('[-:]', '', example)} before it, or give an anchor",
            field="anchor",
        )
    rule = RruleRule(
        expr=expr.upper().removesuffix(";"), dtstart=dtstart, dst_gap=options.dst_gap, dst_fold=options.dst_fold
    )
    return Read(rule, anchored=True)


def _line(line: str, options: RuleOptions) -> tuple[str, str]:
    """The name and the value of a line; a rule may stand without its name."""
    found = _PROPERTY.fullmatch(line)
    if found is None:
        other = _OTHER.match(line)
        if other is None and "=" not in line:
            raise InvalidRuleError(f"{line[:40]!r} is no rule: write it like {_EXAMPLE}")
        if other is None:
            return "RRULE", line
        name = other[1].upper()
        right = _ELSEWHERE.get(name, f"{name} is no line of a rule: only DTSTART and RRULE are read")
        raise InvalidRuleError(right)
    name, params, value = found[1].upper(), found[2][1:], found[3]
    if name == "RRULE" and params:
        raise InvalidRuleError(f"RRULE has no parameter like {params[:40]!r}: write RRULE:FREQ=DAILY")
    return name, _wall_of(params, value.upper(), options) if name == "DTSTART" else value


def _wall_of(params: str, value: str, options: RuleOptions) -> str:
    """The wall time of a DTSTART, whose zone has to be the schedule's."""
    zone = None
    for param in params.split(";") if params else ():
        name, _, said = param.partition("=")
        if name.upper() == "TZID":
            zone = said
        elif param.upper() != "VALUE=DATE-TIME":
            raise InvalidRuleError(f"DTSTART with {param[:40]!r} is not read: write DTSTART:20270131T093000")
    if len(value) == 8 and value.isdigit():
        raise InvalidRuleError(f"DTSTART:{value} is a date and says no time of day: write DTSTART:{value}T000000")
    wall, utc = basic_wall(value, "DTSTART")
    if utc:
        zone = "UTC"
    if zone is not None and zone != options.timezone:
        raise InvalidRuleError(
            f"DTSTART is in the zone {zone[:60]}, but the rule's zone is {options.timezone}: say it with timezone"
        )
    return format_wall(wall)


def _dtstart(written: str, options: RuleOptions) -> str:
    """The DTSTART as a wall time: the line's, else the anchor's, else the start's; empty without any."""
    if written and options.anchor is not None:
        raise InvalidRuleError("DTSTART and anchor both say where the rule begins: keep one of them", field="anchor")
    given: Instant | None = options.start if options.anchor is None else options.anchor
    if written or given is None:
        return written
    second = given // SECOND
    return format_wall(second + load_zone(options.timezone).offset(second * SECOND))
