"""A phrase becomes typed tokens: case, accents and spaces do not matter, and every character has its place."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from puntual.model.errors import InvalidRuleError
from puntual.model.said import as_said, said
from puntual.timing.phrase.kinds import Kind
from puntual.timing.phrase.lexicon import Lexicon
from puntual.timing.phrase.refused import Refused

LONGEST: Final = 300
_LARGEST: Final = 1_000_000

_PIECE: Final = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<date>\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d)?(?:z|[+-]\d\d:\d\d)?)?(?!\w))"
    r"|(?P<time>\d{1,2}:\d\d(?::\d\d)?(?![\d:]))"
    r"|(?P<ordinal>\d{1,4}\.?[ºª°])"
    r"|(?P<decimal>\d{1,9}\.\d{1,6})"
    r"|(?P<compound>(?:\d{1,9}[a-z]+){2,})"
    r"|(?P<number>\d{1,12})"
    r"|(?P<word>[a-z][a-z0-9]*(?:['.][a-z]+)*\.?)"
    r"|(?P<mark>[,;&–—-])",  # noqa: RUF001 - the dashes that people's editors make of a hyphen
    re.ASCII,
)


class Token(NamedTuple):
    """A word, a number or a mark, with all that it can be."""

    text: str
    column: int
    kinds: Mapping[Kind, int]


class _Piece(NamedTuple):
    text: str
    column: int
    end: int
    form: str
    written: str


def fold(text: str) -> tuple[str, list[int]]:
    """The text in small letters without accents, and for each of its characters the column it came from, from 1."""
    folded: list[str] = []
    columns: list[int] = []
    for column, letter in enumerate(text, 1):
        for part in unicodedata.normalize("NFD", letter.casefold()):
            if not unicodedata.combining(part):
                folded.append(part)
                columns.append(column)
    return "".join(folded), columns


def tokens_of(text: str, lexicon: Lexicon) -> list[Token]:
    """The tokens of a text in a language.

    Raises:
        InvalidRuleError: with the column: a character or a word that the grammar does not know, with the nearest that
            it does; or a word that is known to be ambiguous, with what could be meant.
    """
    if len(text) > LONGEST:
        raise InvalidRuleError(
            said("a phrase has at most {most} characters, this one has {n}", most=LONGEST, n=len(text))
        )
    pieces = list(_pieces(text))
    found: list[Token] = []
    place = 0
    while place < len(pieces):
        _check_refused(text, pieces, place, lexicon)
        taken, kinds = _kinds_at(pieces, place, lexicon)
        first, last = pieces[place], pieces[place + taken - 1]
        found.append(Token(text[first.column - 1 : last.end], first.column, kinds))
        place += taken
    return found


def _pieces(text: str) -> Iterator[_Piece]:
    folded, columns = fold(text)
    place = 0

    def piece(shown: str, start: int, end: int, form: str) -> _Piece:
        first, last = columns[start], columns[end - 1]
        return _Piece(shown, first, last, form, unicodedata.normalize("NFC", text[first - 1 : last]))

    while place < len(folded):
        match = _PIECE.match(folded, place)
        if match is None:
            letter = text[columns[place] - 1]
            message = said("{letter!r} is no part of a phrase: words, numbers and times like 9:30 are", letter=letter)
            raise InvalidRuleError(message, column=columns[place])
        form = str(match.lastgroup)
        if form == "compound":
            # 1h30m
            for part in re.finditer(r"\d+|[a-z]+", match[0]):
                kind = "number" if part[0].isdigit() else "word"
                yield piece(part[0], place + part.start(), place + part.end(), kind)
        elif form != "space":
            shown = match[0].replace(".", "") if form == "word" else match[0]
            yield piece(shown, place, match.end(), form)
        place = match.end()


def _kinds_at(pieces: list[_Piece], place: int, lexicon: Lexicon) -> tuple[int, Mapping[Kind, int]]:
    """The longest entry of the lexicon that begins here: of how many pieces it is, and what it can be."""
    first = pieces[place]
    if first.form not in ("mark", "date"):
        for length in range(min(lexicon.longest + 1, len(pieces) - place), 0, -1):
            some = pieces[place : place + length]
            if some[-1].text == "-":
                continue
            text = _joined(some)
            if text in lexicon.words:
                return length, lexicon.words[text]
    if first.form == "number" and place + 1 < len(pieces):
        after = pieces[place + 1]
        if after.column == first.end + 1 and after.form == "word" and after.text in lexicon.suffixes:
            return 2, {Kind.ORDINAL: int(first.text)}
    return 1, _kinds(first, lexicon)


def _kinds(piece: _Piece, lexicon: Lexicon) -> Mapping[Kind, int]:
    """What a piece is that is no entry of the lexicon."""
    match piece.form:
        case "date":
            kind, value = Kind.DATE, 0
        case "time":
            kind, value = Kind.TIME, _seconds(piece)
        case "ordinal":
            kind, value = Kind.ORDINAL, int(re.sub(r"\D", "", piece.text))
        case "decimal":
            kind, value = Kind.DECIMAL, 0
        case "number":
            kind, value = Kind.NUMBER, int(piece.text)
            if value > _LARGEST:
                raise InvalidRuleError(
                    said("{number} is too large for a phrase", number=piece.text), column=piece.column
                )
        case "mark" if piece.text in ",;":
            kind, value = Kind.COMMA, 0
        case "mark":
            return lexicon.words["&" if piece.text == "&" else "-"]
        case _:
            raise _unknown(piece, lexicon)
    return {kind: value}


def _seconds(piece: _Piece) -> int:
    hour, minute, second = (int(part) for part in f"{piece.text}:00".split(":")[:3])
    if hour > 23 or minute > 59 or second > 59:
        midnight = "{time} is no time of day: 00:00 to 23:59 are; midnight is 00:00"
        other = "{time} is no time of day: 00:00 to 23:59 are"
        raise InvalidRuleError(said(midnight if hour == 24 else other, time=piece.text), column=piece.column)
    return hour * 3_600 + minute * 60 + second


def known_words(text: str, lexicon: Lexicon) -> int:
    """How many words of a text a language knows, in whatever order they stand."""
    entries = (*lexicon.words, *lexicon.refused, *lexicon.elsewhere)
    known = {word for entry in entries for word in entry.split()}
    return sum(word in known for word in re.findall(r"[a-z]+", fold(text)[0], re.ASCII))


def _joined(pieces: list[_Piece]) -> str:
    """The text of an entry; a hyphen within a compound is no range: twenty-five."""
    return " ".join(piece.text for piece in pieces if piece.text != "-")


def _check_refused(text: str, pieces: list[_Piece], place: int, lexicon: Lexicon) -> None:
    """Refuses words whose meaning is open, or has a key of its own, with the phrase as it would read without them."""
    first = pieces[place]
    for length in range(min(lexicon.longest, len(pieces) - place), 0, -1):
        some = pieces[place : place + length]
        words = _joined(some)
        if words in lexicon.words:
            return
        before, shown, behind = text[: first.column - 1], text[first.column - 1 : some[-1].end], text[some[-1].end :]
        if words in lexicon.elsewhere:
            why = as_said(lexicon.elsewhere[words])
            message = said("{words!r} is no part of a phrase: {why}", words=shown, why=why)
            raise InvalidRuleError(message, column=first.column)
        if words in lexicon.refused:
            offers = lexicon.refused[words]
            several, other = "{words!r} could mean different things", "{words!r} is no part of a phrase"
            message = said(several if len(offers) > 1 else other, words=shown)
            raise Refused(message, [f"{before}{offer}{behind}" for offer in offers], first.column)


def _unknown(piece: _Piece, lexicon: Lexicon) -> InvalidRuleError:
    shown = piece.written if len(piece.written) <= 40 else piece.written[:37] + "..."
    known = [word for word in lexicon.words if " " not in word and len(word) > 2]
    near = difflib.get_close_matches(piece.text[:40], known, 3, 0.7)
    # Of words equally near, the one whose letters were only swapped.
    near.sort(key=lambda word: sorted(word) != sorted(piece.text))
    if near:
        message = said("{word!r} is no word of a phrase: did you mean {near!r}?", word=shown, near=near[0])
    else:
        example = lexicon.examples["time"]
        message = said("{word!r} is no word of a phrase; write it like {example!r}", word=shown, example=example)
    return InvalidRuleError(message, column=piece.column)
