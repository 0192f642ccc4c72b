"""Keeps the beginning and the end of a stream of any length in bounded memory."""

from __future__ import annotations


class Output:
    """The first and the last half of ``limit`` bytes, with a note between them of how much is missing."""

    def __init__(self, limit: int) -> None:
        self._first = max(limit // 2, 0)
        self._last = max(limit - self._first, 0)
        self._head = bytearray()
        self._tail = bytearray()
        self._cut = 0

    def feed(self, data: bytes) -> None:
        """Takes the next piece."""
        if room := self._first - len(self._head):
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        # Twice what is kept, so that each byte is moved once and not with every piece.
        if len(self._tail) > 2 * self._last:
            self._trim()

    @property
    def truncated(self) -> int:
        """How many bytes are missing."""
        return self._cut + max(len(self._tail) - self._last, 0)

    def bytes(self) -> bytes:
        """What is kept."""
        self._trim()
        if not self._cut:
            return bytes(self._head + self._tail)
        note = b"\n... %d bytes are missing here ...\n" % self._cut
        return bytes(self._head) + note + bytes(self._tail)

    def last_line(self) -> str:
        """The last line with something on it, for an error's message."""
        end = (self._head + self._tail)[-4096:].decode("utf-8", "replace")
        lines = [line for line in map(str.strip, end.splitlines()) if line]
        return lines[-1] if lines else ""

    def _trim(self) -> None:
        excess = len(self._tail) - self._last
        if excess > 0:
            del self._tail[:excess]
            self._cut += excess
