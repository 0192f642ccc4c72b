"""Lists as tables that fit the terminal: ids are never cut, the widest texts give way first, every cell is harmless.

A column's title may begin with marks: ``!`` keeps its width in any case, ``>`` holds numbers, ``~`` is left out where
there is no room, before any other column is cut, and ``+`` is a note, the last column, which goes below its row where
there is no room for all of it beside. A column without any value is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
from rich.console import Console
from rich.text import Text

from puntual.cli.words import clean

#: The word says it all; the colour only helps.
STYLES: Final[Mapping[str, str]] = {
    "succeeded": "green",
    "ran": "green",
    "running": "cyan",
    "planned": "cyan",
    "pending": "blue",
    "dead": "red",
    "failed": "red",
    "timed_out": "red",
    "lost": "red",
    "unknown": "red",
    "missed": "red",
    "cancelled": "yellow",
    "skipped": "yellow",
    "coalesced": "yellow",
    "snoozed": "yellow",
    "paused": "yellow",
    "draining": "yellow",
    "overdue": "red",
}
_LONGEST: Final = 200
_GAP: Final = 2
#: A text is cut to no less than this; optional columns are there only while others have that.
_NARROWEST: Final = 8
_COMFORTABLE: Final = 40


class Column(msgspec.Struct, frozen=True):
    """A column and what its marks say."""

    title: str
    fixed: bool
    number: bool
    optional: bool
    note: bool

    @classmethod
    def read(cls, text: str) -> Column:
        """The column of a title with its marks."""
        title = text.lstrip("!>~+")
        marks = text[: len(text) - len(title)]
        return cls(title, "!" in marks, ">" in marks, "~" in marks, "+" in marks)


def table(
    console: Console,
    titles: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    heads: bool = True,
    whole_notes: bool = False,
) -> None:
    """Prints rows under their heads; notes below their rows take as many lines as they need if ``whole_notes``."""
    every = [Column.read(title) for title in titles]
    given = [[cell(value) for value in row] for row in rows]
    kept = [place for place, column in enumerate(every) if column.fixed or any(row[place] for row in given)]
    columns = [every[place] for place in kept]
    cells = [[row[place] for place in kept] for row in given]
    if not columns:
        return
    lines = [[Text(column.title, style="bold") for column in columns], *cells] if heads else cells
    widths = fit(
        columns,
        [max((line[place].cell_len for line in lines), default=0) for place in range(len(columns))],
        console.width,
    )
    beside = _note_beside(columns, lines, widths, console.width)
    for line in lines:
        _print_line(console, columns, line, widths, beside=beside)
        if columns[-1].note and not beside and (not heads or line is not lines[0]):
            _print_below(console, line[-1], whole=whole_notes or columns[-1].fixed)


def fit(columns: Sequence[Column], natural: Sequence[int], width: int) -> list[int]:
    """How wide each column is, in a terminal of that width; 0 leaves it out, and so are notes.

    Args:
        columns: what may give way.
        natural: how wide each would like to be.
        width: of the terminal.
    """
    widths = [0 if column.note else wish for column, wish in zip(columns, natural, strict=True)]
    for place in reversed(range(len(columns))):
        if columns[place].optional and _total(_floors(columns, widths, _COMFORTABLE)) > width:
            widths[place] = 0
    floors = _floors(columns, widths, _NARROWEST)
    while _total(widths) > width:
        place = max(range(len(widths)), key=lambda each: widths[each] - floors[each] and widths[each])
        if widths[place] <= floors[place]:
            break
        widths[place] -= 1
    return widths


def _floors(columns: Sequence[Column], widths: Sequence[int], least: int) -> list[int]:
    """How narrow each column may become."""
    return [
        width if column.fixed or column.number else min(width, least)
        for column, width in zip(columns, widths, strict=True)
    ]


def _total(widths: Sequence[int]) -> int:
    return sum(width + _GAP for width in widths if width) - _GAP


def _note_beside(columns: Sequence[Column], lines: Sequence[Sequence[Text]], widths: Sequence[int], width: int) -> bool:
    """Whether all notes fit beside their rows."""
    longest = max((line[-1].cell_len for line in lines), default=0)
    return columns[-1].note and longest <= width - _total(widths) - _GAP


def _print_line(
    console: Console, columns: Sequence[Column], line: Sequence[Text], widths: Sequence[int], *, beside: bool
) -> None:
    row = Text()
    for column, text, width in zip(columns, line, widths, strict=True):
        if not width:
            continue
        text.truncate(width, overflow="ellipsis")
        room = " " * (width - text.cell_len)
        row = Text.assemble(row, " " * _GAP if row else "", *((room, text) if column.number else (text, room)))
    if beside:
        row = Text.assemble(row, " " * _GAP, line[-1])
    row.rstrip()
    _print(console, row)


def _print_below(console: Console, note: Text, *, whole: bool) -> None:
    room = max(console.width - 2 * _GAP, _NARROWEST)
    if not whole:
        note.truncate(room, overflow="ellipsis")
    for line in note.wrap(console, room) if note else ():
        line.rstrip()
        _print(console, Text.assemble(" " * 2 * _GAP, line))


def _print(console: Console, line: Text) -> None:
    """As it is: what does not fit is the terminal's to wrap, so that an id stays whole."""
    console.print(line, crop=False, no_wrap=True, overflow="ignore")


def cell(value: object) -> Text:
    """A value as a harmless cell; a word that names a state in its colour."""
    if isinstance(value, Text):
        return value
    text = "" if value is None else clean(value, _LONGEST)
    return Text(text, style=STYLES.get(text, ""))


def pairs(console: Console, rows: Iterable[tuple[str, object]], style: str = "") -> None:
    """Prints names with their values beneath each other, without those that are empty; a value is never cut."""
    said = [(name, value) for name, value in rows if value not in (None, "", [], {})]
    names = max((len(name) for name, _ in said), default=0) + _GAP
    for name, value in said:
        # A value of any length, over as many lines as it needs.
        text = value if isinstance(value, Text) else Text(clean(value, keep="\n"))
        head = Text(f"{name:<{names}}", style=style or "bold")
        for line in text.wrap(console, max(console.width - names, _NARROWEST)):
            line.rstrip()
            _print(console, Text.assemble(head, (line.plain, style) if style else line))
            head = Text(" " * names)


def empty(console: Console, what: str, command: str | None = None) -> None:
    """Says that there is nothing, and which command would change that, where one would."""
    if command is None:
        console.print(what)
    else:
        console.print(f"{what} Try: ", Text(f"puntual {command}", style="bold"), sep="")
