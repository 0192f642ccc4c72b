"""Several rules become the ticks of one, without their exceptions; wall clock patterns are mixed, all else is merged.

What an exception takes away: days, all that falls on them; a wall clock pattern, what it has at the same time on the
wall, before a clock change moves either; an instant, the tick at it. Where ticks move off closed days, all of it is
taken away on the wall, before they do. Patterns that clock changes treat alike become one
pattern, so that they still are multiplied and never walked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from puntual.model.errors import InvalidRuleError
from puntual.model.instant import DAY, Instant
from puntual.model.said import said
from puntual.timing.clock import CycleDays
from puntual.timing.cron.engine import CronTicks
from puntual.timing.cron.wall import Pattern
from puntual.timing.merge import BoundedTicks, ListedTicks, Ticks, UnionTicks, merged
from puntual.timing.mix import EVERY_DAY, Layer, MixedPattern, RuleDays, SpanDays, midnights, whole_days
from puntual.timing.moved import Moves, moved
from puntual.timing.narrow import ApartPattern
from puntual.timing.select import ApartTicks, NthTicks, OutsideTicks, nth_after
from puntual.timing.zone import Fold, Gap, Zone

MOST_NTH: Final = 10_000
MOST_TICKS: Final = 1_000_000
_YEAR: Final = 366 * DAY
_MOST_WALKED: Final = 10_000
"""So many ticks a year may have to be walked to count the others; ten years of them take a second, once."""
_MINUTELY: Final = 366 * 1_440


class WallPart(NamedTuple):
    """A rule that is a wall clock pattern, with what it does at clock changes; a layer can be mixed with others."""

    layer: Layer | Pattern
    gap: Gap
    fold: Fold
    elapsed: bool


Days: TypeAlias = RuleDays | SpanDays | CycleDays


class Without(NamedTuple):
    """What is taken away: whole days, times on the wall, and instants.

    Where ticks move there are no instants: what is taken away is taken before them.
    """

    days: tuple[Days, ...] = ()
    layers: tuple[Layer, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    ticks: tuple[Ticks, ...] = ()

    def also(self, more: Days | Layer | WallPart | Ticks) -> Without:
        """This and one thing more; of a rule on the wall, its pattern."""
        if isinstance(more, WallPart):
            if isinstance(more.layer, Layer):
                return self.also(more.layer)
            return self._replace(patterns=(*self.patterns, more.layer))
        if isinstance(more, Layer):
            return self._replace(layers=(*self.layers, more))
        if isinstance(more, Days):
            return self._replace(days=(*self.days, more))
        return self._replace(ticks=(*self.ticks, more))


NOTHING: Final = Without()


def combined(parts: Sequence[WallPart | Ticks], without: Without, zone: Zone, moves: Moves | None) -> Ticks:
    """The ticks of any of some rules that no exception takes away.

    Args:
        parts: the rules.
        without: the exceptions; they speak of the days and times before ``moves``.
        zone: whose wall clock it is.
        moves: where what falls on a closed day goes.

    Raises:
        InvalidRuleError: both a rule and what is taken from it by the instant come more often than each minute; or a
            rule that repeats within the day is to be moved.
    """
    alike: dict[tuple[Gap, Fold, bool], list[Layer]] = {}
    found: list[Ticks] = []
    away = (*map(whole_days, without.days), *without.layers)
    patterns: list[tuple[tuple[Gap, Fold, bool], Pattern]] = []
    for part in parts:
        if not isinstance(part, WallPart):
            found.append(_instants_without(part, without, zone))
        elif isinstance(part.layer, Layer):
            alike.setdefault((part.gap, part.fold, part.elapsed), []).append(part.layer)
        else:
            rest = ApartPattern(part.layer, [MixedPattern(away)]) if away else part.layer
            patterns.append(((part.gap, part.fold, part.elapsed), rest))
    patterns += [(policies, MixedPattern(layers, away)) for policies, layers in alike.items()]
    for (gap, fold, elapsed), whole in patterns:
        pattern = ApartPattern(whole, without.patterns) if without.patterns else whole
        # What leaves nothing is known here, so that nobody looks for it up to the year 9999.
        if pattern.ever_matches():
            found.append(CronTicks(moved(pattern, moves, elapsed=elapsed), zone, gap, fold))
    if not found:
        return ListedTicks(())
    ticks = merged(found)
    return _apart(ticks, merged(without.ticks)) if without.ticks else ticks


def counted(ticks: Ticks, every_nth: int, max_ticks: int | None, since: Instant) -> Ticks:
    """The first tick from ``since`` on and each n-th after it; of these the first ``max_ticks``.

    Raises:
        InvalidRuleError: there is more to count than can be; or it comes so often that it cannot be counted.
    """
    for field, number, most in (("every_nth", every_nth, MOST_NTH), ("max_ticks", max_ticks, MOST_TICKS)):
        if number is not None and not 1 <= number <= most:
            raise InvalidRuleError(
                said("{field} is a whole number from 1 to {most}", field=field, most=most), field=field
            )
    if isinstance(ticks, UnionTicks | ApartTicks) and ticks.walked(since, since + _YEAR) > _MOST_WALKED:
        raise InvalidRuleError(
            said(
                "rules of such different kinds have too many ticks to be counted: write intervals as times of the day, "
                "or leave every_nth and max_ticks out"
            ),
            field="every_nth" if every_nth > 1 else "max_ticks",
        )
    if every_nth > 1:
        ticks = NthTicks(ticks, every_nth, since)
    last = None if max_ticks is None else nth_after(ticks, since - 1, max_ticks)
    return BoundedTicks(ticks, since, last)


def _instants_without(ticks: Ticks, without: Without, zone: Zone) -> Ticks:
    """Ticks that are no pattern, outside of the days and apart from the times that are taken away."""
    if without.days:
        closed = [midnights(days) for days in without.days]
        ticks = OutsideTicks(ticks, MixedPattern(closed), MixedPattern([midnights(EVERY_DAY)], closed), zone)
    if without.layers:
        ticks = _apart(ticks, CronTicks(MixedPattern(without.layers), zone, "skip", "both"))
    return ticks


def _apart(ticks: Ticks, removed: Ticks) -> Ticks:
    if min(each.count(0, _YEAR, _MINUTELY + 1) for each in (ticks, removed)) > _MINUTELY:
        raise InvalidRuleError(
            said(
                "a rule with more than a tick a minute has no exceptions that come as often: take whole days away, or "
                "write both as times of the day"
            ),
            field="except",
        )
    return ApartTicks(ticks, removed)
