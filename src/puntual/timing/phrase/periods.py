"""What stands behind "every": periods, weekdays, parts of the day, days of the month."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from puntual.model.instant import DAY, HOUR, WEEK
from puntual.model.said import said
from puntual.timing.phrase.cursor import Cursor
from puntual.timing.phrase.days import WEEKDAYLIKE, read_month_days, read_weekdays
from puntual.timing.phrase.draft import Draft, Unplaced
from puntual.timing.phrase.kinds import Kind

_NUMBERS: Final = (Kind.NUMBER, Kind.DECIMAL)
_UNITS: Final = (Kind.DAY, Kind.WEEK, Kind.MONTH, Kind.YEAR)
_FIXED: Final = {Kind.DAY: DAY, Kind.WEEK: WEEK}


def set_unit(draft: Draft, count: int, unit: Kind, column: int, *, counted: bool = False) -> None:
    """Every so many days, weeks, months or years was said."""
    draft.once(draft.unit, "how often", column)
    draft.count, draft.unit, draft.counted, draft.unit_column = count, unit, counted, column


def read_every(draft: Draft) -> None:
    """``every 15 minutes``, ``each monday``, ``todas las mañanas``; the cursor stands at "every"."""
    cursor = draft.cursor
    column = cursor.column
    cursor.skip(Kind.EVERY)
    cursor.skip(Kind.THE)
    _repeated(draft, column)


def _repeated(draft: Draft, column: int) -> None:
    """What stands behind "every"."""
    cursor = draft.cursor
    if cursor.take(Kind.OTHER) is not None:
        _every_other(draft, column)
    elif cursor.sees(Kind.HALF, Kind.QUARTER) and _of_an_hour(draft, column):
        return
    elif _is_period(cursor):
        _period(draft, column)
    elif cursor.sees(*WEEKDAYLIKE):
        set_weekdays(draft, column)
    elif cursor.sees(Kind.PART):
        draft.once(draft.part is not None, "the part of the day", column)
        draft.part = cursor.take(Kind.PART)
        draft.all_days = True
    elif cursor.sees(Kind.ORDINAL, Kind.LAST, Kind.MONTH_NAME, Kind.NUMBER):
        ordinal = cursor.text()
        which = cursor.sees(Kind.ORDINAL)
        read_month_days(draft)
        if which and draft.unplaced is None:
            draft.unplaced = Unplaced(0, ordinal, "", column, 1)
    else:
        cursor.expected(said("what is repeated, as in {example!r}", example=cursor.lexicon.examples["time"]))


def _is_period(cursor: Cursor) -> bool:
    """Whether a unit or a number of units follows; "second" is an ordinal where something follows that it can count."""
    if cursor.sees(*_NUMBERS):
        return not cursor.sees(Kind.OF, Kind.MONTH_NAME, ahead=1)
    if not cursor.sees(Kind.ORDINAL):
        return cursor.sees(Kind.UNIT, *_UNITS)
    ahead = 2
    while cursor.sees(Kind.THE, Kind.EVERY, ahead=ahead):
        ahead += 1
    of_month = cursor.sees(Kind.OF, ahead=1) and cursor.sees(Kind.MONTH, Kind.MONTH_NAME, ahead=ahead)
    counts = of_month or cursor.sees(*WEEKDAYLIKE, *_UNITS, Kind.ORDINAL, ahead=1)
    return cursor.sees(Kind.UNIT) and not counts


def _every_other(draft: Draft, column: int) -> None:
    cursor = draft.cursor
    if cursor.sees(*WEEKDAYLIKE):
        start, several = cursor.place, cursor.sees(Kind.WORKDAY)
        set_unit(draft, 2, Kind.WEEK, column, counted=True)
        set_weekdays(draft, column)
        if several or cursor.place > start + 1:
            reading = cursor.lexicon.example("cycle", count=2, noun=cursor.between(start, cursor.place))
            message = "it is not said whether each of these days is meant every other time"
            cursor.refuse(message, cursor.instead(reading, column), column=column)
        return
    if (unit := cursor.take(Kind.UNIT)) is not None:
        draft.once(draft.every_us, "how often", column)
        draft.every_us = 2 * unit
        return
    for kind in _UNITS:
        if cursor.take(kind) is not None:
            set_unit(draft, 2, kind, column, counted=True)
            return
    cursor.expected("a unit or a weekday")


def _of_an_hour(draft: Draft, column: int) -> bool:
    """``half hour``, ``quarter of an hour``, ``media hora``, ``cuarto de hora``."""
    cursor = draft.cursor
    start = cursor.place
    part = 2 if cursor.take(Kind.HALF) is not None else 4
    if part == 4:
        cursor.take(Kind.QUARTER)
    cursor.skip(Kind.OF, Kind.THE)
    if cursor.take(Kind.UNIT) != HOUR:
        cursor.place = start
        return False
    draft.once(draft.every_us, "how often", column)
    draft.every_us = HOUR // part
    return True


def _period(draft: Draft, column: int) -> None:
    """``15 minutes``, ``hour and a half``, ``1 hour 30 minutes``, ``2 weeks``, ``day``."""
    cursor = draft.cursor
    counted = cursor.sees(*_NUMBERS)
    number = _number(cursor) if counted else Fraction(1)
    if number == 0:
        cursor.refuse("a period is more than nothing", column=column)
    for kind in _UNITS:
        if cursor.sees(kind):
            if number.denominator != 1:
                cursor.refuse("days, weeks, months and years are counted in whole numbers", column=column)
            _fortnight(draft, int(number), kind, column)
            cursor.take(kind)
            if counted and cursor.sees(*_NUMBERS) and kind in _FIXED and cursor.sees(Kind.UNIT, Kind.DAY, ahead=1):
                _set_every(draft, number * _FIXED[kind] + _rest_of_period(cursor, _FIXED[kind]), column)
                return
            set_unit(draft, int(number), kind, column, counted=counted)
            return
    if counted and cursor.sees(*WEEKDAYLIKE):
        reading = cursor.lexicon.example("cycle", count=number, noun=cursor.text())
        offer = cursor.instead(reading, column, cursor.place + 1)
        message = said("{count} {noun} is no period", count=number, noun=cursor.text())
        cursor.refuse(message, offer, column=column)
    unit = cursor.take(Kind.UNIT)
    if unit is None:
        cursor.expected(said("a unit like {example!r}", example=cursor.lexicon.examples["unit"]))
    _set_every(draft, number * unit + _rest_of_period(cursor, unit), column)


def _set_every(draft: Draft, total: Fraction, column: int) -> None:
    if total.denominator != 1:
        draft.cursor.refuse("a period is not finer than a microsecond", column=column)
    draft.once(draft.every_us, "how often", column)
    draft.every_us = int(total)


def _rest_of_period(cursor: Cursor, unit: int) -> Fraction:
    """``and a half``, ``30 minutes``: what comes after the first unit."""
    if cursor.sees(Kind.AND) and (
        cursor.sees(Kind.HALF, ahead=1) or (cursor.sees(Kind.THE, ahead=1) and cursor.sees(Kind.HALF, ahead=2))
    ):
        cursor.skip(Kind.AND, Kind.THE)
        cursor.take(Kind.HALF)
        return Fraction(unit, 2)
    total = Fraction(0)
    while True:
        skip = 1 if cursor.sees(Kind.AND) else 0
        if not (cursor.sees(*_NUMBERS, ahead=skip) and cursor.sees(Kind.UNIT, Kind.DAY, ahead=skip + 1)):
            return total
        cursor.place += skip
        column = cursor.column
        number = _number(cursor)
        smaller = cursor.take(Kind.UNIT)
        if smaller is None:
            cursor.take(Kind.DAY)
            smaller = DAY
        if smaller >= unit:
            cursor.refuse("name each unit once, from large to small", column=column)
        unit = smaller
        total += number * smaller


def _number(cursor: Cursor) -> Fraction:
    if cursor.take(Kind.DECIMAL) is not None:
        return Fraction(cursor.text(-1))
    return Fraction(cursor.take(Kind.NUMBER) or 0)


def _fortnight(draft: Draft, number: int, kind: Kind, column: int) -> None:
    """Fifteen days are two weeks to many speakers of Spanish, and eight are one."""
    cursor = draft.cursor
    meant = cursor.lexicon.fortnights.get(number)
    if meant is not None and kind is Kind.DAY and not cursor.value(kind):
        exact = cursor.lexicon.example("exact", count=number)
        offers = [cursor.instead(offer, column, cursor.place + 1) for offer in (*meant, exact)]
        message = said("{count} {noun} could be an idiom for weeks", count=number, noun=cursor.text())
        cursor.refuse(message, *offers, column=column)


def set_weekdays(draft: Draft, column: int) -> None:
    """Reads the weekdays that stand here, which may be said once."""
    draft.once(draft.weekdays is not None, "the weekdays", column)
    draft.weekdays = read_weekdays(draft.cursor)
