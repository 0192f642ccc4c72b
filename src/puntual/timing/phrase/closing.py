"""All that a phrase has said is put together: what is missing, doubled or open is refused with what could be meant."""

from __future__ import annotations

from puntual.model.instant import DAY, HOUR, MINUTE, SECOND, WEEK
from puntual.model.said import said
from puntual.timing.clock import LONGEST_CYCLE
from puntual.timing.phrase.draft import Draft, Unplaced
from puntual.timing.phrase.kinds import Kind
from puntual.timing.phrase.meaning import ALL_WEEKDAYS, Cycle, Days, Meaning
from puntual.timing.phrase.refused import ONE_TIME
from puntual.timing.phrase.times import read_times, written

_EVEN = {HOUR: 24, MINUTE: 60}


def meaning_of(draft: Draft) -> Meaning:
    """The meaning of a phrase that was read to its end.

    Raises:
        InvalidRuleError: it leaves open when it is due, or says things that do not go together.
    """
    _check_month(draft)
    if draft.part is not None and draft.times is not None:
        # The part may have been named after them.
        draft.cursor.place = draft.times_place
        draft.times = read_times(draft.cursor, draft.part)
    if _is_period(draft):
        us = draft.every_us or draft.count * (DAY if draft.unit is Kind.DAY else WEEK)
        return Meaning(every_us=us, since=draft.since, starts=draft.starts, alone=True, column=draft.unit_column)
    _check_days(draft)
    _check_times(draft)
    return Meaning(
        times=draft.times or frozenset(),
        every_us=draft.every_us,
        window=draft.window,
        minutes=draft.minutes,
        hours=draft.hours,
        weekdays=_weekdays(draft),
        days=_days(draft),
        months=draft.months,
        cycle=_cycle(draft),
        since=draft.since,
        starts=draft.starts,
        column=draft.unit_column,
    )


def _is_period(draft: Draft) -> bool:
    """Whether nothing but a period was said, so that it is the same as the key ``every``; "every day" adds nothing."""
    rest = (draft.times, draft.window, draft.minutes, draft.hours, draft.months, draft.except_weekdays)
    if any(rest) or draft.has_days or draft.of_month or draft.part is not None:
        return False
    if draft.every_us:
        return draft.weekdays in (None, ALL_WEEKDAYS) and (
            draft.unit is None or (draft.unit, draft.count) == (Kind.DAY, 1)
        )
    return draft.counted and draft.unit in (Kind.DAY, Kind.WEEK) and draft.weekdays is None and not draft.all_days


def _check_month(draft: Draft) -> None:
    if draft.of_month and not draft.has_days:
        if (draft.unit, draft.count) != (Kind.DAY, 1):
            reading = draft.cursor.lexicon.example("monthly", day=1)
            offers = [] if draft.unit else _offers(draft, reading)
            draft.cursor.refuse("it is not said which day of the month", *offers, column=1)
        # Every day of the month is every day.
        draft.of_month = False
    unplaced = draft.unplaced
    if unplaced is None or draft.of_month or draft.months or draft.unit in (Kind.MONTH, Kind.YEAR):
        return
    draft.cursor.refuse("it is not said which of what this is", *_placed(draft, unplaced), column=unplaced.column)


def _placed(draft: Draft, unplaced: Unplaced) -> list[str]:
    """Both readings of "every third friday", where nothing else is said that they would lose."""
    example = draft.cursor.lexicon.example
    named = len(draft.numbers) + len(draft.before_last) + len(draft.near) + len(draft.working) + len(draft.nth)
    counted_back = unplaced.which > 0 and (draft.before_last or any(which < 0 for which in draft.working))
    if draft.unit or named != unplaced.named or counted_back:
        return []
    if draft.numbers and named == 1:
        readings = [example("monthly", day=min(draft.numbers))]
    else:
        readings = [example("nth", ordinal=unplaced.ordinal, noun=unplaced.noun)]
    if unplaced.which > 1 and named == 1 and not draft.working:
        readings.append(example("cycle" if draft.nth else "days", count=unplaced.which, noun=unplaced.noun))
    return _offers(draft, *readings)


def _offers(draft: Draft, *days: str) -> list[str]:
    """Days with the times of the phrase; none where the phrase says more, which they would lose."""
    more = (draft.every_us, draft.window, draft.minutes, draft.months, draft.except_weekdays, draft.since)
    if any(more) or draft.weekdays is not None or (draft.part is not None and draft.times is None):
        return []
    return [f"{some} {_times(draft)}".rstrip() for some in days]


def _times(draft: Draft) -> str:
    lexicon = draft.cursor.lexicon
    if not draft.times:
        return ""
    return lexicon.example("at", times=lexicon.examples["and"].join(map(written, sorted(draft.times))))


def _check_days(draft: Draft) -> None:
    cursor = draft.cursor
    unit = draft.unit
    weekly = draft.weekdays is not None
    if weekly and draft.has_days:
        cursor.refuse("weekdays and days of the month do not go together: write a list of two rules", column=1)
    if (draft.all_days or unit is Kind.DAY) and (weekly or draft.has_days or (draft.all_days and unit)):
        cursor.refuse("every day and some days do not go together", column=draft.unit_column)
    if draft.except_weekdays and not (weekly or unit is Kind.DAY or draft.all_days or draft.every_us):
        cursor.refuse("it is not said of which days these are left out", column=1)
    if draft.except_weekdays and (draft.has_days or draft.count > 1):
        cursor.refuse("only weekdays can be left out of weekdays", column=1)
    _check_unit(draft)


def _check_unit(draft: Draft) -> None:
    """Whether the days that a week, a month or a year needs were said."""
    cursor, column, count = draft.cursor, draft.unit_column, draft.count
    example = cursor.lexicon.example
    if draft.unit is Kind.WEEK and (draft.weekdays is None or draft.has_days):
        reading = example("weekly" if count == 1 else "weeks", count=count)
        offers = [] if draft.has_days else _offers(draft, reading)
        cursor.refuse("it is not said on which day of the week", *offers, column=column)
    if draft.unit in (Kind.MONTH, Kind.YEAR) and not draft.has_days:
        offers = _offers(draft, example("monthly" if count == 1 else "months", day=1, count=count))
        if draft.unit is Kind.YEAR:
            offers = _offers(draft, example("yearly", day=1)) if count == 1 else []
        cursor.refuse("it is not said on which day", *offers, column=column)
    if draft.unit is Kind.YEAR and (not draft.months or count > 1):
        plain = _days(draft) == Days(numbers=frozenset(draft.numbers)) and len(draft.numbers) == 1 and count == 1
        offers = _offers(draft, example("yearly", day=min(draft.numbers))) if plain else []
        cursor.refuse("a rule by the year names its month, every year", *offers, column=column)


def _check_times(draft: Draft) -> None:
    cursor = draft.cursor
    if draft.part is not None and draft.times is None:
        cursor.refuse("a part of the day is no time: say the hour", cursor.whole, column=1)
    if draft.times is not None:
        if draft.every_us or draft.window or draft.minutes:
            cursor.refuse("a time of day and a repetition within the day do not go together", column=1)
        if draft.weekdays is None and not (draft.has_days or draft.unit or draft.all_days):
            cursor.refuse("it is not said on which days", *_daily(draft), column=1)
        return
    if draft.minutes:
        _check_minutes(draft)
    elif not draft.every_us:
        cursor.refuse("it is not said at what time", cursor.whole)
    if draft.every_us % SECOND:
        cursor.refuse("within days, a period is whole seconds", column=1)
    if not draft.window:
        _check_stretch(draft)
    if draft.every_us and not draft.window:
        _check_even(draft)


def _daily(draft: Draft) -> list[str]:
    """Times without a day: each day, or once."""
    example = draft.cursor.lexicon.example
    own = example("daily", clause=draft.cursor.whole.strip())
    offers = _offers(draft, example("daily", clause="").rstrip())
    if not offers:
        return [own]
    # The words of the user, unless they would read oddly: "every day noon".
    offers = [own] if draft.cursor.began_with(Kind.AT) else offers
    once = [f"{ONE_TIME}2027-01-01T{written(second)}" for second in draft.times or ()]
    return [*offers, *once] if len(once) == 1 else offers


def _check_minutes(draft: Draft) -> None:
    cursor = draft.cursor
    if draft.window or (draft.hours and draft.every_us):
        cursor.refuse("minutes stand with every hour or with hours", column=1)
    if not draft.every_us and not draft.hours:
        cursor.refuse("it is not said of which hours these minutes are", column=1)
    if draft.every_us % HOUR:
        cursor.refuse("minutes stand with whole hours", column=1)


def _check_stretch(draft: Draft) -> None:
    """Days that no cron field can say hold times, or a stretch of the day with its period."""
    cursor = draft.cursor
    if not draft.working and (draft.count <= 1 or draft.unit not in (Kind.DAY, Kind.WEEK)):
        return
    if draft.minutes:
        cursor.refuse("on such days, minutes of hours are said as times, like 9:20 and 10:20", column=1)
    stretch = cursor.lexicon.example("between", first="00:00", last="23:59:59" if draft.every_us % MINUTE else "23:59")
    message = "on such days, a repetition needs its stretch of the day"
    cursor.refuse(message, f"{cursor.whole.rstrip()} {stretch}", column=1)


def _check_even(draft: Draft) -> None:
    """Within days a repetition starts anew at midnight, so that it has to come out even."""
    us = draft.every_us
    unit = next((unit for unit in _EVEN if us % unit == 0), 1_000_000)
    count, size = us // unit, _EVEN.get(unit, 60)
    if size % count or count == size:
        draft.cursor.refuse(
            said(
                "on days, a period has to divide the next larger unit: {n} does not divide {size}", n=count, size=size
            ),
            f"{draft.cursor.whole.rstrip()} {draft.cursor.lexicon.example('between', first='9:00', last='17:00')}",
            column=1,
        )


def _weekdays(draft: Draft) -> frozenset[int]:
    found = (ALL_WEEKDAYS if draft.weekdays is None else draft.weekdays) - draft.except_weekdays
    if not found:
        draft.cursor.refuse("no day is left", column=1)
    return found


def _days(draft: Draft) -> Days | None:
    if not draft.has_days:
        return None
    return Days(
        numbers=frozenset(draft.numbers),
        before_last=frozenset(draft.before_last),
        near=frozenset(draft.near),
        working=frozenset(draft.working),
        nth=frozenset(draft.nth),
    )


def _cycle(draft: Draft) -> Cycle | None:
    if draft.unit is None or draft.count <= 1:
        return None
    if draft.months:
        draft.cursor.refuse("a cycle of days, weeks or months and months do not go together", column=draft.unit_column)
    days = {Kind.DAY: 1, Kind.WEEK: 7}.get(draft.unit, 0)
    if draft.count * days > LONGEST_CYCLE:
        draft.cursor.refuse(said("a cycle has at most {most} days", most=LONGEST_CYCLE), column=draft.unit_column)
    if draft.unit is Kind.MONTH and 12 % draft.count:
        draft.cursor.refuse(
            said("every {n} months does not come out even in a year: 2, 3, 4, 6 and 12 do", n=draft.count),
            column=draft.unit_column,
        )
    return Cycle(draft.count, draft.unit.value)
