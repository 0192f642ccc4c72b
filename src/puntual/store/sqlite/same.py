"""The files at the path are those that were opened: a changed database is noticed, instead of being written into.

A file that was moved over ours, or removed, leaves us on one that nobody else can see: ticks would run twice, and what
others enqueue would never be found. One that was copied over ours, cut or scribbled over, has our log beside it and our
connections in it still: the log moved into it would make a third one of the two. Only a start on the file that is there
now can put either right.
"""

from __future__ import annotations

import os
import threading
import time

import msgspec

from puntual.model.errors import StoreUnusableError
from puntual.store.sqlite.connection import MEMORY
from puntual.store.sqlite.descriptor import Descriptor, hold

#: Seconds between two looks: one costs four microseconds, and nobody replaces a database by the second.
_EVERY = 1.0
#: The header of SQLite's file format, and what of it never changes while the database is in use: that it is one, the
#: size of its pages, and that it has a log.
_HEADER, _FIXED = 100, 24


class _Seen(msgspec.Struct, frozen=True):
    """What a look showed: which files are at the paths, and the beginning and size of the one that was opened."""

    files: tuple[tuple[int, int] | None, tuple[int, int] | None]
    header: bytes
    size: int

    def number(self, offset: int) -> int:
        """A number of the header."""
        return int.from_bytes(self.header[offset : offset + 4], "big")

    @property
    def pages(self) -> int:
        """How many the file has, by its header."""
        return self.number(28)

    @property
    def cookie(self) -> int:
        """Grows with each change of the schema, and when the file is made smaller in order (VACUUM)."""
        return self.number(40)

    @property
    def cut(self) -> bool:
        """Whether the file is shorter than its header says; while the log is moved it may be."""
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

    def opened(self) -> None:
        """The file is open now: this is the one. `closed` is owed from here on."""
        if self._path != MEMORY:
            self._held = hold(self._path)
            self._last = self._look(self._held)
        self._trouble = None

    def closed(self) -> None:
        """No connection has it open any more."""
        held, self._held = self._held, None
        if held is not None:
            held.let_go()

    def check(self) -> None:
        """Does nothing most of the time.

        Raises:
            StoreUnusableError: another file, or none, is at the path, or another content in the file.
        """
        if not self._sound(_EVERY):
            raise StoreUnusableError(
                f"{self._path} {self._trouble} while it was in use, so nothing more is written: stop every"
                " puntual that uses it, put the right file there, and start again."
            )

    def may_be_written(self) -> bool:
        """Looks now: whether the log may be moved into the file."""
        return self._sound(0.0)

    def _sound(self, every: float) -> bool:
        with self._lock:
            if self._trouble is None and self._held is not None and time.monotonic() - self._looked_at >= every:
                self._looked_at = time.monotonic()
                # A header that is written at this moment may be read in two halves: only what stays so is trouble.
                self._trouble = self._compare(self._held) and self._compare(self._held)
                if self._trouble is not None:
                    self._held.keep_from_closing()
            return self._trouble is None

    def _compare(self, held: Descriptor) -> str | None:
        """What has become of the file; None if nothing has."""
        assert self._last is not None
        last, now = self._last, self._look(held)
        if now.files != last.files:
            return "was removed or replaced"
        older = now.pages < last.pages and now.cookie <= last.cookie
        if now.header[:_FIXED] != last.header[:_FIXED] or older or (now.size < last.size and now.cut):
            return "was overwritten or cut short"
        self._last = now
        return None

    def _look(self, held: Descriptor) -> _Seen:
        files = (_identity(self._path), _identity(f"{self._path}-wal"))
        return _Seen(files, held.read(_HEADER), held.size())


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
