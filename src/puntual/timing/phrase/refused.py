"""What a refusal offers can be read: each phrase offered was tried, and is left out where it would be refused too."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from puntual.model.errors import InvalidRuleError
from puntual.model.said import Said, as_said, either, said
from puntual.timing.phrase.lexicon import Lexicon

ONE_TIME = "at: "
_TIMES = ("9:00", "5:00")


class Refused(InvalidRuleError):
    """A refusal with whole phrases that could be meant, none of them tried yet."""

    def __init__(self, message: str | Said, offers: Iterable[str], column: int | None) -> None:
        super().__init__(message, column=column)
        self.offers = tuple(dict.fromkeys(offers))


def tried(error: Refused, lexicon: Lexicon, reads: Callable[[str], object]) -> InvalidRuleError:
    """The refusal with the offers that can be read, with a time where they lack nothing else.

    Args:
        error: with what it would offer.
        lexicon: of the language of the phrase.
        reads: reads a phrase, or raises.
    """
    shown: list[Said] = []
    for offer in error.offers:
        times = (lexicon.example("at", times=time) for time in _TIMES)
        ways = [offer, *(f"{offer.rstrip()} {time}" for time in times)]
        found = offer if offer.startswith(ONE_TIME) else next((way for way in ways if _readable(way, reads)), None)
        if found is not None:
            shown.append(said("'{offer}'", offer=found))
    if not shown:
        return InvalidRuleError(error.said, column=error.column)
    message = said("{fault}: write {offers}", fault=as_said(error.said), offers=either(shown))
    return InvalidRuleError(message, column=error.column)


def _readable(phrase: str, reads: Callable[[str], object]) -> bool:
    try:
        reads(phrase)
    except InvalidRuleError:
        return False
    return True
