"""The events of an iCalendar as lines with a name, parameters and a value; only those that say on which days they are.

RFC 5545, sections 3.1 and 3.4 to 3.6. Everything else in it (descriptions, alarms, attachments, definitions of zones)
is passed over unread, so that a hostile text costs no more than its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from puntual.model.errors import InvalidError

#: As many events as a calendar of meetings has in many years.
MOST_EVENTS: Final = 50_000
_DEEPEST: Final = 8
_EVENT: Final = ["VCALENDAR", "VEVENT"]
_NEEDED: Final = frozenset(
    {"DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "EXDATE", "RECURRENCE-ID", "STATUS", "UID", "SUMMARY", "EXRULE"}
)
_FOLD: Final = re.compile(r"\r?\n[ \t]")
_PARAMETER: Final = re.compile(r';([A-Za-z0-9-]+)=("[^"]*"|[^;"]*)', re.ASCII)
_NAME: Final = re.compile(r"[A-Za-z0-9-]+", re.ASCII)


class Line(msgspec.Struct, frozen=True):
    """One property: its name and the names of its parameters in capitals."""

    name: str
    parameters: dict[str, str]
    value: str


class Event(msgspec.Struct):
    """The properties of one event, by name; some stand more than once."""

    lines: dict[str, list[Line]] = msgspec.field(default_factory=dict)

    def one(self, name: str) -> Line | None:
        """The first property of that name."""
        found = self.lines.get(name)
        return found[0] if found else None

    def text(self, name: str) -> str:
        """The value of the first property of that name, empty where there is none."""
        line = self.one(name)
        return "" if line is None else line.value

    def wrong(self, why: str) -> InvalidError:
        """The refusal of the whole calendar for the sake of this event."""
        label = self.text("SUMMARY") or self.text("UID") or self.text("DTSTART")
        return InvalidError(f"The event {label[:60]!r} of the iCalendar cannot be used: {why}.", field="ical")


class Contents(msgspec.Struct):
    """The events, and the zone that the calendar is shown in, if it names one."""

    events: list[Event] = msgspec.field(default_factory=list)
    zone: str | None = None


def read_contents(text: str) -> Contents:
    """What an iCalendar says.

    Raises:
        InvalidError: it is none, it breaks off, or it has too many events.
    """
    reader = _Reader()
    for name, line in _lines(text):
        reader.take(name, line)
    if reader.open or not reader.begun:
        raise _no_calendar("it breaks off before its end" if reader.begun else "there is nothing in it")
    return reader.contents


class _Reader:
    """Takes one line after the other; ``open`` are the components that it is inside of."""

    def __init__(self) -> None:
        self.contents = Contents()
        self.open: list[str] = []
        self.begun = False
        self._event = Event()

    def take(self, name: str, line: str) -> None:
        """Takes the next line."""
        if name == "BEGIN":
            self._begin(_component(line))
        elif name == "END":
            self._end(_component(line))
        elif not self.open:
            raise _no_calendar("it does not begin with BEGIN:VCALENDAR")
        elif self.open == _EVENT and name in _NEEDED:
            self._event.lines.setdefault(name, []).append(_line(name, line))
        elif len(self.open) == 1 and name == "X-WR-TIMEZONE":
            self.contents.zone = line.partition(":")[2].strip()

    def _begin(self, component: str) -> None:
        self.open.append(component)
        if self.open[0] != "VCALENDAR":
            raise _no_calendar("it does not begin with BEGIN:VCALENDAR")
        if len(self.open) > _DEEPEST:
            raise _no_calendar(f"it is nested deeper than {_DEEPEST} levels")
        self.begun = True
        if self.open == _EVENT:
            self._event = Event()

    def _end(self, component: str) -> None:
        if self.open == _EVENT and component == "VEVENT":
            self.contents.events.append(self._event)
            if len(self.contents.events) > MOST_EVENTS:
                raise InvalidError(f"The iCalendar has more than {MOST_EVENTS:,} events.", field="ical")
        if not self.open or self.open.pop() != component:
            raise _no_calendar("what begins and what ends in it do not fit together")


def _component(line: str) -> str:
    return line.partition(":")[2].strip().upper()


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """The name of each property in capitals, and its whole line, unfolded."""
    for line in _FOLD.sub("", text.lstrip("\ufeff")).split("\n"):
        stripped = line.strip()
        if not stripped:
            continue
        name = _NAME.match(stripped)
        if name is not None:
            yield name[0].upper(), stripped


def _line(name: str, line: str) -> Line:
    """The parameters and the value: what follows the first colon that is not in quotes."""
    quoted = False
    place = len(line)
    for at, letter in enumerate(line):
        if letter == '"':
            quoted = not quoted
        elif letter == ":" and not quoted:
            place = at
            break
    parameters = {found[1].upper(): found[2].strip('"') for found in _PARAMETER.finditer(line[:place])}
    return Line(name, parameters, line[place + 1 :])


def _no_calendar(why: str) -> InvalidError:
    return InvalidError(f"This is no iCalendar that can be read: {why}.", field="ical")
