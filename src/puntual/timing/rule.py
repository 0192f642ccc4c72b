"""What a schedule stores about when it is due, and the compiled form that answers fast.

A rule is data: its JSON, read again, gives the same ticks. Cron keeps its text and its declared dialect and is parsed
anew; what ``H`` was spread by is kept beside it, so that renaming a schedule does not move it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

import msgspec

from puntual.model.instant import SECOND, Instant
from puntual.timing.clock import ClockRule, clock_pattern
from puntual.timing.cron.engine import CronTicks
from puntual.timing.cron.fields import CronDialect
from puntual.timing.cron.grammar import parse_cron
from puntual.timing.interval import IntervalTicks
from puntual.timing.merge import BoundedTicks, ListedTicks, Ticks, UnionTicks
from puntual.timing.wallclock import parse_wall
from puntual.timing.zone import Fold, Gap, Zone, load_zone


class CronRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="cron"):
    """A cron expression in its dialect.

    ``dst_gap`` and ``dst_fold`` as None are the defaults: ``boundary`` and ``first`` for fixed times, elapsed time
    (``skip`` and ``both``) where minute or hour is a wildcard.
    """

    expr: str
    dialect: CronDialect
    hash_key: str = ""
    dst_gap: Gap | None = None
    dst_fold: Fold | None = None


class IntervalRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="interval"):
    """Every ``period_us`` on the grid of ``anchor``; elapsed time, so that no clock change concerns it."""

    period_us: int
    anchor: Instant


class OnceRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="once"):
    """One time: either an ``instant``, or a ``wall`` time such as ``2027-01-01T00:00:00`` in the timetable's zone."""

    instant: Instant | None = None
    wall: str | None = None
    dst_gap: Gap | None = None
    dst_fold: Fold | None = None


PlainRule: TypeAlias = CronRule | IntervalRule | OnceRule | ClockRule


class AnyRule(msgspec.Struct, frozen=True, kw_only=True, tag="any"):
    """Several rules as one: it is due when any of them is, once where they agree."""

    rules: tuple[PlainRule, ...]


Rule: TypeAlias = CronRule | IntervalRule | OnceRule | ClockRule | AnyRule


class Timetable(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A rule in an IANA zone, between ``start`` and ``end`` (both included) where they are given."""

    rule: Rule
    timezone: str = "UTC"
    start: Instant | None = None
    end: Instant | None = None


class Compiled:
    """A timetable ready to be asked; immutable, and safe to share between threads.

    ``next``, ``previous`` and ``count`` are the methods of `Ticks`, bound here so that asking costs one call.
    """

    def __init__(self, timetable: Timetable, ticks: Ticks) -> None:
        self.timetable = timetable
        self.next = ticks.next
        self.previous = ticks.previous
        self.count = ticks.count

    def between(self, after: Instant, until: Instant, limit: int) -> list[Instant]:
        """The ticks after ``after`` and up to ``until``, the earliest ``limit`` of them."""
        found: list[Instant] = []
        tick = self.next(after)
        while tick is not None and tick <= until and len(found) < limit:
            found.append(tick)
            tick = self.next(tick)
        return found


@lru_cache(maxsize=8_192)
def compile(timetable: Timetable) -> Compiled:  # noqa: A001 - the verb of the vocabulary; called as `rule.compile`
    """The timetable's compiled form; the same timetable gives the same object while it is in use.

    Raises:
        InvalidRuleError: the rule cannot be read or never fires.
        InvalidZoneError: the zone is not known to this tz database.
    """
    ticks = _ticks(timetable.rule, load_zone(timetable.timezone))
    if timetable.start is not None or timetable.end is not None:
        ticks = BoundedTicks(ticks, timetable.start, timetable.end)
    return Compiled(timetable, ticks)


def policies(rule: CronRule | ClockRule, *, elapsed: bool) -> tuple[Gap, Fold]:
    """What a rule does at clock changes: what it says, or what is usual for elapsed time and for fixed times."""
    return rule.dst_gap or ("skip" if elapsed else "boundary"), rule.dst_fold or ("both" if elapsed else "first")


def _ticks(rule: Rule, zone: Zone) -> Ticks:
    match rule:
        case CronRule():
            spec = parse_cron(rule.expr, rule.dialect, rule.hash_key)
            gap, fold = policies(rule, elapsed=spec.elapsed)
            return CronTicks(spec.pattern(), zone, gap, fold)
        case ClockRule():
            gap, fold = policies(rule, elapsed=rule.elapsed)
            return CronTicks(clock_pattern(rule), zone, gap, fold)
        case IntervalRule():
            return IntervalTicks(rule.period_us, rule.anchor)
        case OnceRule(instant=int(instant)):
            return ListedTicks((instant,))
        case OnceRule():
            seconds = zone.resolve(parse_wall(rule.wall or ""), rule.dst_gap or "boundary", rule.dst_fold or "first")
            return ListedTicks(tuple(second * SECOND for second in seconds))
        case AnyRule():
            return UnionTicks(tuple(_ticks(part, zone) for part in rule.rules))
