"""What a word can be to the grammar: the alphabet that both languages share."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """A terminal of the grammar; a word may be of several kinds, and where it stands decides.

    The value beside it is a number where one is named below, else nothing.
    """

    EVERY = "every"
    OTHER = "other"
    AND = "and"
    COMMA = "comma"
    TO = "to"
    FROM = "from"
    BETWEEN = "between"
    AT = "at"
    ON = "on"
    IN = "in"
    OF = "of"
    THE = "the"
    EXCEPT = "except"
    SINCE = "since"
    BEFORE = "before"
    NEAREST = "nearest"
    HALF = "half"
    QUARTER = "quarter"
    PAST = "past"
    LACKING = "lacking"
    OCLOCK = "oclock"
    NUMBER = "number"
    """A whole number."""
    DECIMAL = "decimal"
    ORDINAL = "ordinal"
    """1 is the first."""
    LAST = "last"
    """1 is the last, 2 the one before it."""
    TIME = "time"
    """Seconds of the day, written with a colon."""
    FIXED = "fixed"
    """Seconds of the day, of a word that means one time: noon, midnight."""
    PART = "part"
    """Place in the lexicon's list of parts of the day."""
    DATE = "date"
    WEEKDAY = "weekday"
    """0 is Sunday."""
    WORKDAY = "workday"
    WEEKEND = "weekend"
    MONTH_NAME = "month name"
    """1 to 12."""
    UNIT = "unit"
    """Microseconds of a second, a minute or an hour."""
    DAY = "day"
    """1 if it says that it is no idiom for something else."""
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"
    ADVERB = "adverb"
    """``daily``, ``weekly`` and so on: the number of the unit in `ADVERBS`."""


ADVERBS = ("hour", Kind.DAY, Kind.WEEK, Kind.MONTH, Kind.YEAR)
"""What an adverb repeats."""
