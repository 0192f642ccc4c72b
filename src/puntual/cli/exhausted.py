"""A process that gets no file or thread any more ends, drained and with an error: whoever keeps it starts a whole one.

Some handler keeps what it opens. What was open before goes on, so that the process would live, and fail whatever needs
one more. Memory that runs out under a limit is seen here too: a thread needs some.
"""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from collections.abc import Callable
from typing import Final

import structlog

from puntual.model.errors import PuntualError

log = structlog.get_logger("puntual.process")

_EVERY: Final = 1.0
#: Looks in a row that must be in vain: a burst of commands passes, a leak does not.
_LOOKS: Final = 3


def no_files() -> bool:
    """Whether this process may open no more of them."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno == errno.EMFILE
    return False


def no_threads() -> bool:
    """Whether the system has none to give."""
    thread = threading.Thread(target=lambda: None, name="puntual-probe", daemon=True)
    try:
        thread.start()
    except RuntimeError:
        return True
    thread.join()
    return False


class Exhausted:
    """Looks each second.

    Args:
        every: seconds between two looks.
        looks: what is looked for, and the word for it.
    """

    def __init__(self, every: float = _EVERY, looks: dict[str, Callable[[], bool]] | None = None) -> None:
        self._every = every
        self._looks = looks or {"files": no_files, "threads": no_threads}
        self._what: str | None = None

    async def wait(self) -> None:
        """Returns when several looks in a row found that one of them is spent."""
        in_vain = dict.fromkeys(self._looks, 0)
        while self._what is None:
            await asyncio.sleep(self._every)
            for what, spent in self._looks.items():
                in_vain[what] = in_vain[what] + 1 if spent() else 0
                if in_vain[what] == _LOOKS:
                    self._what = what
                    log.error("process.exhausted", no_more=what)

    def check(self) -> None:
        """To be asked at the end.

        Raises:
            PuntualError: that was the reason to end.
        """
        if self._what is not None:
            raise PuntualError(
                f"This process got no more {self._what}, and ended so that another takes its place.",
                hint="A handler keeps what it opens or starts: /metrics tells process_open_fds.",
            )
