"""A language is a table of words: what each can be to the grammar, and which of them nobody can read for sure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from puntual.timing.phrase.kinds import Kind

WEEKDAY_COUNT: Final = 7
ONCE: Final = "one time has a key of its own, at: with a date and a time"
HOLIDAYS: Final = "holidays stand beside the rule, in the key calendars"
TIMES_SAID: Final = "say on which days, at which times"


class Part(msgspec.Struct, frozen=True):
    """A part of the day: the hours that it holds, so that of 8 and 20 at most one is meant."""

    name: str
    low: int
    high: int
    clock: bool = False
    """am and pm: they stand with the hours 1 to 12 only."""
    every: str = ""
    """How it is said of every day."""


class Lexicon(msgspec.Struct, frozen=True):
    """One language.

    Args:
        lang: its code.
        words: by folded text, of one word or several, what it can be, with the value of each kind.
        refused: by folded text, what to write for words that are ambiguous, or that no rule can mean.
        elsewhere: by folded text, where that is said which is no part of a phrase.
        parts: the parts of the day, in the order of the values of `Kind.PART`.
        suffixes: letters after digits that make an ordinal.
        fortnights: numbers of days that also are an idiom for weeks.
        longest: of how many words an entry is at most.
        minutes_after: whether "9 and 10" may be a time, ten minutes past nine.
        examples: one phrase for each thing that a refusal may have to show.
    """

    lang: str
    words: Mapping[str, Mapping[Kind, int]]
    refused: Mapping[str, tuple[str, ...]]
    elsewhere: Mapping[str, str]
    parts: tuple[Part, ...]
    suffixes: frozenset[str]
    examples: Mapping[str, str]
    longest: int
    fortnights: Mapping[int, tuple[str, ...]] = {}
    minutes_after: bool = False

    def example(self, name: str, **values: object) -> str:
        """An example with its places filled in."""
        return self.examples[name].format(**values)


class Entries:
    """Gathers the words of a language; a word given twice is of both kinds."""

    def __init__(self) -> None:
        self.words: dict[str, dict[Kind, int]] = {}

    def add(self, kind: Kind, texts: str, value: int = 0) -> None:
        """Adds texts separated by ``|``."""
        for text in texts.split("|"):
            self.words.setdefault(text.strip(), {})[kind] = value

    def add_row(self, kind: Kind, rows: str, first: int = 0) -> None:
        """Adds rows separated by ``;``, numbered from ``first``."""
        for value, texts in enumerate(rows.split(";"), first):
            self.add(kind, texts, value)

    def add_numbers(self, small: str, tens: str, joiner: str) -> None:
        """Adds the numbers from 1 to 99.

        Args:
            small: the words from 1 on that are words of their own, separated by ``;``.
            tens: the words for 20, 30 and so on.
            joiner: what stands between tens and ones.
        """
        ones = small.split(";")
        self.add_row(Kind.NUMBER, small, 1)
        for ten, texts in enumerate(tens.split(";"), 2):
            self.add(Kind.NUMBER, texts, ten * 10)
            for one, word in enumerate(ones[:9], 1):
                for text in word.split("|"):
                    self.words.setdefault(f"{texts}{joiner}{text.strip()}", {Kind.NUMBER: ten * 10 + one})
