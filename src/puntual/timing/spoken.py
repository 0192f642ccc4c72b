"""A phrase and the options that it was written with become a rule; what it counts from is said once, by either."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from puntual.model.errors import InvalidRuleError
from puntual.model.instant import SECOND, Instant, format_instant, parse_instant
from puntual.model.said import Said, either, said
from puntual.timing import phrase
from puntual.timing import rule as rules
from puntual.timing.clock import day_text
from puntual.timing.options import Read, RuleOptions, day_start, interval_of, midnight_before
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
    text, zoned = _without_zone(text, options.timezone)
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
            said(
                "nothing counts from {date}: only a period or a cycle does, such as 'every 2 weeks on monday at 9:00'",
                date=meaning.since,
            )
        )
    local = _local_date(anchor, options) if cycles and anchor is not None else None
    rule = phrase.rule_of(meaning, local, options.dst_gap, options.dst_fold)
    try:
        rules.compile(rules.Timetable(rule=rule))
    except InvalidRuleError as error:
        raise InvalidRuleError(error.said, column=1) from error
    return Read(rule, anchored=cycles, spoken=True, zoned=zoned)


def _without_zone(text: str, timezone: str) -> tuple[str, bool]:
    """The phrase without the zone that stands behind it, and whether one did; it has to be the rule's own."""
    zoned = False
    zone = _ZONE_BEHIND.search(text)
    if zone is not None:
        # A sentence that puntual printed ends so.
        if zone[1] != timezone:
            raise InvalidRuleError(
                said(
                    "the phrase names the zone {zone}, but its zone is {own}: say it with timezone",
                    zone=zone[1],
                    own=timezone,
                ),
                column=zone.start(1) + 1,
            )
        text, zoned = text[: zone.start()], True
    if (named := _ZONE_IN_WORDS.search(text)) is not None:
        raise InvalidRuleError(
            said(
                "a phrase names no zone, so {zone!r} is no part of it: say the zone with timezone: or --timezone",
                zone=named[0],
            ),
            column=named.start() + 1,
        )
    return text, zoned


def _anchor_of(meaning: phrase.Meaning, options: RuleOptions) -> Instant | None:
    """The anchor that the phrase says, or that of the options; they may not differ."""
    if meaning.since is None:
        return options.anchor
    since = meaning.since.upper()
    anchor = day_start(since, options.timezone)
    if anchor is None and re.search(r"(?:Z|[+-]\d\d:\d\d)$", since, re.ASCII):
        anchor = parse_instant(since)
    elif anchor is None:
        anchor = load_zone(options.timezone).resolve(parse_wall(since), "boundary", "first")[0] * SECOND
    if options.anchor not in (None, anchor):
        raise InvalidRuleError("the phrase counts from another time than anchor says: keep one of them", field="anchor")
    return anchor


def _unanchored(meaning: phrase.Meaning, options: RuleOptions) -> InvalidRuleError:
    """The refusal of a cycle without an anchor, with the line for each of the next starts."""
    count, unit = (meaning.cycle.count, meaning.cycle.unit) if meaning.cycle else (2, "day")
    zone, today = load_zone(options.timezone), _local_date(midnight_before(options), options)
    shown: dict[str, Said] = {}
    for ahead in range(min(count, 3)):
        start = phrase.start_of(meaning, today, ahead)
        instant = zone.resolve(parse_wall(f"{start}T00:00"), "boundary", "first")[0] * SECOND
        text = format_instant(instant)
        shown[text] = said("anchor: {instant}", instant=text)
    return InvalidRuleError(
        said(
            "it is not said from when on every {n} {units} are counted, so add {anchors}",
            n=count,
            units=said(f"{unit}s"),
            anchors=either([*shown.values()]),
        ),
        field="anchor",
        column=meaning.column,
    )


def _local_date(instant: Instant, options: RuleOptions) -> str:
    return day_text((instant // SECOND + load_zone(options.timezone).offset(instant)) // 86_400)
