"""Several wall clock patterns as one: what any of them matches and none of some others takes away, still multiplied.

The days of a year fall into a few classes, by which of the patterns have them; all days of one class have the same
times of day. So the next match is a look at two masks, a count is days times times, and a mix of which nothing is left
provably never matches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from puntual.timing.clock import ClockRule, CycleDays, clock_spec, cycle_of
from puntual.timing.cron.days import ALL_DAYS, ALL_WEEKDAYS, YEAR_KINDS, DayRule, year_masks, year_of, year_start
from puntual.timing.cron.grammar import CronSpec

_DAY: Final = 86_400
_MINUTES: Final = 1_440
_ALL_MINUTES: Final = (1 << _MINUTES) - 1
_ALL_SECONDS: Final = (1 << _DAY) - 1
_FIRST_YEAR: Final = 1
_LAST_YEAR: Final = 9_999
_CYCLE: Final = 400
_KEPT: Final = 64
"""So many years are kept worked out; more are asked of only by counts over ages."""


class DayMasks(Protocol):
    """Days, a mask of each year's: bit 0 is 1 January.

    ``special`` are the first and the last year of those that are named, where some are; ``yearly`` says that, these
    apart, the kind of year decides alone.
    """

    yearly: bool
    special: tuple[int, int] | None

    def mask(self, year: int) -> int:
        """The days of a year."""
        ...


class RuleDays:
    """The days of a rule for days, in all years or in some."""

    __slots__ = ("_masks", "_years", "special", "yearly")

    def __init__(self, rule: DayRule, years: tuple[int, ...] = ()) -> None:
        self._masks = year_masks(rule)
        self._years = frozenset(years)
        self.yearly = True
        self.special: tuple[int, int] | None = (years[0], years[-1]) if years else None

    def mask(self, year: int) -> int:
        """The days of a year."""
        return 0 if self._years and year not in self._years else self._masks[YEAR_KINDS[year % 400]]


EVERY_DAY: Final = RuleDays(DayRule(days=ALL_DAYS, weekdays=ALL_WEEKDAYS))


class SpanDays:
    """All days from one to another, both included, as days since 1970."""

    __slots__ = ("_first", "_last", "special", "yearly")

    def __init__(self, first: int, last: int) -> None:
        self._first, self._last = first, last
        self.yearly = True
        self.special: tuple[int, int] | None = (year_of(first)[0], year_of(last)[0])

    def mask(self, year: int) -> int:
        """The days of a year."""
        start, end = year_start(year), year_start(year + 1)
        low, high = max(self._first, start), min(self._last + 1, end)
        return ((1 << (high - low)) - 1) << (low - start) if low < high else 0


class Layer(NamedTuple):
    """One pattern as days and the times that each of them has.

    ``minutes`` has a bit for each minute of the day that matches on its first second; ``seconds`` one for each second,
    where others than the first ones of minutes do.
    """

    days: DayMasks
    minutes: int
    seconds: int | None = None


def cron_layer(spec: CronSpec) -> Layer:
    """The pattern of a cron expression."""
    minutes = 0
    for hour in _bits(spec.hour.mask):
        minutes |= spec.minute.mask << 60 * hour
    days = RuleDays(spec.days, spec.years)
    if spec.second.mask == 1:
        return Layer(days, minutes)
    an_hour = seconds = 0
    for minute in _bits(spec.minute.mask):
        an_hour |= spec.second.mask << 60 * minute
    for hour in _bits(spec.hour.mask):
        seconds |= an_hour << 3_600 * hour
    return Layer(days, minutes if spec.second.mask & 1 else 0, seconds)


def clock_layer(rule: ClockRule) -> Layer:
    """The pattern of a clock rule.

    Raises:
        InvalidRuleError: a part of it is wrong.
    """
    times = clock_spec(rule).times
    minutes = _mask(_MINUTES, (time // 60 for time in times if not time % 60))
    seconds = _mask(_DAY, times) if any(time % 60 for time in times) else None
    return Layer(masks_of(rule), minutes, seconds)


def moment_layer(wall: int) -> Layer:
    """One wall second."""
    day, time = divmod(wall, _DAY)
    return Layer(SpanDays(day, day), 0 if time % 60 else 1 << time // 60, 1 << time if time % 60 else None)


def masks_of(rule: ClockRule) -> RuleDays | CycleDays:
    """The days of a clock rule.

    Raises:
        InvalidRuleError: a part of it is wrong.
    """
    days = clock_spec(rule).days
    return cycle_of(rule, days) if rule.cycle_days else RuleDays(days)


def whole_days(days: DayMasks) -> Layer:
    """Every second of some days."""
    return Layer(days, _ALL_MINUTES, _ALL_SECONDS)


def midnights(days: DayMasks) -> Layer:
    """The first second of some days."""
    return Layer(days, 1)


class _Class(NamedTuple):
    """Days of a year that have the same times."""

    days: int
    times: int


class _Year(NamedTuple):
    days: int
    """Those that have any time."""
    classes: tuple[_Class, ...]


class MixedPattern:
    """What any of some layers matches, without what any of some others does.

    Args:
        layers: what may match.
        without: what is taken away from it.
    """

    __slots__ = ("_known", "_layers", "_reach", "_special", "_unit", "_without", "_yearly")

    def __init__(self, layers: Sequence[Layer], without: Sequence[Layer] = ()) -> None:
        # Where all that may match are whole minutes, the masks have a bit for each of these only.
        self._unit = 60 if all(layer.seconds is None for layer in layers) else 1
        self._layers = [(layer.days, self._times(layer)) for layer in layers]
        self._without = [(layer.days, self._times(layer)) for layer in without]
        masks = [days for days, _ in (*self._layers, *self._without)]
        self._yearly = all(days.yearly for days in masks)
        named = [days.special for days in masks if days.special is not None]
        self._special = (min(first for first, _ in named), max(last for _, last in named)) if named else None
        # Where all that may match is in years that are named, there is nothing to look for beyond them.
        self._reach = 0 if all(days.special is not None for days, _ in self._layers) else _CYCLE
        self._known: dict[int, _Year] = {}

    def ever_matches(self) -> bool:
        """Whether any date of any year matches."""
        return self.first(year_start(_FIRST_YEAR) * _DAY) is not None

    def first(self, wall: int) -> int | None:
        """The earliest match at or after a wall second."""
        day, time = divmod(wall, _DAY)
        year, start = year_of(day)
        found = self._year(year)
        if found.days >> (day - start) & 1:
            place = -(-time // self._unit)
            ahead = _times_of(found, day - start) >> place
            if ahead:
                return day * _DAY + (place + _lowest(ahead)) * self._unit
        later = found.days >> (day - start + 1)
        if later:
            return self._opening(found, start, day - start + 1 + _lowest(later))
        furthest = min(max(year, self._special[1] if self._special else year) + self._reach, _LAST_YEAR)
        for other in range(max(year + 1, _FIRST_YEAR), furthest + 1):
            found = self._year(other)
            if found.days:
                return self._opening(found, year_start(other), _lowest(found.days))
        return None

    def last(self, wall: int) -> int | None:
        """The latest match at or before a wall second."""
        day, time = divmod(wall, _DAY)
        year, start = year_of(day)
        found = self._year(year)
        if found.days >> (day - start) & 1:
            behind = _times_of(found, day - start) & ((2 << time // self._unit) - 1)
            if behind:
                return day * _DAY + (behind.bit_length() - 1) * self._unit
        earlier = found.days & ((1 << (day - start)) - 1)
        if earlier:
            return self._closing(found, start, earlier.bit_length() - 1)
        furthest = max(min(year, self._special[0] if self._special else year) - self._reach, _FIRST_YEAR)
        for other in range(min(year - 1, _LAST_YEAR), furthest - 1, -1):
            found = self._year(other)
            if found.days:
                return self._closing(found, year_start(other), found.days.bit_length() - 1)
        return None

    def count(self, low: int, high: int) -> int:
        """How many matches lie from one wall second up to but not including another; multiplies days."""
        if low >= high:
            return 0
        low_day, high_day = low // _DAY, high // _DAY
        total = self._in_day(high_day, high % _DAY) - self._in_day(low_day, low % _DAY)
        for year in range(year_of(low_day)[0], year_of(high_day)[0] + 1):
            start, end = year_start(year), year_start(year + 1)
            first, last = max(low_day, start) - start, min(high_day, end) - start
            days = ((1 << (last - first)) - 1) << first
            total += sum((each.days & days).bit_count() * each.times.bit_count() for each in self._year(year).classes)
        return total

    def _in_day(self, day: int, time: int) -> int:
        """How many matches a day has before a time of day."""
        if not time:
            return 0
        year, start = year_of(day)
        return (_times_of(self._year(year), day - start) & ((1 << -(-time // self._unit)) - 1)).bit_count()

    def _opening(self, year: _Year, start: int, place: int) -> int:
        return (start + place) * _DAY + _lowest(_times_of(year, place)) * self._unit

    def _closing(self, year: _Year, start: int, place: int) -> int:
        return (start + place) * _DAY + (_times_of(year, place).bit_length() - 1) * self._unit

    def _times(self, layer: Layer) -> int:
        if self._unit == 60:
            return layer.minutes
        if layer.seconds is not None:
            return layer.seconds
        return _mask(_DAY, (60 * minute for minute in _bits(layer.minutes)))

    def _year(self, year: int) -> _Year:
        special = self._special is not None and self._special[0] <= year <= self._special[1]
        key = year if special or not self._yearly else -1 - YEAR_KINDS[year % 400]
        found = self._known.get(key)
        if found is None:
            found = self._classify(year)
            if len(self._known) >= _KEPT:
                self._known = {}
            self._known[key] = found
        return found

    def _classify(self, year: int) -> _Year:
        whole = (1 << (year_start(year + 1) - year_start(year))) - 1
        classes = {0: whole}
        for days, times in self._layers:
            classes = _split(classes, days.mask(year), times, 0)
        for days, times in self._without:
            classes = _split(classes, days.mask(year), 0, times)
        classes.pop(0, None)
        found = tuple(_Class(days, times) for times, days in classes.items())
        return _Year(sum(each.days for each in found), found)


def _split(classes: dict[int, int], mask: int, more: int, less: int) -> dict[int, int]:
    """Classes (days by times) after the days of a mask have got some times and lost some."""
    found: dict[int, int] = {}
    for times, days in classes.items():
        for some, had in ((days & mask, (times | more) & ~less), (days & ~mask, times)):
            if some:
                found[had] = found.get(had, 0) | some
    return found


def _times_of(year: _Year, place: int) -> int:
    return next((each.times for each in year.classes if each.days >> place & 1), 0)


def _mask(size: int, places: Iterable[int]) -> int:
    """The number with these bits."""
    marks = bytearray(size // 8)
    for place in places:
        marks[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(marks, "little")


def _bits(mask: int) -> list[int]:
    return [place for place in range(mask.bit_length()) if mask >> place & 1]


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1
