"""The grammar: a phrase is clauses in any order, each said once, and together they mean one thing or are refused."""

from __future__ import annotations

from typing import Final

from puntual.model.instant import DAY, HOUR, MINUTE, WEEK
from puntual.model.said import Said, as_said, said
from puntual.timing.phrase.closing import meaning_of
from puntual.timing.phrase.cursor import Cursor
from puntual.timing.phrase.days import WEEKDAYLIKE, read_month_days, read_months, read_of_month, read_weekdays
from puntual.timing.phrase.draft import Draft
from puntual.timing.phrase.kinds import ADVERBS, Kind
from puntual.timing.phrase.lexicon import ONCE, Lexicon
from puntual.timing.phrase.meaning import Meaning
from puntual.timing.phrase.periods import read_every, set_unit, set_weekdays
from puntual.timing.phrase.refused import Refused, tried
from puntual.timing.phrase.times import TIMELIKE, read_times, read_window
from puntual.timing.phrase.tokens import tokens_of

_NUMBERS: Final = (Kind.NUMBER, Kind.DECIMAL)
_UNITS: Final = (Kind.DAY, Kind.WEEK, Kind.MONTH, Kind.YEAR)
_FIXED: Final = {Kind.DAY: DAY, Kind.WEEK: WEEK}
_MINUTE: Final = said("minute")
_HOUR: Final = said("hour")
_MONTH_DAY: Final = (Kind.ORDINAL, Kind.LAST, Kind.MONTH_NAME, Kind.DAY, Kind.NUMBER)


def read_phrase(text: str, lexicon: Lexicon) -> Meaning:
    """What a phrase means in a language.

    Raises:
        InvalidRuleError: it cannot be read, could mean two things, or leaves something open; with the column.
    """
    try:
        return _read(text, lexicon)
    except Refused as error:
        raise tried(error, lexicon, lambda offer: _read(offer, lexicon)) from None


def _read(text: str, lexicon: Lexicon) -> Meaning:
    cursor = Cursor(tokens_of(text, lexicon), lexicon, text)
    if cursor.at_end:
        cursor.refuse("the phrase is empty", lexicon.examples["time"])
    draft = Draft(cursor)
    cursor.skip(Kind.COMMA)
    while not cursor.at_end:
        _clause(draft)
        cursor.skip(Kind.COMMA)
    return meaning_of(draft)


def _clause(draft: Draft) -> None:
    cursor = draft.cursor
    if cursor.sees(Kind.SINCE) or (cursor.sees(Kind.FROM) and cursor.sees(Kind.DATE, ahead=1)):
        _since(draft)
    elif cursor.sees(Kind.EXCEPT):
        _except(draft)
    elif cursor.sees(Kind.EVERY):
        read_every(draft)
    elif cursor.sees(Kind.ADVERB):
        _adverb(draft)
    elif cursor.sees(Kind.FROM, Kind.BETWEEN):
        _stretch(draft)
    elif not _minute(draft) and not _days(draft):
        _times(draft)


def _since(draft: Draft) -> None:
    cursor = draft.cursor
    draft.once(draft.since, "where to count from", cursor.column)
    # "Counted from" has a value of its own; all other words could as well bound the rule.
    draft.starts = cursor.take(Kind.SINCE) != 1
    cursor.skip(Kind.FROM, Kind.THE)
    if cursor.take(Kind.DATE) is None:
        cursor.expected("a date like 2027-01-31")
    draft.since = cursor.text(-1)


def _except(draft: Draft) -> None:
    cursor = draft.cursor
    draft.once(draft.except_weekdays, "which days are left out", cursor.column)
    cursor.take(Kind.EXCEPT)
    draft.except_weekdays = read_weekdays(cursor)


def _adverb(draft: Draft) -> None:
    cursor = draft.cursor
    column = cursor.column
    unit = ADVERBS[cursor.take(Kind.ADVERB) or 0]
    if isinstance(unit, Kind):
        set_unit(draft, 1, unit, column)
    else:
        draft.once(draft.every_us, "how often", column)
        draft.every_us = HOUR


def _stretch(draft: Draft) -> None:
    """What begins with "from" or "between": weekdays, months, days of the month, or a stretch of the day."""
    cursor = draft.cursor
    column = cursor.column
    ahead = 1
    while cursor.sees(Kind.THE, Kind.AT, ahead=ahead):
        ahead += 1
    if cursor.sees(*WEEKDAYLIKE, ahead=ahead):
        set_weekdays(draft, column)
    elif cursor.sees(Kind.MONTH_NAME, ahead=ahead):
        draft.once(draft.months, "the months", column)
        draft.months = read_months(cursor)
    elif _month_behind(cursor):
        _refuse_hours_or_days(cursor)
        cursor.take(Kind.FROM)
        read_month_days(draft)
    elif cursor.sees(*TIMELIKE, ahead=ahead):
        draft.once(draft.window, "the stretch of the day", column)
        draft.window = read_window(cursor)
    elif cursor.sees(Kind.EVERY, ahead=ahead) or cursor.sees(Kind.MONTH, ahead=ahead):
        start = cursor.place
        read_of_month(draft)
        if cursor.place == start:
            cursor.expected("a time, a weekday or a month")
    else:
        cursor.take(Kind.FROM)
        cursor.take(Kind.BETWEEN)
        cursor.expected("a time, a weekday or a month")


def _month_behind(cursor: Cursor) -> bool:
    """Whether a range of plain numbers counts days: "del 1 al 7 de cada mes", "from the 1st to the 7th"."""
    place = cursor.place
    try:
        cursor.skip(Kind.FROM, Kind.THE)
        ordinal = cursor.sees(Kind.ORDINAL) and not cursor.sees(Kind.NUMBER)
        if ordinal or cursor.sees(Kind.DAY):
            return True
        if cursor.take(Kind.NUMBER) is None or not cursor.skip(Kind.TO, Kind.THE) or cursor.take(Kind.NUMBER) is None:
            return False
        return bool(cursor.skip(Kind.OF)) and bool(
            cursor.sees(Kind.MONTH, Kind.MONTH_NAME)
            or (cursor.sees(Kind.EVERY, Kind.THE) and cursor.sees(Kind.MONTH, ahead=1))
        )
    finally:
        cursor.place = place


def _refuse_hours_or_days(cursor: Cursor) -> None:
    """Refuses "from 9 to 17 in march", whose numbers could be hours; "of march" makes them days."""
    place, column = cursor.place, cursor.column
    cursor.skip(Kind.FROM, Kind.THE)
    first = cursor.take(Kind.NUMBER)
    cursor.skip(Kind.TO, Kind.THE)
    last, behind = cursor.take(Kind.NUMBER), cursor.place
    if first is not None and last is not None and first < last < 24 and cursor.sees(Kind.IN):
        hours = cursor.lexicon.example("between", first=f"{first}:00", last=f"{last}:00")
        days = cursor.instead(cursor.lexicon.examples["of"], cursor.column, behind + 1)
        message = said("{first} to {last} could be hours or days of the month", first=first, last=last)
        cursor.refuse(message, cursor.instead(hours, column, behind), days, column=column)
    cursor.place = place


def _minute(draft: Draft) -> bool:
    """``at minute 20``, ``at minutes 0 and 30 of hours 9 to 17``; False if it is something else."""
    cursor = draft.cursor
    place, column = cursor.place, cursor.column
    cursor.skip(Kind.AT, Kind.ON, Kind.IN, Kind.THE)
    if not (cursor.sees(Kind.UNIT) and cursor.sees(Kind.NUMBER, ahead=1)) or cursor.take(Kind.UNIT) != MINUTE:
        cursor.place = place
        return False
    draft.once(draft.minutes, "the minutes", column)
    draft.minutes = _unit_numbers(cursor, 59, _MINUTE)
    ahead = 2 if cursor.sees(Kind.THE, ahead=1) else 1
    if not (cursor.sees(Kind.OF) and cursor.sees(Kind.EVERY, Kind.UNIT, ahead=ahead)):
        return True
    cursor.skip(Kind.OF, Kind.THE)
    if cursor.sees(Kind.EVERY):
        read_every(draft)
    elif cursor.take(Kind.UNIT) == HOUR:
        draft.hours = _unit_numbers(cursor, 23, _HOUR)
    else:
        cursor.expected("'every hour' or hours")
    return True


def _unit_numbers(cursor: Cursor, most: int, name: Said) -> frozenset[int]:
    found: set[int] = set()
    while True:
        column = cursor.column
        first = cursor.take(Kind.NUMBER)
        if first is None:
            cursor.expected(said("the number of the {unit}", unit=name))
        last: int | None = first
        if cursor.sees(Kind.TO) and cursor.sees(Kind.NUMBER, ahead=1):
            cursor.take(Kind.TO)
            last = cursor.take(Kind.NUMBER)
        if last is None or not first <= last <= most:
            fault = said(
                "{first} to {last} is no {unit}: 0 to {most} are", first=first, last=last, unit=name, most=most
            )
            cursor.refuse(fault, column=column)
        found |= set(range(first, last + 1))
        if not cursor.separator(Kind.NUMBER):
            return frozenset(found)


def _days(draft: Draft) -> bool:
    """Weekdays, days of the month or months without "every"; False if something else stands here."""
    cursor = draft.cursor
    place, column = cursor.place, cursor.column
    within = cursor.sees(Kind.IN, Kind.OF)
    named = cursor.skip(Kind.ON, Kind.IN, Kind.OF) and not cursor.sees(*TIMELIKE)
    article = cursor.skip(Kind.THE)
    if cursor.sees(*WEEKDAYLIKE) and not (cursor.sees(Kind.WORKDAY) and cursor.sees(Kind.NEAREST, ahead=1)):
        set_weekdays(draft, column)
        return True
    if within and cursor.sees(Kind.MONTH_NAME):
        draft.once(draft.months, "the months", column)
        draft.months = read_months(cursor)
        return True
    if within and cursor.sees(Kind.EVERY, Kind.MONTH):
        cursor.place = place
        read_of_month(draft)
        return cursor.place > place
    numbered = cursor.sees(Kind.NUMBER) and (article or cursor.sees(Kind.OF, Kind.MONTH_NAME, ahead=1))
    timed = cursor.sees(Kind.AT) or (cursor.sees(Kind.QUARTER) and cursor.sees(Kind.PAST, Kind.LACKING, ahead=1))
    if not timed and (
        numbered or named or cursor.sees(Kind.ORDINAL, Kind.LAST, Kind.MONTH_NAME, Kind.DAY, Kind.WORKDAY)
    ):
        if not cursor.sees(*_MONTH_DAY, Kind.WORKDAY):
            cursor.expected("a day")
        draft.once(draft.has_days, "the days", column)
        read_month_days(draft)
        return True
    cursor.place = place
    return False


def _times(draft: Draft) -> None:
    cursor = draft.cursor
    column = cursor.column
    if cursor.sees(Kind.AND):
        cursor.refuse("one phrase has one rule: write a list of two")
    if cursor.sees(Kind.PART) and draft.part is None and draft.times is None and draft.weekdays is not None:
        draft.part = cursor.take(Kind.PART)
        return
    if cursor.sees(Kind.PART):
        parts, part, start = cursor.lexicon.parts, cursor.value(Kind.PART), cursor.column
        cursor.place += 1
        offers = [cursor.instead(parts[part].every, start)] if cursor.place == 1 and parts[part].every else []
        cursor.refuse(said("a part of the day is no day ({once})", once=as_said(ONCE)), *offers, column=start)
    with_at = cursor.skip(Kind.AT)
    cursor.skip(Kind.THE)
    plain = cursor.sees(Kind.NUMBER) and not cursor.sees(Kind.PART, Kind.OCLOCK, ahead=1)
    if not cursor.sees(*TIMELIKE) or (plain and not with_at):
        cursor.expected("'at' and a time, or days" if not with_at else "a time like 9:30")
    draft.once(draft.times is not None, "the time", column)
    draft.times_place = cursor.place
    draft.times = read_times(cursor, draft.part)
