"""The days on which the events of an iCalendar lie, within a window, computed in bounded time.

A day is one that the event touches on the clock it was written for; times of UTC are those of the calendar's zone
(``X-WR-TIMEZONE``) where it names one. An event that is cancelled has no days. What cannot be read refuses the whole:
a calendar with a hole in it would let things run on a day on which they must not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from puntual.calendars.lines import Event, Line, read_contents
from puntual.calendars.values import DAY, Moment, duration, moment, shown_in, zone_of
from puntual.calendars.window import Window
from puntual.model.errors import InvalidError, InvalidRuleError
from puntual.timing.cron.wall import Pattern
from puntual.timing.recurrence.complete import completed
from puntual.timing.recurrence.grammar import parse_rrule
from puntual.timing.recurrence.pattern import wall_pattern
from puntual.timing.zone import Zone

#: How many occurrences of repeated events are looked at in one calendar.
MOST_OCCURRENCES: Final = 100_000
#: As many of them a rule counts for: one that is hardly ever due costs a search of centuries to find that out.
_RULE: Final = 10
#: The parts of a rule that end it; the others say when it is due.
_ENDS: Final = re.compile(r"(?:^|;)(COUNT|UNTIL)=([^;]*)", re.ASCII | re.IGNORECASE)


class Span(msgspec.Struct, frozen=True):
    """An event: how it begins, and how many days it touches beyond the first."""

    start: Moment
    more: int


def ical_days(text: str, within: Window) -> set[int]:
    """The days since 1970 that the events lie on.

    Raises:
        InvalidError: it is no iCalendar, an event in it cannot be read, or it has too many.
    """
    contents = read_contents(text)
    reader = _Reader(within, zone_of(contents.zone))
    moved = _moved(contents.events, reader)
    for event in contents.events:
        try:
            reader.take(event, moved)
        except (ValueError, InvalidRuleError) as error:
            raise event.wrong(str(error).rstrip(".")) from None
    return reader.days()


def _moved(events: list[Event], reader: _Reader) -> dict[str, set[int]]:
    """By the id of a repeated event, the days of those occurrences that an event of their own stands for."""
    found: dict[str, set[int]] = {}
    for event in events:
        line = event.one("RECURRENCE-ID")
        if line is not None:
            try:
                found.setdefault(event.text("UID"), set()).add(reader.time(line).day)
            except ValueError as error:
                raise event.wrong(str(error)) from None
    return found


class _Reader:
    """Gathers the days of one event after the other."""

    def __init__(self, within: Window, zone: Zone | None) -> None:
        self._within = within
        self._zone = zone
        self._left = MOST_OCCURRENCES
        # One bit for each day of the window: events may be long, and many.
        self._bits = 0

    def days(self) -> set[int]:
        """The days gathered."""
        return {self._within.first + place for place, bit in enumerate(reversed(f"{self._bits:b}")) if bit == "1"}

    def take(self, event: Event, moved: Mapping[str, set[int]]) -> None:
        """Adds the days of an event."""
        if event.text("STATUS").strip().upper() == "CANCELLED":
            return
        line = event.one("DTSTART")
        if line is None:
            raise ValueError("it does not say when it begins (DTSTART)")
        if "EXRULE" in event.lines:
            raise ValueError("it has an EXRULE, which RFC 5545 has given up")
        start = self.time(line)
        more = self._length(event, start)
        repeated = "RRULE" in event.lines or "RDATE" in event.lines
        left_out = {self.time(line, text).day for line, text in self._items(event, "EXDATE")}
        if repeated:
            left_out |= moved.get(event.text("UID"), set())
        for day in {start.day, *self._dates(event), *self._rules(event, line, Span(start, more))}:
            if day not in left_out:
                self._add(day, more)

    def time(self, line: Line, text: str | None = None) -> Moment:
        """The time of a property, or of one item of it, on the clock that it is shown on."""
        return shown_in(moment(line.value if text is None else text), self._zone)

    def _length(self, event: Event, start: Moment) -> int:
        """How many days an event touches beyond its first: its end does not belong to it."""
        end = event.one("DTEND")
        if end is not None:
            last = self.time(end).wall - 1
        elif (length := event.one("DURATION")) is not None:
            last = start.wall + duration(length.value) - 1
        else:
            return 0
        return max(0, last // DAY - start.day)

    def _dates(self, event: Event) -> Iterator[int]:
        """The days of RDATE; of a period its first is enough, since what repeats is as long as the event."""
        for line, text in self._items(event, "RDATE"):
            yield self.time(line, text.partition("/")[0]).day

    def _rules(self, event: Event, start: Line, span: Span) -> Iterator[int]:
        for line in event.lines.get("RRULE", ()):
            self._spend(_RULE)
            ends = {name.upper(): value for name, value in _ENDS.findall(line.value)}
            pattern = _pattern(_ENDS.sub("", line.value.strip()).strip(";"), span.start.wall)
            if pattern is None:
                continue
            until = self._until(ends.get("UNTIL"), start)
            count = _whole(ends["COUNT"]) if "COUNT" in ends else None
            low = span.start.wall if count is not None else max(span.start.wall, self._first(span) * DAY)
            found = pattern.first(low)
            while found is not None and found <= until and (count is None or count > 0):
                day = found // DAY
                self._spend()
                yield day
                if count is not None:
                    count -= pattern.count(found, (day + 1) * DAY)
                found = pattern.first((day + 1) * DAY)

    def _first(self, span: Span) -> int:
        """The earliest day on which an occurrence may begin and still touch the window."""
        return self._within.first - span.more

    def _until(self, text: str | None, start: Line) -> int:
        """The last wall second on which an occurrence may begin: of a date, the whole day."""
        last = (self._within.last + 1) * DAY - 1
        if text is None:
            return last
        zone = zone_of(start.parameters.get("TZID")) or self._zone
        end = shown_in(moment(text), zone)
        return min(last, end.wall if end.timed else end.wall + DAY - 1)

    def _add(self, day: int, more: int) -> None:
        first, last = max(day, self._within.first), min(day + more, self._within.last)
        if first <= last:
            self._bits |= ((1 << (last - first + 1)) - 1) << (first - self._within.first)

    def _items(self, event: Event, name: str) -> Iterator[tuple[Line, str]]:
        """The items of a property that is a list, and may stand more than once."""
        for line in event.lines.get(name, ()):
            for text in line.value.split(","):
                self._spend()
                yield line, text

    def _spend(self, what: int = 1) -> None:
        self._left -= what
        if self._left < 0:
            raise InvalidError(
                f"The events of the iCalendar repeat more than {MOST_OCCURRENCES:,} times.", field="ical"
            )


def _pattern(rule: str, start: int) -> Pattern | None:
    """When a rule is due, without what ends it; None where it never is: the event then has its first day alone."""
    spec = parse_rrule(rule)
    if spec.within_day:
        raise ValueError(f"it repeats within the day (FREQ={spec.freq}); a calendar has whole days")
    if spec.by_set_pos and (spec.by_hour or spec.by_minute or spec.by_second):
        raise ValueError("its BYSETPOS chooses among times of day; a calendar has whole days")
    try:
        return wall_pattern(completed(spec, start), start)
    except InvalidRuleError:
        return None


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 8 and int(text)):
        raise ValueError(f"COUNT={text[:20]} is no number from 1 to 9,999,999")
    return int(text)
