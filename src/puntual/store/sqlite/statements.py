"""SQL by the name of its verb: the files are read once, and one that takes rows is stretched to how many there are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from puntual.store.rows.codec import SqlValue
from puntual.store.rows.texts import texts

#: Sizes for which a many-row statement is prepared; a batch takes the next larger one and fills it up with NULL rows,
#: which every such statement passes over. One step for 256 rows matters: sqlite3 gives up the GIL at each, and with a
#: busy main thread getting it back may take 5 ms.
SIZES = (1, 4, 16, 64, 256)

_PART = re.compile(r"\$(\w+)")


@cache
def sql(name: str) -> str:
    """The text of ``sql/<name>.sql``; ``$part`` in it stands for ``_part.sql``, columns that several files share."""
    text = texts("puntual.store.sqlite")[name]
    return _PART.sub(lambda found: sql(f"_{found.group(1)}").strip(), text)


@cache
def _stretched(name: str, width: int, size: int) -> str:
    row = "(" + ", ".join("?" * width) + ")"
    return sql(name).replace("(:row)", ", ".join([row] * size))


def batches(name: str, rows: Sequence[Sequence[SqlValue]]) -> Iterator[tuple[str, list[SqlValue]]]:
    """The statement for each part of at most 256 rows, with its parameters flattened."""
    largest = SIZES[-1]
    for start in range(0, len(rows), largest):
        part = rows[start : start + largest]
        width = len(part[0])
        size = next(size for size in SIZES if size >= len(part))
        flat = [value for row in part for value in row]
        flat.extend([None] * (width * (size - len(part))))
        yield _stretched(name, width, size), flat
