"""Times of day: ``9:30``, ``9pm``, ``noon``, ``half past nine``, ``las 6 de la tarde``, and the windows between two."""

from __future__ import annotations

from typing import Final, NamedTuple

from puntual.timing.phrase.cursor import Cursor
from puntual.timing.phrase.kinds import Kind

TIMELIKE: Final = (Kind.TIME, Kind.NUMBER, Kind.FIXED, Kind.HALF, Kind.QUARTER)
_HOUR: Final = 3_600


class Clock(NamedTuple):
    """One time: its second of the day, its column, and whether a part of the day could still move it."""

    second: int
    column: int
    movable: bool
    parted: bool


def read_times(cursor: Cursor, part: int | None) -> frozenset[int]:
    """One or more times in a row.

    Args:
        cursor: stands at the first.
        part: the part of the day that the phrase has named before, as in "every morning".
    """
    clocks = [_clock(cursor, part)]
    while cursor.separator(*TIMELIKE):
        clocks.append(_clock(cursor, part))
    _refuse_mixture(cursor, clocks)
    return frozenset(clock.second for clock in clocks)


def read_window(cursor: Cursor) -> tuple[int, int]:
    """``from 9:00 to 17:00`` or ``between 9:00 and 17:00``, both ends included; the cursor stands at the first word."""
    column = cursor.column
    between = cursor.take(Kind.BETWEEN) is not None
    if not between:
        cursor.take(Kind.FROM)
    first = _clock(cursor, None, listed=between)
    if cursor.take(Kind.AND if between else Kind.TO) is None:
        cursor.expected(
            "the end of the stretch, as in " + repr(cursor.lexicon.example("between", first="9:00", last="17:00"))
        )
    last = _clock(cursor, None)
    _refuse_mixture(cursor, [first, last])
    if first.second >= last.second:
        readings = []
        later = last.second + 12 * _HOUR
        if last.movable and first.second < later < 24 * _HOUR:
            readings = [cursor.lexicon.example("between", first=_written(first.second), last=_written(later))]
        cursor.refuse(
            f"from {_written(first.second)} to {_written(last.second)} runs backwards; a stretch over midnight is two "
            f"rules, one up to 23:59 and one from 00:00",
            *readings,
            column=column,
        )
    return first.second, last.second


def _refuse_mixture(cursor: Cursor, clocks: list[Clock]) -> None:
    """Of "9 and 10 pm" nobody knows whether the 9 is in the evening too."""
    if not any(clock.parted for clock in clocks):
        return
    for clock in clocks:
        if clock.movable:
            cursor.refuse(
                f"{_written(clock.second)} stands beside a time with a part of the day, so it could be either",
                _written(clock.second % (12 * _HOUR)),
                _written(clock.second % (12 * _HOUR) + 12 * _HOUR),
                column=clock.column,
            )


def _clock(cursor: Cursor, part: int | None, *, listed: bool = False) -> Clock:
    cursor.skip(Kind.AT, Kind.THE)
    column = cursor.column
    if (fixed := cursor.take(Kind.FIXED)) is not None:
        return Clock(fixed, column, movable=False, parted=False)
    second = _second(cursor, listed=listed)
    cursor.take(Kind.OCLOCK)
    own = cursor.take(Kind.PART)
    if own is None and part is None:
        return Clock(second, column, movable=_HOUR <= second < 13 * _HOUR, parted=False)
    for named in (own, part):
        if named is not None:
            second = _within(cursor, second, named, column)
    return Clock(second, column, movable=False, parted=own is not None)


def _second(cursor: Cursor, *, listed: bool) -> int:
    if (time := cursor.take(Kind.TIME)) is not None:
        return time
    for kind, minutes in ((Kind.HALF, 30), (Kind.QUARTER, 15)):
        if cursor.sees(kind):
            cursor.take(kind)
            if cursor.take(Kind.PAST) is not None:
                return _hour(cursor) + minutes * 60
            if minutes == 15 and cursor.take(Kind.LACKING) is not None:
                return (_hour(cursor) - minutes * 60) % (24 * _HOUR)
            cursor.expected("'past' and an hour")
    hour = _hour(cursor)
    return hour if listed else hour + _minutes_after(cursor, hour)


def _hour(cursor: Cursor) -> int:
    column = cursor.column
    if cursor.sees(Kind.DECIMAL):
        cursor.refuse("a time has a colon", cursor.text().replace(".", ":"))
    hour = cursor.take(Kind.NUMBER)
    if hour is None:
        cursor.expected("a time like 9:30, 9pm or noon")
    if hour > 23:
        hint = "; midnight is 00:00" if hour == 24 else ""
        cursor.refuse(f"{hour} is no hour of the day: 0 to 23 are{hint}", column=column)
    return hour * _HOUR


def _minutes_after(cursor: Cursor, hour: int) -> int:
    """``y media``, ``y cuarto``, ``menos cuarto``, ``menos diez``, ``y 45``: seconds to add to the hour."""
    if not cursor.lexicon.minutes_after:
        return 0
    for kind, minutes in ((Kind.HALF, 30), (Kind.QUARTER, 15)):
        if cursor.sees(Kind.AND) and cursor.sees(kind, ahead=1):
            cursor.place += 2
            return minutes * 60
    if cursor.sees(Kind.LACKING) and cursor.sees(Kind.QUARTER, ahead=1):
        cursor.place += 2
        return -15 * 60 if hour else 24 * _HOUR - 15 * 60
    if not (cursor.sees(Kind.AND) and cursor.sees(Kind.NUMBER, ahead=1)):
        return 0
    column = cursor.column
    cursor.take(Kind.AND)
    minute = cursor.take(Kind.NUMBER) or 0
    if minute > 59:
        cursor.refuse(f"{minute} is no minute of an hour: 0 to 59 are", column=column)
    if minute < 24:
        first = _written(hour)
        cursor.refuse(
            "this could be one time or two",
            _written(hour + minute * 60),
            f"{first} y {_written(minute * _HOUR)}",
            column=column,
        )
    return minute * 60


def _within(cursor: Cursor, second: int, place: int, column: int) -> int:
    """The time of a part of the day that a clock of twelve hours shows so; exactly one has to be."""
    part = cursor.lexicon.parts[place]
    hour, rest = divmod(second, _HOUR)
    if part.clock and not 1 <= hour <= 12:
        cursor.refuse(f"{part.name} stands with the hours 1 to 12, not {hour}; write {_written(second)}", column=column)
    meant = {hour % 12, hour % 12 + 12} if 1 <= hour <= 12 else {hour}
    found = [hour for hour in sorted(meant) if part.low <= hour <= part.high]
    if len(found) != 1:
        readings = (_written(hour * _HOUR + rest) for hour in sorted(meant))
        cursor.refuse(
            f"{_written(second)} is not clear with {part.name!r}, whose hours are {part.low} to {part.high}",
            *readings,
            column=column,
        )
    return found[0] * _HOUR + rest


def _written(second: int) -> str:
    hour, rest = divmod(second, _HOUR)
    return f"{hour:02}:{rest // 60:02}" + (f":{rest % 60:02}" if rest % 60 else "")
