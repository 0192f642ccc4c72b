"""The words of English phrases."""

from __future__ import annotations

from typing import Final

from puntual.model.instant import HOUR, MICROSECOND, MILLISECOND, MINUTE, SECOND
from puntual.timing.phrase.kinds import Kind
from puntual.timing.phrase.lexicon import HOLIDAYS, ONCE, TIMES_SAID, Entries, Lexicon, Part

_PARTS: Final = (
    Part("am", 0, 11, clock=True),
    Part("pm", 12, 23, clock=True),
    Part("morning", 1, 11, every="every morning"),
    Part("afternoon", 13, 18, every="every afternoon"),
    Part("evening", 16, 23, every="every evening"),
    Part("night", 18, 23, every="every night"),
)

_REFUSED: Final = {
    "biweekly": ("every 2 weeks", "every 2 weeks on monday", "every monday and thursday"),
    "fortnightly": (
        "every 2 weeks",
        "every 2 weeks on monday",
    ),
    "bimonthly": ("every 2 months on day 1", "on day 1 and 15 of the month"),
    "semiweekly": ("every monday and thursday",),
    "semimonthly": ("on day 1 and 15 of the month",),
    "biannual|biannually|semiannually": ("every 6 months on day 1",),
    "quarterly": ("every 3 months on day 1", "on the last day of march, june, september and december"),
    "twice|twice a day": ("every day at 9:00 and 18:00", "every 12 hours"),
    "three times a week|3 times a week": ("every monday, wednesday and friday",),
    "end of the month|end of month|month end|at month end|at the end of the month": ("on the last day of the month",),
    "beginning of the month|start of the month|at the beginning of the month|at the start of the month": (
        "on day 1 of the month",
    ),
    "sometimes|never|always|often|regularly|occasionally|once in a while|so often|every so often": ("every day",),
}
_ELSEWHERE: Final = {
    "once|tomorrow|today|tonight|next|this": ONCE,
    "bank holiday|holiday|holidays": HOLIDAYS,
    "thrice|times a week|times a day|times a month|times": TIMES_SAID,
}


_WORDS: Final = (
    (Kind.EVERY, "every|each|on every|on each|at every"),
    (Kind.OTHER, "other|alternate"),
    (Kind.AND, "and|&|plus|as well as"),
    (Kind.TO, "to|through|thru|until|till|up to|-"),
    (Kind.FROM, "from"),
    (Kind.BETWEEN, "between"),
    (Kind.AT, "at"),
    (Kind.ON, "on"),
    (Kind.IN, "in|during"),
    (Kind.OF, "of|in|during"),
    (Kind.THE, "the|a|an"),
    (Kind.EXCEPT, "except|except on|except for|excluding|but not|but not on"),
    (Kind.SINCE, "starting|starting on|starting from|beginning|beginning on"),
    (Kind.BEFORE, "before"),
    (Kind.NEAREST, "nearest to|nearest|closest to|closest"),
    (Kind.HALF, "half"),
    (Kind.QUARTER, "quarter"),
    (Kind.PAST, "past|after"),
    (Kind.LACKING, "to"),
    (Kind.OCLOCK, "o'clock|oclock|sharp|hours"),
    (Kind.WORKDAY, "weekday|weekdays|workday|workdays|working day|working days|business day|business days"),
    (Kind.WEEKEND, "weekend|weekends|the weekend"),
    (Kind.DAY, "day|days|d"),
    (Kind.WEEK, "week|weeks|w|wk|wks"),
    (Kind.MONTH, "month|months|calendar month"),
    (Kind.YEAR, "year|years"),
)
_VALUED: Final = (
    (Kind.SINCE, "counted from|counting from", 1),
    (Kind.UNIT, "ms|millisecond|milliseconds", MILLISECOND),
    (Kind.UNIT, "us|microsecond|microseconds", MICROSECOND),
    (Kind.UNIT, "second|seconds|sec|secs|s", SECOND),
    (Kind.UNIT, "minute|minutes|min|mins|m", MINUTE),
    (Kind.UNIT, "hour|hours|hr|hrs|h", HOUR),
    (Kind.FIXED, "noon|midday|12 noon|twelve noon", 12 * 3_600),
    (Kind.FIXED, "midnight|12 midnight|twelve midnight", 0),
)
_ROWS: Final = (
    (Kind.ADVERB, "hourly;daily;weekly;monthly;yearly|annually", 0),
    (
        Kind.WEEKDAY,
        (
            "sunday|sundays|sun;monday|mondays|mon;tuesday|tuesdays|tue|tues;wednesday|wednesdays|wed;"
            "thursday|thursdays|thu|thurs;friday|fridays|fri;saturday|saturdays|sat"
        ),
        0,
    ),
    (
        Kind.MONTH_NAME,
        (
            "january|jan;february|feb;march|mar;april|apr;may;june|jun;july|jul;august|aug;september|sep|sept;"
            "october|oct;november|nov;december|dec"
        ),
        1,
    ),
    (
        Kind.PART,
        (
            "am|a m;pm|p m;morning|mornings|in the morning;afternoon|afternoons|in the afternoon;"
            "evening|evenings|in the evening;night|nights|at night"
        ),
        0,
    ),
    (Kind.ORDINAL, "first;second;third;fourth;fifth;sixth;seventh;eighth;ninth;tenth;eleventh;twelfth", 1),
    (Kind.LAST, "last|final;penultimate|next to last|second to last|last but one", 1),
)
_EXAMPLES: Final = {
    "time": "every day at 9:00",
    "nth": "on the {ordinal} {noun} of the month",
    "cycle": "every {count} weeks on {noun}",
    "days": "every {count} days",
    "daily": "every day {clause}",
    "at": "at {times}",
    "and": " and ",
    "weekly": "every week on monday",
    "weeks": "every {count} weeks on monday",
    "monthly": "on day {day} of the month",
    "months": "every {count} months on day 1",
    "yearly": "every year on march {day}",
    "unit": "minutes",
    "of": "of",
    "between": "from {first} to {last}",
}


def _lexicon() -> Lexicon:
    entries = Entries()
    for kind, texts in _WORDS:
        entries.add(kind, texts)
    for kind, texts, value in _VALUED:
        entries.add(kind, texts, value)
    for kind, rows, first in _ROWS:
        entries.add_row(kind, rows, first)
    entries.add_numbers(
        "one;two;three;four;five;six;seven;eight;nine;ten;eleven;twelve;thirteen;fourteen;fifteen;sixteen;"
        "seventeen;eighteen;nineteen",
        "twenty;thirty;forty;fifty;sixty;seventy;eighty;ninety",
        " ",
    )
    refused = {text: shown for texts, shown in _REFUSED.items() for text in texts.split("|")}
    elsewhere = {text: said for texts, said in _ELSEWHERE.items() for text in texts.split("|")}
    return Lexicon(
        lang="en",
        words=entries.words,
        refused=refused,
        elsewhere=elsewhere,
        parts=_PARTS,
        suffixes=frozenset({"st", "nd", "rd", "th"}),
        examples=_EXAMPLES,
        longest=max(len(text.split()) for text in (*entries.words, *refused, *elsewhere)),
    )


ENGLISH: Final = _lexicon()
