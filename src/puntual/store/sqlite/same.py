"""The files at the path are those that were opened: a changed database is noticed, instead of being written into.

A file that was moved over ours, or removed, leaves us on one that nobody else can see: ticks would run twice, and what
others enqueue would never be found. One that was copied over ours, cut or scribbled over, has our log beside it and our
connections in it still: the log moved into it would make a third one of the two. Only a start on the file that is there
now can put either right.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from puntual.model.errors import StoreUnavailableError, StoreUnusableError
from puntual.store.sqlite import checkpoint
from puntual.store.sqlite.connection import MEMORY
from puntual.store.sqlite.descriptor import Descriptor, hold

#: Seconds between two looks: one costs four microseconds, and nobody replaces a database by the second.
_EVERY = 1.0
#: The header of SQLite's file format; what of it never changes while the database is in use (that it is one, the size
#: of its pages, that it has a log); and where it counts the changes of its schema, VACUUM among them.
_HEADER, _FIXED, _COOKIE = 100, 24, 40

_ANOTHER_FILE = "was removed or replaced"
_ANOTHER_CONTENT = "was overwritten or cut short"


class _Seen(msgspec.Struct, frozen=True):
    """What a look showed: which files are at the paths, and the beginning and size of the one that was opened."""

    files: tuple[tuple[int, int] | None, ...]
    header: bytes
    size: int

    def number(self, offset: int) -> int:
        """A number of the header."""
        return int.from_bytes(self.header[offset : offset + 4], "big")

    @property
    def pages(self) -> int:
        """How many the file has, by its header."""
        return self.number(28)

    def leads_to(self, now: _Seen) -> bool:
        """Whether the file can have become what it is now in use: it then grows, unless it is made anew (VACUUM)."""
        older = now.pages < self.pages and now.number(_COOKIE) <= self.number(_COOKIE)
        cut = now.size < self.size and now._unfinished
        return now.header[:_FIXED] == self.header[:_FIXED] and not older and not cut

    @property
    def _unfinished(self) -> bool:
        """Whether it is shorter than its header says: so it is left by who moves the log, and dies or finds no room."""
        page = int.from_bytes(self.header[16:18], "big")
        return self.size < self.pages * (page if page > 1 else 65_536)


class SameFile:
    """Looks at the path from time to time, for all connections of a store."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._held: Descriptor | None = None
        self._last: _Seen | None = None
        self._looked_at = 0.0
        self._trouble: str | None = None

    def hold(self, held: Descriptor | None = None) -> None:
        """Keeps the file open until `closed`, which must come after the last connection.

        Args:
            held: what has been held already, and passes to this one.

        Raises:
            OSError: it cannot be opened.
        """
        if self._held is None and self._path != MEMORY:
            self._held = held or hold(self._path)

    def opened(self) -> None:
        """The first connection is made, and the log is there: this is what they must remain."""
        self._trouble = None
        if self._held is not None:
            self._last = self._look(self._held)
            if self._last.files[0] != self._held.identity():
                self._trouble = _ANOTHER_FILE

    def closed(self) -> None:
        """No connection has it open any more."""
        held, self._held = self._held, None
        if held is not None:
            held.let_go()

    def check(self) -> None:
        """Does nothing most of the time.

        Raises:
            StoreUnusableError: another file, or none, is at the path, or another content in the file.
            StoreUnavailableError: it cannot be seen.
        """
        self._check(_EVERY)

    def check_now(self) -> None:
        """As ``check``, and looks in any case."""
        self._check(0.0)

    def may_be_written(self) -> bool:
        """Looks now, for one who holds the lock of the log: whether it may be moved into the file.

        Raises:
            OSError: it cannot be seen.
        """
        return self._find(0.0, alone=True) is None

    def _check(self, every: float) -> None:
        try:
            found = self._find(every, alone=False)
        except OSError as error:
            raise StoreUnavailableError(f"{self._path} cannot be looked at ({error}): see to its disk.") from error
        if found is not None:
            raise StoreUnusableError(
                f"{self._path} {found} while it was in use, so nothing more is written: stop every puntual that uses"
                " it, put the right file there, and start again."
            )

    def _find(self, every: float, *, alone: bool) -> str | None:
        """What has become of the file, once and for all; None if nothing has."""
        with self._lock:
            if self._trouble is None and self._held is not None and time.monotonic() - self._looked_at >= every:
                self._looked_at = time.monotonic()
                self._trouble = self._compare(self._held, alone=alone)
                if self._trouble is not None:
                    with suppress(OSError):  # A system without room for a lock leaves it at what the sentence says.
                        self._held.keep_from_closing()
            return self._trouble

    def _compare(self, held: Descriptor, *, alone: bool) -> str | None:
        assert self._last is not None
        now = self._look(held)
        if now.files != self._last.files:
            return _ANOTHER_FILE
        if self._last.leads_to(now):
            self._last = now
            return None
        if alone:
            return _ANOTHER_CONTENT
        # While the log is moved into it a file is what nobody has to read. Then there will be another look.
        with suppress(OSError), checkpoint.alone(self._path):
            return None if self._last.leads_to(self._look(held)) else _ANOTHER_CONTENT
        return None

    def _look(self, held: Descriptor) -> _Seen:
        # Without the third two processes that write would each have an index of the log of their own.
        files = tuple(_identity(f"{self._path}{part}") for part in ("", "-wal", "-shm"))
        return _Seen(files, held.read(_HEADER), held.size())


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = Path(path).stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
