"""The SQL files of a store, all read at the first need of one: a process may be unable to open files later.

A handler that leaks descriptors takes them from the whole process, and what that holds must still be written down.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def texts(package: str) -> Mapping[str, str]:
    """The text of each ``sql/<name>.sql`` of a package, by name."""
    found = (each for each in (files(package) / "sql").iterdir() if each.name.endswith(".sql"))
    return {each.name.removesuffix(".sql"): each.read_text(encoding="utf-8") for each in found}
