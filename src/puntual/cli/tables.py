"""Lists as tables: ids are never cut or wrapped, the widest texts give way first, and every cell is harmless."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

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


def table(console: Console, columns: Sequence[str], rows: Iterable[Sequence[object]], *, heads: bool = True) -> None:
    """Prints rows under their heads. The column ``!Name`` keeps its width in any case, ``>Name`` holds numbers."""
    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_header=heads)
    cells = [[cell(value) for value in row] for row in rows]
    for place, column in enumerate(columns):
        widest = max((row[place].cell_len for row in cells), default=0)
        shown.add_column(
            column.lstrip("!>"),
            no_wrap=True,
            overflow="ellipsis",
            justify="right" if column.startswith(">") else "left",
            min_width=widest if column.startswith("!") else None,
        )
    for row in cells:
        shown.add_row(*row)
    console.print(shown, crop=False, soft_wrap=False)


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
            grid.add_row(name, value if isinstance(value, Text) else cell_of_any(value))
    console.print(grid)


def cell_of_any(value: object) -> Text:
    """A value of any length, over as many lines as it needs."""
    text = clean(value, keep="\n")
    return Text(text, style=STYLES.get(text, ""))


def empty(console: Console, what: str, command: str) -> None:
    """Says that there is nothing, and which command would change that."""
    console.print(f"{what} Try: ", Text(f"puntual {command}", style="bold"), sep="")
