"""A phrase and the options that it was written with become a rule; what it counts from is said once, by either."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from puntual.model.errors import InvalidRuleError
from puntual.model.instant import SECOND, Instant, format_instant, parse_instant
from puntual.timing import phrase
from puntual.timing import rule as rules
from puntual.timing.clock import day_text
from puntual.timing.options import Read, RuleOptions, interval_of, midnight_before
from puntual.timing.wallclock import parse_wall
from puntual.timing.zone import load_zone

_ZONE_BEHIND: Final = re.compile(r"\s*\(([\w/+-]+)\)\s*$", re.ASCII)
_ZONE_IN_WORDS: Final = re.compile(
    r"(?<!\w)(?:(?:Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Europe|Indian|Pacific|Etc|US)/[\w/+-]+"
    r"|(?:UTC|GMT)(?:[+-]\d{1,2}(?::?\d\d)?)?|CES?T|[ECMP][SD]T|BST)(?![\w:])",
    re.ASCII | re.IGNORECASE,
)


def read_spoken(text: str, options: RuleOptions) -> Read:
    """The rule of a phrase.

    Raises:
        InvalidRuleError: it cannot be read, could mean two things, counts from nowhere, or never fires.
    """
    zoned = False
    zone = _ZONE_BEHIND.search(text)
    if zone is not None:
        # A sentence that puntual printed ends so.
        if zone[1] != options.timezone:
            raise InvalidRuleError(
                f"the phrase names the zone {zone[1]}, but its zone is {options.timezone}: say it with timezone",
                column=zone.start(1) + 1,
            )
        text, zoned = text[: zone.start()], True
    if (named := _ZONE_IN_WORDS.search(text)) is not None:
        raise InvalidRuleError(
            f"a phrase names no zone, so {named[0]!r} is no part of it: say the zone with timezone: or --timezone",
            column=named.start() + 1,
        )
    meaning = phrase.read(text, options.lang)
    anchor = _anchor_of(meaning, options)
    if meaning.alone:
        return interval_of(meaning.every_us, msgspec.structs.replace(options, anchor=anchor))._replace(
            spoken=True, zoned=zoned
        )
    cycles = phrase.needs_anchor(meaning)
    if cycles and anchor is None:
        raise _unanchored(meaning, options)
    if meaning.since is not None and not cycles:
        raise InvalidRuleError(
            f"nothing counts from {meaning.since}: only a period or a cycle does, "
            "such as 'every 2 weeks on monday at 9:00'"
        )
    local = _local_date(anchor, options) if cycles and anchor is not None else None
    rule = phrase.rule_of(meaning, local, options.dst_gap, options.dst_fold)
    try:
        rules.compile(rules.Timetable(rule=rule))
    except InvalidRuleError as error:
        raise InvalidRuleError(error.message, column=1) from error
    return Read(rule, anchored=cycles, spoken=True, zoned=zoned)


def _anchor_of(meaning: phrase.Meaning, options: RuleOptions) -> Instant | None:
    """The anchor that the phrase says, or that of the options; they may not differ."""
    if meaning.since is None:
        return options.anchor
    since = meaning.since.upper()
    if re.search(r"(?:Z|[+-]\d\d:\d\d)$", since, re.ASCII) and len(since) > 10:
        anchor = parse_instant(since)
    else:
        wall = parse_wall(since if len(since) > 10 else f"{since}T00:00")
        anchor = load_zone(options.timezone).resolve(wall, "boundary", "first")[0] * SECOND
    if options.anchor not in (None, anchor):
        raise InvalidRuleError("the phrase counts from another time than anchor says: keep one of them", field="anchor")
    return anchor


def _unanchored(meaning: phrase.Meaning, options: RuleOptions) -> InvalidRuleError:
    """The refusal of a cycle without an anchor, with the line for each of the next starts."""
    count, unit = (meaning.cycle.count, meaning.cycle.unit) if meaning.cycle else (2, "day")
    zone, today = load_zone(options.timezone), _local_date(midnight_before(options), options)
    shown: dict[str, None] = {}
    for ahead in range(min(count, 3)):
        start = phrase.start_of(meaning, today, ahead)
        instant = zone.resolve(parse_wall(f"{start}T00:00"), "boundary", "first")[0] * SECOND
        shown[f"anchor: {format_instant(instant)}"] = None
    return InvalidRuleError(
        f"it is not said from when on every {count} {unit}s are counted, so add {' or '.join(shown)}",
        field="anchor",
        column=meaning.column,
    )


def _local_date(instant: Instant, options: RuleOptions) -> str:
    return day_text((instant // SECOND + load_zone(options.timezone).offset(instant)) // 86_400)
