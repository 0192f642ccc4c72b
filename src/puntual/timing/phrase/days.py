"""Days: weekdays and ranges of them, days of the month, the n-th of something in a month, dates, months."""

from __future__ import annotations

from typing import Final, NamedTuple

from puntual.model.said import said
from puntual.timing.phrase.cursor import Cursor
from puntual.timing.phrase.draft import Draft, Unplaced
from puntual.timing.phrase.kinds import Kind

WORKDAYS: Final = frozenset({1, 2, 3, 4, 5})
WEEKEND: Final = frozenset({0, 6})
WEEKDAYLIKE: Final = (Kind.WEEKDAY, Kind.WORKDAY, Kind.WEEKEND)
_MOST_WORKDAYS: Final = 23
_DAYLIKE: Final = (Kind.NUMBER, Kind.ORDINAL, Kind.LAST, Kind.DAY)


class _Named(NamedTuple):
    """Days as they stand among the tokens, and up to where the month behind them does."""

    start: int
    column: int
    behind: int
    until: int = 0


def read_weekdays(cursor: Cursor) -> frozenset[int]:
    """``monday to friday and sunday``, ``weekdays``, ``fines de semana``: one or more in a row."""
    found = set(_weekday_range(cursor))
    while cursor.separator(*WEEKDAYLIKE):
        found |= _weekday_range(cursor)
    return frozenset(found)


def _weekday_range(cursor: Cursor) -> frozenset[int]:
    cursor.skip(Kind.ON, Kind.THE, Kind.FROM)
    if cursor.take(Kind.WORKDAY) is not None:
        return WORKDAYS
    if cursor.take(Kind.WEEKEND) is not None:
        return WEEKEND
    first = cursor.take(Kind.WEEKDAY)
    if first is None:
        cursor.expected("a weekday")
    if not cursor.sees(Kind.TO) or (cursor.sees(Kind.AT) and not _reaches(cursor, Kind.WEEKDAY)):
        return frozenset({first})
    cursor.take(Kind.TO)
    cursor.skip(Kind.THE)
    last = cursor.take(Kind.WEEKDAY)
    if last is None:
        cursor.expected("the weekday that the range ends with")
    return frozenset((first + ahead) % 7 for ahead in range((last - first) % 7 + 1))


def _reaches(cursor: Cursor, kind: Kind) -> bool:
    """Whether this kind comes after the next word, an article left out."""
    return cursor.sees(kind, ahead=1) or (cursor.sees(Kind.THE, ahead=1) and cursor.sees(kind, ahead=2))


def read_months(cursor: Cursor) -> frozenset[int]:
    """``march``, ``june to august and december``: one or more in a row."""
    found: set[int] = set()
    while True:
        cursor.skip(Kind.IN, Kind.FROM)
        first = cursor.take(Kind.MONTH_NAME)
        if first is None:
            cursor.expected("a month")
        last = first
        if cursor.sees(Kind.TO) and cursor.sees(Kind.MONTH_NAME, ahead=1):
            cursor.take(Kind.TO)
            last = cursor.take(Kind.MONTH_NAME) or first
        found |= {(first + ahead - 1) % 12 + 1 for ahead in range((last - first) % 12 + 1)}
        if not cursor.separator(Kind.MONTH_NAME):
            return frozenset(found)


def read_month_days(draft: Draft) -> None:
    """``day 6``, ``the 1st and 15th``, ``the last friday``, ``march 1``, with the month after it if it is named."""
    cursor = draft.cursor
    months = draft.months
    named: _Named | None = None
    while True:
        column, start, before = cursor.column, cursor.place, draft.months
        _month_days(draft)
        named = _check_month_behind(draft, named, _Named(start, column, cursor.place), before)
        if draft.of_month and draft.months != months:
            cursor.refuse(
                "days of one month and of each month are two rules: write a list of them, one for each", column=column
            )
        if not cursor.separator(*_DAYLIKE, Kind.WORKDAY) or cursor.sees(Kind.AT):
            break
        cursor.skip(Kind.ON)
    if cursor.sees(Kind.AND) and cursor.sees(Kind.MONTH_NAME, ahead=1):
        cursor.refuse("dates in several months are several rules: write a list of them, one for each date")


def _check_month_behind(draft: Draft, named: _Named | None, here: _Named, before: frozenset[int]) -> _Named | None:
    """Reads the month behind days, and refuses days without one after others that have one.

    In "the first monday of january and the third thursday" nobody knows whether both are of january.
    """
    cursor = draft.cursor
    read_of_month(draft)
    if draft.months != before:
        return here._replace(until=cursor.place)
    if named is not None and cursor.place == here.behind and not draft.of_month:
        days, of_month = cursor.between(named.start, named.behind), cursor.between(named.behind, named.until)
        last = cursor.between(here.start, here.behind)
        changes = [(days, named.column, named.until), (f"{last} {of_month}", here.column, here.behind)]
        cursor.refuse(
            said(
                "{days!r} could be of that month too, or of each month, which makes two rules to be written as a list",
                days=last,
            ),
            *([cursor.with_all(changes)] if of_month else []),
            column=here.column,
        )
    return named


def _month_days(draft: Draft) -> None:
    cursor = draft.cursor
    cursor.skip(Kind.THE)
    column = cursor.column
    if cursor.sees(Kind.MONTH_NAME):
        draft.once(draft.months, "the month", column)
        draft.months = frozenset({cursor.take(Kind.MONTH_NAME) or 1})
        cursor.skip(Kind.THE)
        if not cursor.sees(Kind.NUMBER, Kind.ORDINAL):
            cursor.expected("the day of the month")
        draft.numbers |= _numbers(cursor, Kind.NUMBER, Kind.ORDINAL)
    elif cursor.take(Kind.WORKDAY) is not None:
        if cursor.take(Kind.NEAREST) is None:
            cursor.expected("'nearest to' and a day")
        cursor.skip(Kind.TO, Kind.THE)
        cursor.take(Kind.DAY)
        if not cursor.sees(Kind.NUMBER, Kind.ORDINAL):
            cursor.expected("the day of the month")
        draft.near |= _numbers(cursor, Kind.NUMBER, Kind.ORDINAL)
    elif cursor.take(Kind.DAY) is not None:
        if not cursor.sees(Kind.NUMBER):
            cursor.expected("the number of the day")
        numbers = _numbers(cursor, Kind.NUMBER)
        if cursor.take(Kind.BEFORE) is not None:
            _last_again(draft)
            draft.before_last |= numbers
            cursor.take(Kind.DAY)
        else:
            draft.numbers |= numbers
    elif cursor.sees(Kind.NUMBER):
        draft.numbers |= _numbers(cursor, Kind.NUMBER)
        _need_month(draft, [0], "", column)
    else:
        _nth(draft, column)


def _numbers(cursor: Cursor, *kinds: Kind) -> set[int]:
    """Days of the month: numbers, lists and ranges of them."""
    found: set[int] = set()
    while True:
        cursor.skip(Kind.THE)
        first = _day_number(cursor, *kinds)
        last = first
        # Before a plain number an article makes it an hour: "el día 6 a las 10".
        if cursor.sees(Kind.TO) and (cursor.sees(*kinds, ahead=1) or _reaches(cursor, Kind.ORDINAL)):
            cursor.take(Kind.TO)
            cursor.skip(Kind.THE)
            column = cursor.column
            last = _day_number(cursor, *kinds)
            if last < first:
                cursor.refuse(said("days {first} to {last} run backwards", first=first, last=last), column=column)
        found |= set(range(first, last + 1))
        start = cursor.place
        if not cursor.separator(*kinds):
            return found
        # A number after "at" or before a month of its own is something else.
        if cursor.sees(Kind.AT):
            cursor.place = start
            return found


def _day_number(cursor: Cursor, *kinds: Kind) -> int:
    column = cursor.column
    number = next((number for kind in kinds if (number := cursor.take(kind)) is not None), None)
    if number is None:
        cursor.expected("a day of the month")
    if not 1 <= number <= 31:
        cursor.refuse(said("{day} is no day of a month: 1 to 31 are", day=number), column=column)
    return number


def _nth(draft: Draft, column: int) -> None:
    """Ordinals and what they count: a weekday, a working day, or the days of the month themselves."""
    cursor = draft.cursor
    start = cursor.place
    which = _ordinals(cursor)
    ordinals = cursor.between(start, cursor.place)
    if (weekday := cursor.take(Kind.WEEKDAY)) is not None:
        if any(number > 5 or number < -1 for number in which):
            cursor.refuse("a month has a weekday 1 to 5 times, and the last one", column=column)
        draft.nth |= {(weekday, number) for number in which}
        _need_month(draft, which, ordinals, column)
        if cursor.separator(Kind.WEEKDAY):
            cursor.refuse("nobody knows whether the ordinal counts this weekday too: name it for each")
    elif cursor.take(Kind.WORKDAY) is not None:
        _need_month(draft, which, ordinals, column)
        if cursor.take(Kind.BEFORE) is not None:
            _last_again(draft)
            which = [-1 - number for number in which]
        if any(abs(number) > _MOST_WORKDAYS for number in which):
            cursor.refuse(said("a month has at most {most} working days", most=_MOST_WORKDAYS), column=column)
        draft.working |= set(which)
    elif cursor.take(Kind.DAY) is not None:
        _need_month(draft, which, ordinals, column)
        if cursor.take(Kind.BEFORE) is not None:
            _last_again(draft)
            which = [-1 - number for number in which]
        _plain_days(draft, which, column)
    elif any(number < 0 for number in which):
        cursor.expected("'day' or a weekday")
    else:
        _plain_days(draft, which, column)


def _ordinals(cursor: Cursor) -> list[int]:
    """One or more of "first", "2nd to 4th", "last"; those counted from the end are negative."""
    which: list[int] = []
    while True:
        cursor.skip(Kind.ON, Kind.THE)
        column = cursor.column
        if (last := cursor.take(Kind.LAST)) is not None:
            which.append(-last)
        elif (number := cursor.take(Kind.ORDINAL)) is None:
            cursor.expected("which one, as in 'first' or 'last'")
        elif cursor.sees(Kind.TO) and _reaches(cursor, Kind.ORDINAL):
            cursor.skip(Kind.TO, Kind.THE)
            until = cursor.take(Kind.ORDINAL) or 0
            if until <= number:
                cursor.refuse(said("days {first} to {last} run backwards", first=number, last=until), column=column)
            which += range(number, until + 1)
        else:
            which.append(number)
        if not cursor.separator(Kind.ORDINAL, Kind.LAST):
            return which


def _plain_days(draft: Draft, which: list[int], column: int) -> None:
    for number in which:
        if not 1 <= (number if number > 0 else -number) <= 31 or number == 0:
            draft.cursor.refuse(said("{day} is no day of a month: 1 to 31 are", day=number), column=column)
    draft.numbers |= {number for number in which if number > 0}
    draft.before_last |= {-1 - number for number in which if number < 0}


def _last_again(draft: Draft) -> None:
    """After "before": "the last"."""
    draft.cursor.skip(Kind.THE, Kind.OF, Kind.TO)
    if draft.cursor.take(Kind.LAST) is None:
        draft.cursor.expected("'the last'")


def _need_month(draft: Draft, which: list[int], ordinals: str, column: int) -> None:
    """Remembers that "of the month" has to be said somewhere, since the words before it are ambiguous without."""
    cursor = draft.cursor
    if draft.unplaced is None:
        draft.unplaced = Unplaced(which[0], ordinals, cursor.text(-1), column, len(which))


def read_of_month(draft: Draft) -> None:
    """``of the month``, ``de cada mes``, ``of march``, ``of march every year``; or nothing."""
    cursor = draft.cursor
    start = cursor.place
    cursor.skip(Kind.OF)
    cursor.skip(Kind.EVERY, Kind.THE)
    if cursor.take(Kind.MONTH) is not None and cursor.place - start > 1:
        draft.of_month = True
        return
    cursor.place = start
    cursor.skip(Kind.OF, Kind.COMMA)
    if cursor.sees(Kind.MONTH_NAME):
        draft.once(draft.months, "the month", cursor.column)
        draft.months = read_months(cursor)
        start = cursor.place
        cursor.skip(Kind.OF)
        if cursor.take(Kind.EVERY) is not None and cursor.take(Kind.YEAR) is not None:
            return
    cursor.place = start
