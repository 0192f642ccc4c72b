"""What a schedule stores about when it is due, and the compiled form that answers fast.

A rule is data: its JSON, read again, gives the same ticks. Cron keeps its text and its declared dialect and is parsed
anew; what ``H`` was spread by is kept beside it, so that renaming a schedule does not move it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, TypeAlias

import msgspec

from puntual.model.errors import InvalidRuleError
from puntual.model.instant import SECOND, Instant
from puntual.timing.calendar import CalendarDays, Otherwise
from puntual.timing.clock import ClockRule, clock_pattern, day_number
from puntual.timing.closures import ClosedTimes, OpenDays, Window
from puntual.timing.combine import NOTHING, Days, WallPart, Without, combined, counted
from puntual.timing.cron.engine import CronTicks
from puntual.timing.cron.fields import CronDialect
from puntual.timing.cron.grammar import parse_cron
from puntual.timing.interval import IntervalTicks
from puntual.timing.merge import BoundedTicks, ListedTicks, Ticks
from puntual.timing.mix import Layer, SpanDays, clock_layer, cron_layer, masks_of, moment_layer
from puntual.timing.moved import Moves, not_moved
from puntual.timing.recurrence.rule import RruleRule, bounded_pattern, from_start_to_end, rrule_pattern
from puntual.timing.wallclock import parse_wall
from puntual.timing.zone import Fold, Gap, Zone, load_zone

#: How many closed stretches a look for an open tick passes over: forty years of weeks, or a day closed by the minute.
_STRETCHES: Final = 2_000


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


PlainRule: TypeAlias = CronRule | IntervalRule | OnceRule | ClockRule | RruleRule


class AnyRule(msgspec.Struct, frozen=True, kw_only=True, tag="any"):
    """Several rules as one: it is due when any of them is, once where they agree."""

    rules: tuple[PlainRule, ...]


class DaysRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="days"):
    """Whole days: from ``first`` to ``last``, both included, like ``2026-12-24``; or else those that a rule names.

    The other fields are those of a `ClockRule`.
    """

    first: str = ""
    last: str = ""
    day: str = "*"
    month: str = "*"
    weekday: str = "*"
    working_days: tuple[int, ...] = ()
    cycle_days: int = 0
    anchor: str = ""


class SelectRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="select"):
    """Some of the ticks of a rule, selected step by step.

    1. those that nothing in ``without`` takes away: whole days, or times that coincide;
    2. of these, from ``counted_from`` on, the first and each ``every_nth`` one after it;
    3. of these, the first ``max_ticks``.

    Where something is counted, there is no tick before ``counted_from``. The bounds of the timetable come last.
    """

    rule: PlainRule | AnyRule
    without: tuple[PlainRule | DaysRule, ...] = ()
    every_nth: int = 1
    max_ticks: int | None = None
    counted_from: Instant | None = None


Rule: TypeAlias = PlainRule | AnyRule | SelectRule


class Blackout(msgspec.Struct, frozen=True, kw_only=True):
    """Times in which nothing runs: each begins at a tick of ``rule`` and lasts ``for_us``, its end not included."""

    rule: Rule
    for_us: int


class Closures(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """When the ticks of a rule make no run, although they are its ticks.

    A day is open if it is in one of ``include`` (or none is named) and in none of ``exclude``; ``calendars`` has what
    each of those names meant when the schedule was written or the calendar changed. Days are those of the timetable's
    zone.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    otherwise: Otherwise = "skip"
    calendars: tuple[CalendarDays, ...] = ()
    blackouts: tuple[Blackout, ...] = ()


class Timetable(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A rule in an IANA zone, between ``start`` and ``end`` (both included) where they are given.

    ``closures`` says when its ticks make no run.
    """

    rule: Rule
    timezone: str = "UTC"
    start: Instant | None = None
    end: Instant | None = None
    closures: Closures | None = None


def read_timetable(text: str) -> Timetable:
    """A timetable as it is stored.

    Raises:
        InvalidRuleError: it cannot be read: a newer version may have written it.
    """
    try:
        return msgspec.json.decode(text, type=Timetable)
    except msgspec.MsgspecError as error:
        raise InvalidRuleError(f"this version of puntual cannot read the rule: {error}") from error


class Compiled:
    """A timetable ready to be asked; immutable, and safe to share between threads.

    ``next``, ``previous`` and ``count`` are the methods of `Ticks`, bound here so that asking costs one call. They know
    all ticks; ``closed`` says which of them make no run, and is None where all do.
    """

    def __init__(self, timetable: Timetable, ticks: Ticks, closed: ClosedTimes | None = None) -> None:
        self.timetable = timetable
        self.next = ticks.next
        self.previous = ticks.previous
        self.count = ticks.count
        self.closed = closed

    def open_next(self, after: Instant) -> Instant | None:
        """The earliest tick strictly later than ``after`` that nothing closes; None if a long look finds none."""
        tick = self.next(after)
        if self.closed is None:
            return tick
        for _ in range(_STRETCHES):
            if tick is None or self.closed.reason(tick) is None:
                return tick
            edge = self.closed.until(tick)
            tick = None if edge is None else self.next(edge - 1)
        return None

    def open_previous(self, at: Instant) -> Instant | None:
        """The latest tick at or before an instant that nothing closes; None if a long look finds none."""
        tick = self.previous(at)
        if self.closed is None:
            return tick
        for _ in range(_STRETCHES):
            if tick is None or self.closed.reason(tick) is None:
                return tick
            tick = self.previous(self.closed.since(tick) - 1)
        return None

    def open_count(self, after: Instant, until: Instant, cap: int) -> int:
        """How many ticks that nothing closes lie after ``after`` and up to ``until``, exact up to ``cap``."""
        if self.closed is None:
            return self.count(after, until, cap)
        total = 0
        tick = self.next(after)
        while tick is not None and tick <= until and total < cap:
            edge = self.closed.until(tick)
            end = until if edge is None else min(until, edge - 1)
            if self.closed.reason(tick) is None:
                total += self.count(tick - 1, end, cap - total)
            tick = self.next(end)
        return total

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
    zone = load_zone(timetable.timezone)
    closures = timetable.closures
    moves = (
        None if closures is None or closures.otherwise == "skip" else Moves(_open_days(closures), closures.otherwise)
    )
    ticks = _ticks(timetable.rule, zone, moves)
    if timetable.start is not None or timetable.end is not None:
        ticks = BoundedTicks(ticks, timetable.start, timetable.end)
    return Compiled(timetable, ticks, None if closures is None else _closed_times(closures, zone))


def policies(rule: CronRule | ClockRule | RruleRule, *, elapsed: bool) -> tuple[Gap, Fold]:
    """What a rule does at clock changes: what it says, or what is usual for elapsed time and for fixed times."""
    return rule.dst_gap or ("skip" if elapsed else "boundary"), rule.dst_fold or ("both" if elapsed else "first")


def _ticks(rule: Rule, zone: Zone, moves: Moves | None = None) -> Ticks:
    match rule:
        case AnyRule():
            return combined([_part(part, zone, moves) for part in rule.rules], NOTHING, zone, moves)
        case SelectRule():
            return _selected(rule, zone, moves)
        case _ if moves is not None:
            return combined([_part(rule, zone, moves)], NOTHING, zone, moves)
        case _:
            return _plain(rule, zone)


def _plain(rule: PlainRule, zone: Zone) -> Ticks:
    match rule:
        case CronRule():
            spec = parse_cron(rule.expr, rule.dialect, rule.hash_key)
            gap, fold = policies(rule, elapsed=spec.elapsed)
            return CronTicks(spec.pattern(), zone, gap, fold)
        case ClockRule():
            gap, fold = policies(rule, elapsed=rule.elapsed)
            return CronTicks(clock_pattern(rule), zone, gap, fold)
        case RruleRule():
            gap, fold = policies(rule, elapsed=rule.elapsed)
            return from_start_to_end(rule, CronTicks(rrule_pattern(rule.expr, rule.dtstart), zone, gap, fold), zone)
        case IntervalRule():
            return IntervalTicks(rule.period_us, rule.anchor)
        case OnceRule(instant=int(instant)):
            return ListedTicks((instant,))
        case OnceRule():
            seconds = zone.resolve(_wall_of(rule, zone), rule.dst_gap or "boundary", rule.dst_fold or "first")
            return ListedTicks(tuple(second * SECOND for second in seconds))


def parts_of(rule: Rule) -> tuple[PlainRule, ...]:
    """The plain rules that a rule is made of, its exceptions left out."""
    plain = rule.rule if isinstance(rule, SelectRule) else rule
    return plain.rules if isinstance(plain, AnyRule) else (plain,)


def days_of(rule: DaysRule) -> ClockRule:
    """Days that a rule names, as a clock rule of their midnights."""
    return ClockRule(
        at=("00:00",),
        day=rule.day,
        month=rule.month,
        weekday=rule.weekday,
        working_days=rule.working_days,
        cycle_days=rule.cycle_days,
        anchor=rule.anchor,
    )


def _selected(rule: SelectRule, zone: Zone, moves: Moves | None) -> Ticks:
    without = Without()
    for each in rule.without:
        without = without.also(_exception(each, zone, moves))
    ticks = combined([_part(part, zone, moves) for part in parts_of(rule)], without, zone, moves)
    if rule.every_nth == 1 and rule.max_ticks is None:
        return ticks
    if rule.counted_from is None:
        raise InvalidRuleError("what is counted needs a start to be counted from", field="start")
    return counted(ticks, rule.every_nth, rule.max_ticks, rule.counted_from)


def _part(rule: PlainRule, zone: Zone, moves: Moves | None) -> WallPart | Ticks:
    match rule:
        case CronRule():
            spec = parse_cron(rule.expr, rule.dialect, rule.hash_key)
            return WallPart(cron_layer(spec), *policies(rule, elapsed=spec.elapsed), spec.elapsed)
        case ClockRule():
            return WallPart(clock_layer(rule), *policies(rule, elapsed=rule.elapsed), rule.elapsed)
        case OnceRule() if moves is not None:
            layer = moment_layer(_wall_of(rule, zone))
            return WallPart(layer, rule.dst_gap or "boundary", rule.dst_fold or "first", elapsed=False)
        case RruleRule() if moves is not None:
            gap, fold = policies(rule, elapsed=rule.elapsed)
            ticks = CronTicks(rrule_pattern(rule.expr, rule.dtstart), zone, gap, fold)
            return WallPart(bounded_pattern(rule, ticks, zone), gap, fold, rule.elapsed)
        case IntervalRule() if moves is not None:
            raise not_moved()
        case _:
            return _plain(rule, zone)


def _exception(rule: PlainRule | DaysRule, zone: Zone, moves: Moves | None) -> Days | Layer | WallPart | Ticks:
    match rule:
        case IntervalRule() if moves is not None:
            raise InvalidRuleError(
                "an interval takes nothing away from ticks that move: write that exception as times of the day",
                field="except",
            )
        case DaysRule(first=""):
            return masks_of(days_of(rule))
        case DaysRule():
            return SpanDays(day_number(rule.first), day_number(rule.last))
        case _:
            return _part(rule, zone, moves)


def _wall_of(rule: OnceRule, zone: Zone) -> int:
    if rule.instant is None:
        return parse_wall(rule.wall or "")
    return rule.instant // SECOND + zone.offset(rule.instant)


def _open_days(closures: Closures) -> OpenDays:
    known = {each.name: each for each in closures.calendars}
    include, exclude = (tuple(known[name] for name in names) for names in (closures.include, closures.exclude))
    return OpenDays(include, exclude, business=closures.otherwise != "skip")


def _closed_times(closures: Closures, zone: Zone) -> ClosedTimes | None:
    named = closures.include or closures.exclude
    # Where ticks move off closed days, no day closes a tick.
    days = _open_days(closures) if named and closures.otherwise == "skip" else None
    windows = tuple(Window(_ticks(each.rule, zone), each.for_us) for each in closures.blackouts)
    return ClosedTimes(days, windows, zone) if days is not None or windows else None
