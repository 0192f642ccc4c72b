"""SQL by the name of its verb: the files are read once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from puntual.store.rows.codec import SqlValue
from puntual.store.rows.texts import texts

#: A part is written ``$name``; PostgreSQL's own parameters are numbers.
_PART = re.compile(r"\$([a-z_]+)")


@cache
def sql(name: str) -> str:
    """The text of ``sql/<name>.sql``; ``$part`` in it stands for ``_part.sql``, columns that several files share."""
    text = texts("puntual.store.postgres")[name]
    return _PART.sub(lambda found: sql(f"_{found.group(1)}").strip(), text)


def columns(rows: Sequence[Sequence[SqlValue]]) -> list[list[SqlValue]]:
    """Rows as one array for each column, in the shape that ``unnest`` takes."""
    return [list(column) for column in zip(*rows, strict=True)]
