"""Times of day: ``9:30``, ``9pm``, ``noon``, ``half past nine``, ``las 6 de la tarde``, and the windows between two."""

from __future__ import annotations

from typing import Final, NamedTuple

from puntual.model.said import Said, said
from puntual.timing.phrase.cursor import Cursor
from puntual.timing.phrase.kinds import Kind
from puntual.timing.phrase.lexicon import Part

TIMELIKE: Final = (Kind.TIME, Kind.NUMBER, Kind.FIXED, Kind.HALF, Kind.QUARTER)
_HOUR: Final = 3_600


class Clock(NamedTuple):
    """One time: its second of the day, its column, and whether a part of the day could still move it."""

    second: int
    column: int
    movable: bool
    parted: bool
    end: int
    """The place behind its last token."""


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
        example = cursor.lexicon.example("between", first="9:00", last="17:00")
        cursor.expected(said("the end of the stretch, as in {example!r}", example=example))
    last = _clock(cursor, None)
    _refuse_mixture(cursor, [first, last])
    if first.second >= last.second:
        readings = []
        later = last.second + 12 * _HOUR
        # Who writes 17 counts to 24, so that 9 is the morning.
        if last.movable and first.second < min(later, 13 * _HOUR) and later < 24 * _HOUR:
            stretch = cursor.lexicon.example("between", first=written(first.second), last=written(later))
            readings = [cursor.instead(stretch, column)]
        message = said(
            "from {first} to {last} runs backwards; a stretch over midnight is two rules, one up to 23:59 and one from "
            "00:00",
            first=written(first.second),
            last=written(last.second),
        )
        cursor.refuse(
            message,
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
                said(
                    "{time} stands beside a time with a part of the day, so it could be either",
                    time=written(clock.second),
                ),
                *(cursor.with_all([_settled(clock, half) for clock in clocks]) for half in (0, 12 * _HOUR)),
                column=clock.column,
            )


def _settled(clock: Clock, half: int) -> tuple[str, int, int]:
    """A time written out, in one half of the day if its part was open."""
    second = clock.second % (12 * _HOUR) + half if clock.movable else clock.second
    return written(second), clock.column, clock.end


def _clock(cursor: Cursor, part: int | None, *, listed: bool = False) -> Clock:
    cursor.skip(Kind.AT, Kind.THE)
    column = cursor.column
    if (fixed := cursor.take(Kind.FIXED)) is not None:
        if part is not None:
            _check_inside(cursor, fixed, part, column, beside=1)
        return Clock(fixed, column, movable=False, parted=False, end=cursor.place)
    padded = cursor.text().startswith("0")
    second = _second(cursor, listed=listed)
    cursor.take(Kind.OCLOCK)
    own = cursor.take(Kind.PART)
    if own is None and part is None:
        return Clock(second, column, movable=_HOUR <= second < 13 * _HOUR, parted=False, end=cursor.place)
    if own is not None:
        second = _within(cursor, second, own, column)
    if part is not None and (own is not None or padded):
        _check_inside(cursor, second, part, column)
    elif part is not None:
        second = _within(cursor, second, part, column)
    return Clock(second, column, movable=False, parted=own is not None, end=cursor.place)


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
    start = cursor.column
    hour = _hour(cursor)
    return hour if listed else hour + _minutes_after(cursor, hour, start)


def _hour(cursor: Cursor) -> int:
    column = cursor.column
    if cursor.sees(Kind.DECIMAL):
        with_colon = cursor.text().replace(".", ":")
        cursor.refuse("a time has a colon", cursor.instead(with_colon, column, cursor.place + 1))
    hour = cursor.take(Kind.NUMBER)
    if hour is None:
        cursor.expected("a time like 9:30, 9pm or noon")
    if hour > 23:
        midnight = "{hour} is no hour of the day: 0 to 23 are; midnight is 00:00"
        other = "{hour} is no hour of the day: 0 to 23 are"
        cursor.refuse(said(midnight if hour == 24 else other, hour=hour), column=column)
    return hour * _HOUR


def _minutes_after(cursor: Cursor, hour: int, start: int) -> int:
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
        cursor.refuse(said("{minute} is no minute of an hour: 0 to 59 are", minute=minute), column=column)
    if minute < 24:
        two = cursor.lexicon.examples["and"].join((written(hour), written(minute * _HOUR)))
        cursor.refuse(
            "this could be one time or two",
            cursor.instead(written(hour + minute * 60), start),
            cursor.instead(two, start),
            column=column,
        )
    return minute * 60


def _within(cursor: Cursor, second: int, place: int, column: int) -> int:
    """The time of a part of the day that a clock of twelve hours shows so; exactly one has to be."""
    part = cursor.lexicon.parts[place]
    hour, rest = divmod(second, _HOUR)
    if part.clock and not 1 <= hour <= 12:
        message = said(
            "{part} stands with the hours 1 to 12, not {hour}; write {time}",
            part=part.name,
            hour=hour,
            time=written(second),
        )
        cursor.refuse(message, column=column)
    meant = {hour % 12, hour % 12 + 12} if 1 <= hour <= 12 else {hour}
    found = [hour for hour in sorted(meant) if part.low <= hour <= part.high]
    if len(found) != 1:
        # One hour outside may be meant, as midnight is at night; more would be another part of the day.
        near = [hour for hour in sorted(meant) if min((part.low - hour) % 24, (hour - part.high) % 24) <= 1]
        readings = (cursor.instead(written(hour * _HOUR + rest), column) for hour in found or near)
        cursor.refuse(
            _beside("{time} is not clear with {part!r}, whose hours are {low} to {high}", second, part),
            *readings,
            column=column,
        )
    return found[0] * _HOUR + rest


def _check_inside(cursor: Cursor, second: int, place: int, column: int, *, beside: int = 0) -> None:
    """Refuses a time that is sure by itself and lies outside of the part of the day, but for hours beside it."""
    part, hour = cursor.lexicon.parts[place], second // _HOUR
    # Midnight is the hour beside 23 too.
    if not any(part.low - beside <= some <= part.high + beside for some in (hour, hour + 24)):
        later = (second + 12 * _HOUR) % (24 * _HOUR)
        cursor.refuse(
            _beside("{time} does not go together with {part!r}, whose hours are {low} to {high}", second, part),
            *([cursor.instead(written(later), column)] if part.low <= later // _HOUR <= part.high else []),
            column=column,
        )


def _beside(template: str, second: int, part: Part) -> Said:
    return said(template, time=written(second), part=part.name, low=part.low, high=part.high)


def written(second: int) -> str:
    """A second of the day as a time that every phrase can hold."""
    hour, rest = divmod(second, _HOUR)
    return f"{hour:02}:{rest // 60:02}" + (f":{rest % 60:02}" if rest % 60 else "")
