"""The words of English phrases."""

from __future__ import annotations

from typing import Final

from puntual.model.instant import HOUR, MICROSECOND, MILLISECOND, MINUTE, SECOND
from puntual.timing.phrase.kinds import Kind
from puntual.timing.phrase.lexicon import Entries, Lexicon, Part

_PARTS: Final = (
    Part("am", 0, 11, clock=True),
    Part("pm", 12, 23, clock=True),
    Part("morning", 1, 11),
    Part("afternoon", 13, 18),
    Part("evening", 16, 23),
    Part("night", 18, 23),
)

_ONE_TIME: Final = ("at: 2027-01-01T09:00",)
_REFUSED: Final = {
    "biweekly": ("every 2 weeks on monday at 9:00", "every monday and thursday at 9:00"),
    "fortnightly": ("every 2 weeks on monday at 9:00",),
    "bimonthly": ("every 2 months on day 1 at 9:00", "on day 1 and 15 of the month at 9:00"),
    "semiweekly": ("every monday and thursday at 9:00",),
    "semimonthly": ("on day 1 and 15 of the month at 9:00",),
    "biannual|biannually|semiannually": ("every 6 months on day 1 at 9:00",),
    "biennial|biennially": ("every 6 months on day 1 at 9:00",),
    "quarterly": ("every 3 months on day 1 at 9:00", "on the last day of march, june, september and december at 9:00"),
    "twice|twice a day|thrice": ("every day at 9:00 and 18:00", "every 12 hours"),
    "times a week|times a day|times a month|times": ("every monday, wednesday and friday at 9:00",),
    "once": _ONE_TIME,
    "tomorrow|today|tonight|next|this": _ONE_TIME,
    "end of the month|end of month|month end": ("on the last day of the month at 9:00",),
    "beginning of the month|start of the month": ("on day 1 of the month at 9:00",),
    "sometimes|never|always|often|regularly|occasionally|once in a while|so often": ("every day at 9:00",),
    "bank holiday|holiday|holidays": ("the key calendars beside the rule",),
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
    (Kind.SINCE, "counted from|counting from|starting|starting on|starting from|beginning|beginning on"),
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
    "weekly": "every 2 weeks on monday",
    "monthly": "on day {day} of the month",
    "yearly": "every year on march 1",
    "unit": "minutes",
    "part": "every morning at 7",
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
    return Lexicon(
        lang="en",
        words=entries.words,
        refused=refused,
        parts=_PARTS,
        suffixes=frozenset({"st", "nd", "rd", "th"}),
        examples=_EXAMPLES,
        longest=max(len(text.split()) for text in (*entries.words, *refused)),
    )


ENGLISH: Final = _lexicon()
