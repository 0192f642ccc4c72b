"""Which names schedules, queues and owners may have: such as stand in URLs, command lines and logs without quotes."""

from __future__ import annotations

import unicodedata
from typing import Final

from puntual.model.errors import InvalidError
from puntual.model.payload import safe_text

LONGEST: Final = 200
#: What may stand in a name beside the letters, marks and digits of any script.
PUNCTUATION: Final = "-_.:@+"

#: Letters and marks that show nothing: two names that differ in them alone would look the same.
_INVISIBLE: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0" + "".join(map(chr, range(0xFE00, 0xFE10))))


def fault_of(name: str) -> str | None:
    """The name and what is wrong with it, to be put into a sentence; None if it may be one.

    A name has 1 to 200 letters and digits of any script and ``- _ . : @ +``, starts with a letter, a digit or ``_``,
    and is composed (NFC), so that two names that look the same are the same.
    """
    if not 1 <= len(name) <= LONGEST:
        problem = "is empty" if not name else f"has {len(name)} characters, and {LONGEST} are the most"
    elif (wrong := next((letter for letter in name if not _allowed(letter)), None)) is not None:
        problem = f"holds {wrong!r}: use letters, digits and {' '.join(PUNCTUATION)}"
    elif name[0] != "_" and not name[0].isalnum():
        problem = f"starts with {name[0]!r}: start it with a letter, a digit or _"
    elif not unicodedata.is_normalized("NFC", name):
        problem = "is written with separate accents: write it composed (Unicode NFC)"
    else:
        return None
    shown = name if len(name) <= 60 else name[:57] + "..."
    return f"{shown!r} {problem}"


def check_queue(name: object, *, field: str = "queue") -> str:
    """The name of a queue, unchanged.

    Raises:
        InvalidError: it is no text, or no name; the sentence says what is in the way.
    """
    if not isinstance(name, str):
        raise InvalidError(f"{field} is {safe_text(name, limit=60, as_repr=True)}; it must be a name.", field=field)
    if (fault := fault_of(name)) is not None:
        raise InvalidError(f"The queue {fault}.", field=field)
    return name


def _allowed(letter: str) -> bool:
    return letter in PUNCTUATION or (unicodedata.category(letter)[0] in "LMN" and letter not in _INVISIBLE)
