"""Keeps processes of puntual: starts again what dies, asks all to drain when it is asked to, and ends with the last.

It knows nothing of what they do: it imports neither the app nor the server. A process that ends because it was drained
is not started again; nor is anything when the very first start finds that the configuration is wrong.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import structlog

from puntual.cli.child import Child
from puntual.cli.failure import FAILED, WRONG
from puntual.cli.session import Session
from puntual.cli.stop import MARGIN, first_of
from puntual.settings import Settings
from puntual.targets.signals import signal_name

log = structlog.get_logger("puntual.supervisor")

#: Beyond what a process allows itself: one that does not even end itself is frozen. Seconds.
_LATE: Final = 3.0
#: How a process ends that is told to stop before it listens: it has not begun anything.
_NOT_BEGUN: Final = (-signal.SIGTERM, -signal.SIGINT)


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A process to keep: the words after ``puntual``.

    ``opening`` are said too until it has been up once, and until then it speaks to people; None: it never does.
    """

    words: tuple[str, ...]
    opening: tuple[str, ...] | None = None


class Restarts(msgspec.Struct, frozen=True, kw_only=True):
    """How long to wait before a process that died is started again: twice as long after each quick death. Seconds."""

    shortest: float = 0.5
    longest: float = 30.0
    #: Who lived this long died of something else than its start.
    settled: float = 60.0

    def after(self, pause: float, lived: float) -> float:
        """The next pause, after the last one (0: there was none) and a life of so many seconds."""
        return min(pause * 2, self.longest) if pause and lived < self.settled else self.shortest


class Keeper:
    """Keeps one process.

    Args:
        number: counted from one, for the log.
        kept: what to start.
        restarts: how soon to start it again.
        stopping: set when all shall end.
        as_json: whether standard output is for one document.
    """

    def __init__(self, number: int, kept: Kept, restarts: Restarts, stopping: asyncio.Event, *, as_json: bool) -> None:
        self._number = number
        self._kept = kept
        self._restarts = restarts
        self._stopping = stopping
        self._as_json = as_json
        self._child: Child | None = None
        self.up = asyncio.Event()
        self.taken = 0

    async def keep(self) -> int:
        """Until it ends for good: 0 when it was done or drained, 2 when it could never start, else 1."""
        loop = asyncio.get_running_loop()
        pause = 0.0
        while not self._stopping.is_set():
            began = loop.time()
            try:
                code = await self._live()
            except OSError as error:
                how: dict[str, object] = {"error": str(error)}
            else:
                if (over := self._over(code)) is not None:
                    return over
                how = {"signal": signal_name(-code)} if code < 0 else {"code": code}
            pause = self._restarts.after(pause, loop.time() - began)
            log.warning("supervisor.restarts", process=self._number, **how, after_seconds=pause)
            await first_of(self._stopping.wait(), asyncio.sleep(pause))
        return 0

    def kill(self) -> None:
        """Ends it at once."""
        if self._child is not None:
            self._child.kill()

    async def _live(self) -> int:
        """One life, from its start to its end."""
        kept = self._kept
        speaks = kept.opening is not None and not self.up.is_set()
        words = (*kept.words, *(kept.opening or ())) if speaks else (*kept.words, "--aside")
        self._child = child = await Child.start(words, speaks=speaks, as_json=self._as_json)
        log.info("supervisor.started", process=self._number, pid=child.pid)
        ending = asyncio.create_task(child.ended(), name=f"puntual-child-{child.pid}")
        await first_of(child.up.wait(), self._stopping.wait(), asyncio.shield(ending))
        if child.up.is_set():
            self.up.set()
            await first_of(self._stopping.wait(), asyncio.shield(ending))
        if self._stopping.is_set():
            child.ask()
            await asyncio.wait([ending], timeout=child.grace + MARGIN + _LATE)
            if not ending.done():
                log.error("supervisor.killed", process=self._number, pid=child.pid)
                child.kill()
        code = await ending
        self.taken += child.taken
        return code

    def _over(self, code: int) -> int | None:
        """The end for good that an exit code is, None when it is none."""
        child = self._child
        assert child is not None
        if code == 0 and child.done:
            log.info("supervisor.drained", process=self._number, pid=child.pid)
            return 0
        if self._number == 1 and not self.up.is_set() and code in (FAILED, WRONG):
            # Nothing runs yet: what keeps the first from starting is for whoever started it, who is still there.
            return code
        if self._stopping.is_set():
            return 0 if code == 0 or code in _NOT_BEGUN else FAILED
        return None


class Supervisor:
    """Keeps them all.

    Args:
        kept: what to keep. The first is started before the others: what is wrong with all is said once, and what one
            has to do for all (bring the database to this release) is done by then.
        restarts: how soon to start again.
        as_json: whether standard output is for one document.

    ``taken`` are the runs that they took with ``--once``.
    """

    def __init__(self, kept: Sequence[Kept], *, restarts: Restarts | None = None, as_json: bool = False) -> None:
        self._stopping = asyncio.Event()
        self._code = 0
        self._keepers = [
            Keeper(number, each, restarts or Restarts(), self._stopping, as_json=as_json)
            for number, each in enumerate(kept, 1)
        ]

    @property
    def taken(self) -> int:
        """How many runs they took."""
        return sum(keeper.taken for keeper in self._keepers)

    async def run(self) -> int:
        """Until all have ended: 0 when each was done or drained, 2 when what is wrong was asked for, else 1.

        The first SIGTERM or SIGINT asks all of them to drain, the second ends them at once.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._heard, number)
        try:
            log.info("supervisor.keeps", processes=len(self._keepers), pid=os.getpid())
            codes = await asyncio.gather(*(self._see_to(keeper) for keeper in self._keepers))
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)
        return WRONG if WRONG in codes else self._code or max(codes)

    async def _see_to(self, keeper: Keeper) -> int:
        first = self._keepers[0]
        if keeper is not first:
            await first.up.wait()
        code = await keeper.keep()
        if code and keeper is first and not first.up.is_set():
            self._stopping.set()
        # Whatever became of the first: nobody waits for it any longer.
        first.up.set()
        return code

    def _heard(self, number: int) -> None:
        if self._stopping.is_set():
            self._code = 128 + number
            for keeper in self._keepers:
                keeper.kill()
            return
        log.info("supervisor.stopping")
        self._stopping.set()


def supervise(session: Session, settings: Settings, kept: Sequence[Kept]) -> tuple[int, int]:
    """Keeps them until they have ended; gives the exit code, and how many runs they took with ``--once``."""
    from puntual import logs

    logs.configure(settings)
    supervisor = Supervisor(kept, as_json=session.as_json)
    code = asyncio.run(supervisor.run())
    return code, supervisor.taken


def words_of(said: Mapping[str, object]) -> tuple[str, ...]:
    """Options as they would be typed: only those that were said."""
    return tuple(
        f"--{name.replace('_', '-')}" if value is True else f"--{name.replace('_', '-')}={value}"
        for name, value in said.items()
        if value is not None and value is not False
    )
