"""A process that has used up its files, threads or memory ends, drained and with code 1: its keeper starts another.

Some handler keeps what it opens or starts. What was open before goes on, so that the process would live, and fail
whatever needs one more. Only what this process itself has used up counts: its end gives back nothing that others took.
"""

from __future__ import annotations

import _thread
import asyncio
import errno
import mmap
import os
import resource
import threading
from collections.abc import Callable
from typing import Final

import structlog

from puntual.cli.stop import alarm
from puntual.engine.process import leave
from puntual.targets.refused import REFUSED

log = structlog.get_logger("puntual.process")

_EVERY: Final = 1.0
#: Looks in a row that must be in vain: a burst of commands or of connections passes, a leak does not.
_LOOKS: Final = 10
#: So many threads that are not ours are taken for a leak: the usual pools of libraries have at most 32.
_MANY: Final = 64
#: Twice what a new thread maps, bytes.
_ROOM: Final = 16 * 1024 * 1024

_HINTS: Final = {
    "files": "A handler keeps the files it opens, or ulimit -n is low: /metrics tells process_open_fds.",
    "threads": "A handler keeps the threads it starts.",
    "memory": "A handler keeps memory or threads, or ulimit -v is low: /metrics tells process_virtual_memory_bytes.",
}


def no_files() -> bool:
    """Whether this process may open no more of them."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno == errno.EMFILE
    return False


def no_threads() -> bool:
    """Whether the system has none to give, after somebody was refused one while handlers keep many.

    The limit is the user's or the container's, and others may be those who have used it up.
    """
    if not REFUSED.is_set() or sum(not one.name.startswith("puntual") for one in threading.enumerate()) < _MANY:
        return False
    try:
        # Unlike Thread.start this waits for nothing: beside busy threads that would hold the loop up.
        _thread.start_new_thread(bool, ())
    except (RuntimeError, MemoryError):
        return True
    REFUSED.clear()
    return False


def no_memory() -> bool:
    """Whether this process has reached a limit of its own; where there is none the system ends whom it chooses."""
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return False
    try:
        mmap.mmap(-1, _ROOM, flags=mmap.MAP_PRIVATE).close()
    except (OSError, MemoryError):
        return True
    return False


class Exhausted:
    """Looks each second.

    Args:
        limit: how long the drain may take then, seconds.
        every: seconds between two looks.
        looks: what is looked for, and the word for it.
    """

    def __init__(
        self, limit: float, *, every: float = _EVERY, looks: dict[str, Callable[[], bool]] | None = None
    ) -> None:
        self._limit = limit
        self._every = every
        self._looks = looks or {"files": no_files, "threads": no_threads, "memory": no_memory}
        self._what: str | None = None

    async def wait(self) -> None:
        """Returns when many looks in a row found that one of them is spent; this process has an end from then on."""
        in_vain = dict.fromkeys(self._looks, 0)
        while self._what is None:
            await asyncio.sleep(self._every)
            for what, spent in self._looks.items():
                in_vain[what] = in_vain[what] + 1 if spent() else 0
                if in_vain[what] == _LOOKS:
                    self._what = what
        alarm(self._limit)
        log.error("process.exhausted", no_more=self._what, hint=_HINTS[self._what])

    def end(self) -> None:
        """To be called after the drain: ends the process if that was the reason.

        The interpreter would wait for every thread that a handler has left, and for ever.
        """
        if self._what is not None:
            leave(1)
