"""What a rule's text does not say itself, and the rule that text and options make together."""

from __future__ import annotations

import re
from datetime import date
from typing import Final, NamedTuple

import msgspec

from puntual.model.duration import LONGEST, format_duration
from puntual.model.errors import InvalidRuleError
from puntual.model.instant import DAY, SECOND, Instant, format_instant
from puntual.model.said import said
from puntual.timing import rule as rules
from puntual.timing.messages import CATALOGUES
from puntual.timing.zone import Fold, Gap, load_zone

SHORTEST_PERIOD: Final = SECOND

_EPOCH: Final = date(1970, 1, 1)
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


class RuleOptions(msgspec.Struct, frozen=True, kw_only=True):
    """All that a rule's text does not say itself.

    Args:
        now: when the rule is written; default anchors refer to it.
        warn_from: from when on clock changes are warned of; None: from ``now``.
        zone_given: whether somebody chose ``timezone``; if nobody did, a rule that names an hour is warned about.
        lang: the language of phrases; None: the one in which the phrase can be read.
        language: in which refusals and warnings are said; None: that of phrases, or English.
        hash_key: what ``H`` is spread by, the schedule's name.
        start, end: the bounds of the timetable, both included.
        without: what the rule leaves out: dates, times, days or rules, each as it was written.
        every_nth, max_ticks: which of its ticks stay, counted from ``start``, or from ``now`` without one.
    """

    now: Instant
    warn_from: Instant | None = None
    timezone: str = "UTC"
    zone_given: bool = True
    anchor: Instant | None = None
    dst_gap: Gap | None = None
    dst_fold: Fold | None = None
    lang: str | None = None
    language: str | None = None
    hash_key: str = ""
    start: Instant | None = None
    end: Instant | None = None
    without: tuple[str, ...] = ()
    every_nth: int = 1
    max_ticks: int | None = None

    @property
    def tongue(self) -> str:
        """The language in which whoever wrote the rule is told what is wrong with it."""
        wanted = self.language or self.lang or ""
        return wanted if wanted in CATALOGUES else "en"


def alone(options: RuleOptions) -> RuleOptions:
    """The options for a rule that stands beside another one: without what is said of that one only."""
    return msgspec.structs.replace(options, anchor=None, start=None, end=None, without=(), every_nth=1, max_ticks=None)


class Read(NamedTuple):
    """A rule, whether an anchor means anything to it, and whether it came from a phrase, and from one with its zone."""

    rule: rules.PlainRule | rules.AnyRule
    anchored: bool = False
    spoken: bool = False
    zoned: bool = False


def interval_of(period_us: int, options: RuleOptions) -> Read:
    """The interval of a period, anchored where the options say, or at the local midnight before if it divides a day.

    Raises:
        InvalidRuleError: it is shorter than a second, or it needs an anchor; then with the line for each reading.
    """
    if period_us < SHORTEST_PERIOD:
        raise InvalidRuleError(said("the period {period} is too short: at least 1s", period=format_duration(period_us)))
    if period_us > LONGEST:
        raise InvalidRuleError("the period is longer than a hundred years")
    if options.anchor is not None:
        return Read(rules.IntervalRule(period_us=period_us, anchor=options.anchor), anchored=True)
    midnight = midnight_before(options)
    if DAY % period_us:
        now = options.now // SECOND * SECOND
        raise InvalidRuleError(
            said(
                "'every {period}' does not divide a day, so say when it starts: "
                "anchor: {now} (from now) or anchor: {midnight} (from local midnight)",
                period=format_duration(period_us),
                now=format_instant(now),
                midnight=format_instant(midnight),
            ),
            field="anchor",
        )
    return Read(rules.IntervalRule(period_us=period_us, anchor=midnight), anchored=True)


def day_start(text: str, timezone: str, *, field: str | None = None) -> Instant | None:
    """The local midnight of a date such as ``2027-01-31``, or the first instant after it; None if it is no date.

    Raises:
        InvalidRuleError: there is no such day.
        InvalidZoneError: the zone is no IANA name.
    """
    if not _DATE.fullmatch(text):
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError as error:
        raise InvalidRuleError(said("{text!r} is no date: {why}", text=text, why=error), field=field) from error
    wall = (day - _EPOCH).days * 86_400
    return load_zone(timezone).resolve(wall, "boundary", "first")[0] * SECOND


def midnight_before(options: RuleOptions) -> Instant:
    """The local midnight before the rule is written."""
    zone = load_zone(options.timezone)
    wall = options.now // SECOND + zone.offset(options.now)
    return zone.resolve(wall // 86_400 * 86_400, "boundary", "first")[0] * SECOND
