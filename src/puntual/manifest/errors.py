"""Everything that is wrong in what was written is said at once, each fault with its file, its line and its key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches

import msgspec

from puntual.model.errors import InvalidManifestError, PuntualError


class ManifestErrors(InvalidManifestError):
    """A manifest with one fault or several; nothing of it was applied.

    Message, hint, field and column are those of the first. ``errors`` holds all of them, in the order of the text; each
    keeps its own class and code.
    """

    def __init__(self, errors: Sequence[PuntualError]) -> None:
        first = errors[0]
        super().__init__(first.message, hint=first.hint, field=first.field, column=first.column)
        self.errors = tuple(errors)

    def as_dict(self) -> dict[str, object]:
        """The first fault as any error is shown; with more than one, ``errors`` lists them all."""
        shown = super().as_dict()
        if len(self.errors) > 1:
            shown["errors"] = [error.as_dict() for error in self.errors]
        return shown


class Origin(msgspec.Struct, frozen=True):
    """Where a tree came from: the name of its text (None for a request), and the line of each dotted path."""

    source: str | None = None
    lines: Mapping[str, int] = msgspec.field(default_factory=dict)

    def line(self, path: str | None) -> int | None:
        """The line of a dotted path, or of the nearest one around it."""
        while path and path not in self.lines:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.lines.get(path or "")

    def place(self, path: str | None) -> str | None:
        """``billing.yaml:12``, or the name alone where the lines are not known."""
        if self.source is None:
            return None
        line = self.line(path)
        return self.source if line is None else f"{self.source}:{line}"


class Faults:
    """Gathers the faults of one tree, so that a reader may go on after the first."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self._found: list[tuple[int, PuntualError]] = []

    def __len__(self) -> int:
        return len(self._found)

    @property
    def errors(self) -> list[PuntualError]:
        """The faults, in the order of the text where its lines are known."""
        return [error for _, error in sorted(self._found, key=lambda found: found[0])]

    def add(self, error: PuntualError) -> None:
        """Keeps a fault, with its place written in front of its sentence."""
        self._found.append((self.origin.line(error.field) or 0, located(error, self.origin)))

    def refuse(self, message: str, field: str, *, hint: str | None = None) -> None:
        """Keeps a fault of our own."""
        self.add(InvalidManifestError(message, field=field, hint=hint))

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """Keeps what is raised inside, and goes on after the block."""
        try:
            yield
        except PuntualError as error:
            self.add(error)


def located(error: PuntualError, origin: Origin) -> PuntualError:
    """The same fault with its place and its key in front of its sentence, unless the sentence names them."""
    field = _printable(error.field) if error.field else None
    message = _printable(error.message)
    if field and not re.search(rf"(?<![\w.]){re.escape(field)}(?!\w)", message):
        message = f"{field}: {message}"
    place = origin.place(error.field)
    if place is not None:
        message = f"{place}: {message}"
    return type(error)(message, hint=error.hint, field=field, column=error.column)


def _printable(text: str) -> str:
    """A text that no terminal obeys, though the names and values in it may be anybody's."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def nearest(word: str, known: Sequence[str]) -> str | None:
    """The known word that somebody may have meant."""
    by_lower = {name.lower(): name for name in known}
    found = get_close_matches(word.lower().replace("-", "_"), list(by_lower), n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None


def shown(value: object, most: int = 60) -> str:
    """A value as a sentence may show it: short, and in the words of YAML rather than of Python."""
    match value:
        case None:
            return "empty"
        case bool():
            return "true" if value else "false"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str():
            return repr(value if len(value) <= most else value[: most - 3] + "...")
        case _:
            text = str(value)
            return f"the number {text if len(text) <= most else text[: most - 3] + '...'}"
