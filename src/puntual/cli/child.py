"""A process of puntual that another one started: what it says of itself, how it is asked to drain, how it ended."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from puntual.cli.member import DONE, TAKEN, UP

#: What a process said before it ended is on the line by then; a grandchild that kept its end of it is not waited for.
_LAST_WORDS: Final = 1.0


class Child:
    """A process, and the line to it. `start` makes one.

    ``up`` is set when it works, ``grace`` is then how long it says that a drain may take (seconds); ``taken`` are the
    runs that it took with ``--once``; ``done`` says that it ended because it was done.
    """

    def __init__(self, process: Process, line: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
        self._process = process
        self._reader, self._writer = line
        self._listening = asyncio.create_task(self._listen(), name=f"puntual-line-{process.pid}")
        self.pid = process.pid
        self.up = asyncio.Event()
        self.grace = 0.0
        self.taken = 0
        self.done = False

    @classmethod
    async def start(cls, words: Sequence[str], *, speaks: bool = False, as_json: bool = False) -> Self:
        """Starts ``puntual WORDS...`` in an interpreter of its own.

        Args:
            words: the command and its options.
            speaks: whether standard input, and standard output's one document, are its.
            as_json: whether standard output is for that document only.

        Raises:
            OSError: the system has no process to give.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            line = await asyncio.open_unix_connection(sock=ours)
            command, *options = words
            try:
                # A session of its own: a Ctrl-C of the terminal is for the supervisor, which asks each once.
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, *_program(), command, "--lifeline", str(theirs.fileno()), *options),
                    stdin=None if speaks else DEVNULL,
                    stdout=2 if as_json and not speaks else None,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
            except BaseException:
                line[1].close()
                raise
        return cls(process, line)

    def ask(self) -> None:
        """Asks it to drain, which can be asked any number of times."""
        # RuntimeError is what uvloop says of a line that is closed: whoever was asked has ended.
        with contextlib.suppress(OSError, RuntimeError):
            self._writer.write_eof()

    def kill(self) -> None:
        """Ends it at once."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def ended(self) -> int:
        """Waits for its end and gives its exit code, or the number of its signal below zero."""
        code = await self._process.wait()
        await asyncio.wait([self._listening], timeout=_LAST_WORDS)
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()
        return code

    async def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while line := await self._reader.readline():
                word, _, value = line.decode().strip().partition(" ")
                if word == UP:
                    self.grace = float(value)
                    self.up.set()
                elif word == TAKEN:
                    self.taken += int(value)
                elif word == DONE:
                    self.done = True


def _program() -> tuple[str, ...]:
    """This program as it was called, so that what it says of itself is what people typed."""
    return (sys.argv[0],) if Path(sys.argv[0]).name == "puntual" else ("-m", "puntual")
