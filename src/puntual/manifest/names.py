"""Which names schedules, queues and owners may have: such as stand in URLs, command lines and logs without quotes."""

from __future__ import annotations

import unicodedata
from typing import Final

from puntual.model.errors import InvalidManifestError

LONGEST: Final = 200
#: What may stand in a name beside the letters, marks and digits of any script.
PUNCTUATION: Final = "-_.:@+"

#: Letters and marks that show nothing: two names that differ in them alone would look the same.
_INVISIBLE: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0" + "".join(map(chr, range(0xFE00, 0xFE10))))


def check_name(name: str, *, field: str, what: str = "name") -> str:
    """The name, unchanged.

    A name has 1 to 200 letters and digits of any script and ``- _ . : @ +``, starts with a letter, a digit or ``_``,
    and is composed (NFC), so that two names that look the same are the same.

    Raises:
        InvalidManifestError: it is not so; the sentence says which character is in the way.
    """
    shown = repr(name if len(name) <= 60 else name[:57] + "...")
    if not 1 <= len(name) <= LONGEST:
        problem = "is empty" if not name else f"has {len(name)} characters, and {LONGEST} are the most"
    elif (wrong := next((letter for letter in name if not _allowed(letter)), None)) is not None:
        problem = f"holds {wrong!r}: use letters, digits and {' '.join(PUNCTUATION)}"
    elif name[0] != "_" and not name[0].isalnum():
        problem = f"starts with {name[0]!r}: start it with a letter, a digit or _"
    elif not unicodedata.is_normalized("NFC", name):
        problem = "is written with separate accents: write it composed (Unicode NFC)"
    else:
        return name
    raise InvalidManifestError(f"the {what} {shown} {problem}", field=field)


def _allowed(letter: str) -> bool:
    return letter in PUNCTUATION or (unicodedata.category(letter)[0] in "LMN" and letter not in _INVISIBLE)
