"""The file at the path is the one that was opened: a replaced database is noticed, instead of being written beside.

A file that was moved over ours, or removed, leaves us on one that nobody else can see: ticks would run twice, and what
others enqueue would never be found. Only a start on the file that is there now can put that right.
"""

from __future__ import annotations

import time
from pathlib import Path

from puntual.model.errors import StoreUnusableError
from puntual.store.sqlite.connection import MEMORY

#: Seconds between two looks: a stat costs a microsecond, and nobody replaces a database by the second.
_EVERY = 1.0


class SameFile:
    """Looks at the path from time to time, for all connections of a store."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._identity: tuple[int, int] | None = None
        self._looked_at = 0.0
        self._gone = False

    def opened(self) -> None:
        """The file is open now: this is the one."""
        self._identity = None if self._path == MEMORY else self._look()
        self._gone = False

    def check(self) -> None:
        """Does nothing most of the time.

        Raises:
            StoreUnusableError: another file, or none, is at the path.
        """
        if self._identity is None:
            return
        now = time.monotonic()
        if not self._gone and now - self._looked_at < _EVERY:
            return
        self._looked_at = now
        self._gone = self._gone or self._look() != self._identity
        if self._gone:
            raise StoreUnusableError(
                f"{self._path} was removed or replaced while it was in use, so nothing more is written: stop every"
                " puntual that uses it, put the right file there, and start again."
            )

    def _look(self) -> tuple[int, int] | None:
        try:
            found = Path(self._path).stat()
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino
