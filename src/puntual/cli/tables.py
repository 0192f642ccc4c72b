"""Lists as tables that fit the terminal: ids are never cut, the widest texts give way first, every cell is harmless.

A column's title may begin with marks: ``!`` keeps its width in any case, ``>`` holds numbers, ``~`` is left out where
there is no room, and ``+`` is a note, the last column, which goes below its row where there is no room beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
from rich.console import Console
from rich.table import Table
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
}
_LONGEST: Final = 200
_GAP: Final = 2
#: A text is cut to no less than this, a note beside its row to no less than that.
_NARROWEST: Final = 8
_NARROWEST_NOTE: Final = 24


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


def table(console: Console, titles: Sequence[str], rows: Iterable[Sequence[object]], *, heads: bool = True) -> None:
    """Prints rows under their heads."""
    columns = [Column.read(title) for title in titles]
    cells = [[cell(value) for value in row] for row in rows]
    lines = [[Text(column.title, style="bold") for column in columns], *cells] if heads else cells
    widths = fit(
        columns,
        [max((line[place].cell_len for line in lines), default=0) for place in range(len(columns))],
        console.width,
    )
    beside = _note_beside(columns, lines, widths, console.width)
    for line in lines:
        _print_line(console, columns, line, widths, beside=beside)


def fit(columns: Sequence[Column], natural: Sequence[int], width: int) -> list[int]:
    """How wide each column is, in a terminal of that width; 0 leaves it out, and so are notes.

    Args:
        columns: what may give way.
        natural: how wide each would like to be.
        width: of the terminal.
    """
    widths = [0 if column.note else wish for column, wish in zip(columns, natural, strict=True)]
    floors = [
        wish if column.fixed or column.number else min(wish, _NARROWEST)
        for column, wish in zip(columns, widths, strict=True)
    ]
    for place in reversed(range(len(columns))):
        if columns[place].optional and _total(floors) > width:
            widths[place] = floors[place] = 0
    while _total(widths) > width:
        place = max(range(len(widths)), key=lambda each: widths[each] - floors[each] and widths[each])
        if widths[place] <= floors[place]:
            break
        widths[place] -= 1
    return widths


def _total(widths: Sequence[int]) -> int:
    return sum(width + _GAP for width in widths if width) - _GAP


def _note_beside(columns: Sequence[Column], lines: Sequence[Sequence[Text]], widths: Sequence[int], width: int) -> int:
    """How much room there is for the note beside its row; 0 where it goes below."""
    if not columns[-1].note:
        return 0
    room = width - _total(widths) - _GAP
    longest = max((line[-1].cell_len for line in lines), default=0)
    return room if room >= min(longest, _NARROWEST_NOTE) else 0


def _print_line(
    console: Console, columns: Sequence[Column], line: Sequence[Text], widths: Sequence[int], *, beside: int
) -> None:
    row = Text()
    for column, text, width in zip(columns, line, widths, strict=True):
        if not width:
            continue
        text.truncate(width, overflow="ellipsis")
        room = " " * (width - text.cell_len)
        row = Text.assemble(row, " " * _GAP if row else "", *((room, text) if column.number else (text, room)))
    note = line[-1] if columns[-1].note else Text()
    if beside:
        note.truncate(beside, overflow="ellipsis")
        row = Text.assemble(row, " " * _GAP, note)
    row.rstrip()
    _print(console, row)
    if not beside and note and note.plain != columns[-1].title:
        note.truncate(max(console.width - 2 * _GAP, _NARROWEST), overflow="ellipsis")
        _print(console, Text.assemble(" " * 2 * _GAP, note))


def _print(console: Console, line: Text) -> None:
    """As it is: what does not fit is the terminal's to wrap, so that an id stays whole."""
    console.print(line, crop=False, no_wrap=True, overflow="ignore")


def cell(value: object) -> Text:
    """A value as a harmless cell; a word that names a state in its colour."""
    if isinstance(value, Text):
        return value
    text = "" if value is None else clean(value, _LONGEST)
    return Text(text, style=STYLES.get(text, ""))


def pairs(console: Console, rows: Iterable[tuple[str, object]]) -> None:
    """Prints names with their values beneath each other, without those that are empty."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        if value not in (None, "", [], {}):
            grid.add_row(name, value if isinstance(value, Text) else _long_cell(value))
    console.print(grid)


def _long_cell(value: object) -> Text:
    """A value of any length, over as many lines as it needs."""
    return Text(clean(value, keep="\n"))


def empty(console: Console, what: str, command: str) -> None:
    """Says that there is nothing, and which command would change that."""
    console.print(f"{what} Try: ", Text(f"puntual {command}", style="bold"), sep="")
