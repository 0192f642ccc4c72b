"""A phrase is read in the language that was declared, or in the one language in which it can be read."""

from __future__ import annotations

from typing import Final

from puntual.model.errors import InvalidRuleError
from puntual.model.said import said
from puntual.timing.phrase.english import ENGLISH
from puntual.timing.phrase.grammar import read_phrase
from puntual.timing.phrase.lexicon import Lexicon
from puntual.timing.phrase.meaning import Meaning
from puntual.timing.phrase.spanish import SPANISH
from puntual.timing.phrase.tokens import known_words

LANGUAGES: Final = {"en": ENGLISH, "es": SPANISH}


def read(text: str, lang: str | None) -> Meaning:
    """What a phrase means.

    Args:
        text: the phrase.
        lang: its language, or None to try each.

    Raises:
        InvalidRuleError: it cannot be read, or two languages read it differently.
    """
    if lang is not None:
        if lang not in LANGUAGES:
            raise InvalidRuleError(
                said("{lang!r} is no language of phrases: use en or es", lang=lang[:20]), field="lang"
            )
        return _declared(text, lang)
    found: dict[str, Meaning] = {}
    faults: dict[str, InvalidRuleError] = {}
    for code, lexicon in LANGUAGES.items():
        try:
            found[code] = read_phrase(text, lexicon)
        except InvalidRuleError as error:
            faults[code] = error
    if not found:
        # The language that knows more of its words is the one it was meant in; English where they know as many.
        raise faults[max(faults, key=lambda code: known_words(text, LANGUAGES[code]))]
    meanings = list(found.values())
    if any(meaning != meanings[0] for meaning in meanings):
        raise InvalidRuleError("the phrase means one thing in English and another in Spanish: declare lang: en or es")
    return meanings[0]


def _declared(text: str, lang: str) -> Meaning:
    try:
        return read_phrase(text, LANGUAGES[lang])
    except InvalidRuleError as error:
        for other, lexicon in LANGUAGES.items():
            if other != lang and _reads(text, lexicon):
                error.hint = f"It can be read with lang: {other}."
        raise


def _reads(text: str, lexicon: Lexicon) -> bool:
    try:
        read_phrase(text, lexicon)
    except InvalidRuleError:
        return False
    return True
