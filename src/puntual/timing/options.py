"""What a rule's text does not say itself, and the rule that text and options make together."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from puntual.model.duration import LONGEST, format_duration
from puntual.model.errors import InvalidRuleError
from puntual.model.instant import DAY, SECOND, Instant, format_instant
from puntual.timing import rule as rules
from puntual.timing.zone import Fold, Gap, load_zone

SHORTEST_PERIOD: Final = SECOND


class RuleOptions(msgspec.Struct, frozen=True, kw_only=True):
    """All that a rule's text does not say itself.

    Args:
        now: when the rule is written; default anchors refer to it.
        warn_from: from when on clock changes are warned of; None: from ``now``.
        zone_given: whether somebody chose ``timezone``; if nobody did, a rule that names an hour is warned about.
        lang: the language of phrases; None: the one in which the phrase can be read.
        hash_key: what ``H`` is spread by, the schedule's name.
        start, end: the bounds of the timetable, both included.
    """

    now: Instant
    warn_from: Instant | None = None
    timezone: str = "UTC"
    zone_given: bool = True
    anchor: Instant | None = None
    dst_gap: Gap | None = None
    dst_fold: Fold | None = None
    lang: str | None = None
    hash_key: str = ""
    start: Instant | None = None
    end: Instant | None = None


class Read(NamedTuple):
    """A rule, whether an anchor means anything to it, and whether it came from a phrase, and from one with its zone."""

    rule: rules.Rule
    anchored: bool = False
    spoken: bool = False
    zoned: bool = False


def interval_of(period_us: int, options: RuleOptions) -> Read:
    """The interval of a period, anchored where the options say, or at the local midnight before if it divides a day.

    Raises:
        InvalidRuleError: it is shorter than a second, or it needs an anchor; then with the line for each reading.
    """
    if period_us < SHORTEST_PERIOD:
        raise InvalidRuleError(f"the period {format_duration(period_us)} is too short: at least 1s")
    if period_us > LONGEST:
        raise InvalidRuleError("the period is longer than a hundred years")
    if options.anchor is not None:
        return Read(rules.IntervalRule(period_us=period_us, anchor=options.anchor), anchored=True)
    midnight = midnight_before(options)
    if DAY % period_us:
        now = options.now // SECOND * SECOND
        raise InvalidRuleError(
            f"'every {format_duration(period_us)}' does not divide a day, so say when it starts: "
            f"anchor: {format_instant(now)} (from now) or anchor: {format_instant(midnight)} (from local midnight)",
            field="anchor",
        )
    return Read(rules.IntervalRule(period_us=period_us, anchor=midnight), anchored=True)


def midnight_before(options: RuleOptions) -> Instant:
    """The local midnight before the rule is written."""
    zone = load_zone(options.timezone)
    wall = options.now // SECOND + zone.offset(options.now)
    return zone.resolve(wall // 86_400 * 86_400, "boundary", "first")[0] * SECOND
