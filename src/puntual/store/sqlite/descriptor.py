"""One descriptor of each database file for the whole process: reading the file by itself never costs SQLite its locks.

Whoever closes any descriptor of a file gives up every lock that his process has on it, those of SQLite too (POSIX,
``fcntl``). Another process then takes itself for the last one, and removes the log that is in use here: what is
accepted afterwards is in no file. So a file is opened once, and closed when the last that holds it lets go.
"""

from __future__ import annotations

import fcntl
import os
import struct
import sys
import threading
from pathlib import Path

#: Where SQLite keeps its locks of a file, and how many bytes readers share.
_SHARED, _SHARED_SIZE = 0x40000002, 510

_lock = threading.Lock()
_held: dict[tuple[int, int], Descriptor] = {}


class Descriptor:
    """The file, open for reading; made by `hold`."""

    def __init__(self, number: int) -> None:
        self._numbers = [number]
        self._holders = 0

    def read(self, size: int) -> bytes:
        """The first bytes of it, fewer where it is shorter."""
        return os.pread(self._numbers[0], size, 0)

    def identity(self) -> tuple[int, int]:
        """Which file it is."""
        return _identity(os.fstat(self._numbers[0]))

    def size(self) -> int:
        """Of the file, bytes."""
        return os.fstat(self._numbers[0]).st_size

    def keep_from_closing(self) -> None:
        """From now on no connection takes itself for the last one: none moves the log into the file when it closes.

        Linux alone has locks of a descriptor that count against those of the own process.
        """
        if sys.platform == "linux":
            wanted = struct.pack("hhqqi", fcntl.F_RDLCK, os.SEEK_SET, _SHARED, _SHARED_SIZE, 0)
            fcntl.fcntl(self._numbers[0], fcntl.F_OFD_SETLK, wanted)

    def let_go(self) -> None:
        """Closes it, unless somebody else in this process holds it."""
        with _lock:
            self._holders -= 1
            if self._holders:
                return
            for key in [key for key, held in _held.items() if held is self]:
                del _held[key]
            for number in self._numbers:
                os.close(number)

    def _hold(self, another: int | None) -> Descriptor:
        self._holders += 1
        if another is not None:
            self._numbers.append(another)  # To close it now would be just what must not happen.
        return self


def hold(path: str) -> Descriptor:
    """The descriptor of that file, which is let go later; and after the connections that were made meanwhile.

    Raises:
        OSError: it cannot be opened.
    """
    with _lock:
        found = _held.get(_identity(Path(path).stat()))
        if found is not None:
            return found._hold(None)  # noqa: SLF001 - this function is the other half of the class
        number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        key = _identity(os.fstat(number))
        if key in _held:
            return _held[key]._hold(number)  # noqa: SLF001 - as above
        made = _held[key] = Descriptor(number)
        return made._hold(None)  # noqa: SLF001 - as above


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino
