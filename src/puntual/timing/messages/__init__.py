"""Refusals and warnings of rules, said in the language of whoever asked; what a language has no words for is English.

Code says everything in English; a catalogue holds, for each English template, that of another language.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from puntual.model.errors import InvalidRuleError
from puntual.model.said import Said
from puntual.timing.messages.spanish import SPANISH

CATALOGUES: Final[Mapping[str, Mapping[str, str]]] = {"en": {}, "es": SPANISH}


def say(message: str | Said, lang: str) -> str:
    """The message in a language; without words for it there, in English."""
    catalogue = CATALOGUES[lang]
    if isinstance(message, str):
        return catalogue.get(message, message)
    parts = {name: say(part, lang) if isinstance(part, Said) else part for name, part in message.parts.items()}
    return catalogue.get(message.template, message.template).format(**parts)


@contextmanager
def speaking(lang: str) -> Iterator[None]:
    """Says in a language why a rule is refused within."""
    try:
        yield
    except InvalidRuleError as error:
        error.say(say(error.said, lang))
        if error.hint is not None:
            error.hint = say(error.hint, lang)
        raise
