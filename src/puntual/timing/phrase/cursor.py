"""Where the parser stands in the tokens of a phrase, and how it says what it cannot read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from puntual.model.errors import InvalidRuleError
from puntual.model.said import Said, as_said, said
from puntual.timing.phrase.kinds import Kind
from puntual.timing.phrase.lexicon import Lexicon
from puntual.timing.phrase.refused import Refused
from puntual.timing.phrase.tokens import Token


class Cursor:
    """A place in the tokens; every look ahead is bounded, and nothing is ever passed over."""

    def __init__(self, tokens: Sequence[Token], lexicon: Lexicon, whole: str) -> None:
        self._tokens = tokens
        self.whole = whole
        self.lexicon = lexicon
        self.place = 0

    @property
    def at_end(self) -> bool:
        """Whether every token was read."""
        return self.place >= len(self._tokens)

    @property
    def column(self) -> int:
        """The column of the token that comes next, or the one after the phrase."""
        return len(self.whole) + 1 if self.at_end else self._tokens[self.place].column

    def sees(self, *kinds: Kind, ahead: int = 0) -> bool:
        """Whether a token to come is of one of these kinds."""
        place = self.place + ahead
        return place < len(self._tokens) and any(kind in self._tokens[place].kinds for kind in kinds)

    def began_with(self, kind: Kind) -> bool:
        """Whether the first token is of this kind."""
        return kind in self._tokens[0].kinds

    def take(self, kind: Kind) -> int | None:
        """The value of the next token, and past it, if it is of this kind."""
        if not self.sees(kind):
            return None
        self.place += 1
        return self._tokens[self.place - 1].kinds[kind]

    def value(self, kind: Kind) -> int:
        """The value of the next token, which is of this kind."""
        return self._tokens[self.place].kinds[kind]

    def skip(self, *kinds: Kind) -> bool:
        """Past the next tokens of these kinds, each kind at most once; whether there was one."""
        start = self.place
        left = {*kinds}
        while self.sees(*left):
            left -= self._tokens[self.place].kinds.keys()
            self.place += 1
        return self.place > start

    def text(self, ahead: int = 0) -> str:
        """The text of a token to come, or of one that was read."""
        place = self.place + ahead
        return self._tokens[place].text if 0 <= place < len(self._tokens) else ""

    def between(self, start: int, end: int) -> str:
        """The tokens from one place up to but not including another, with a space between them."""
        return " ".join(token.text for token in self._tokens[start:end])

    def instead(self, written: str, column: int, place: int | None = None) -> str:
        """The whole phrase with other words where it has those from a column up to the token before a place."""
        return self.with_all([(written, column, self.place if place is None else place)])

    def with_all(self, changes: Sequence[tuple[str, int, int]]) -> str:
        """The whole phrase with several such changes, in the order of their columns."""
        text = self.whole
        for written, column, place in reversed(changes):
            last = self._tokens[place - 1]
            text = f"{text[: column - 1]}{written}{text[last.column - 1 + len(last.text) :]}"
        return text

    def separator(self, *after: Kind) -> bool:
        """Past a comma, an "and" or both, if what follows them is of one of these kinds, articles left out."""
        start = self.place
        if self.skip(Kind.COMMA, Kind.AND):
            behind = self.place
            self.skip(Kind.AT, Kind.ON, Kind.THE, Kind.FROM)
            if self.sees(*after):
                self.place = behind
                return True
        self.place = start
        return False

    def expected(self, what: str | Said) -> NoReturn:
        """Refuses what stands here.

        Raises:
            InvalidRuleError: it says what would be right.
        """
        what = as_said(what)
        if self.at_end:
            message = said("the phrase ends where {what} is expected", what=what)
        else:
            message = said("{word!r} stands where {what} is expected", word=self.text(), what=what)
        raise InvalidRuleError(message, column=self.column)

    def refuse(self, message: str | Said, *offers: str, column: int | None = None) -> NoReturn:
        """Refuses with a message and the whole phrases that could be meant; those that cannot be read are left out.

        Raises:
            Refused: always.
        """
        raise Refused(message, offers, self.column if column is None else column)
