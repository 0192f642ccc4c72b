"""Child processes for functions that must be stoppable: cancelled means killed and gone, with what they had started.

Each child is a session of its own, so that one signal reaches its descendants too, and it ends its session when this
process is gone, whichever way (see ``child``). Nothing but our own frames crosses between the two: arguments, results
and errors are text by then, so there is nothing that could not be pickled.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import struct
import sys
from collections import deque
from typing import Final

import msgspec

from puntual.model.attempt import ErrorInfo, OutcomeKind
from puntual.model.naming import module_of
from puntual.model.outcome import Outcome
from puntual.model.run import Run as RunRow
from puntual.model.task import Task
from puntual.targets.signals import signal_name

LENGTH: Final = struct.Struct(">I")
#: How many idle children stay for what may come, and how long those beyond them do.
KEPT: Final = 2
IDLE_SECONDS: Final = 60.0


class Request(msgspec.Struct, array_like=True):
    """What a child is asked to do: which function, for which run, and where to import it from."""

    module: str
    qualname: str
    run: RunRow
    max_result: int
    path: list[str]


_write = msgspec.msgpack.Encoder().encode
_read = msgspec.msgpack.Decoder(Outcome).decode


class Processes:
    """Up to ``workers`` children, started when they are first needed and used again.

    A child ends when it is killed, or, beyond the first few, when nothing was left for it to do for a while.

    Args:
        workers: how many at once.
        idle_seconds: how long a child beyond ``KEPT`` may be idle.
    """

    def __init__(self, workers: int, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self._free = asyncio.Semaphore(workers)
        self._idle_seconds = idle_seconds
        #: The one that was used last is at the right, so that those not needed come to stand at the left.
        self._idle: deque[_Child] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[int]] = set()

    async def run(self, task: Task[..., object], run: RunRow, max_result: int) -> Outcome:
        """Has a child call the task's function. Cancelled, it kills the child and lets the cancellation through."""
        qualname = getattr(task.function, "__qualname__", "")
        if not qualname or "<" in qualname:
            return _unreachable(task.name, qualname or repr(task.function))
        request = _write(Request(module_of(task.function), qualname, run, max_result, sys.path))
        async with self._free:
            child = self._living() or await _Child.start()
            try:
                answer = await child.ask(request)
            except BaseException:
                await child.kill()
                raise
            if answer is None:
                return _died(task.name, await child.kill())
            self._keep(child)
            return _read(answer)

    async def close(self) -> None:
        """Ends the idle children."""
        if self._timer is not None:
            self._timer.cancel()
        while self._idle:
            await self._idle.pop().kill()
        if self._ending:
            await asyncio.wait(self._ending)

    def _living(self) -> _Child | None:
        while self._idle:
            child = self._idle.pop()
            if child.alive:
                return child
        return None

    def _keep(self, child: _Child) -> None:
        child.idle_since = asyncio.get_running_loop().time()
        self._idle.append(child)
        if self._timer is None and len(self._idle) > KEPT:
            self._look_again()

    def _look_again(self) -> None:
        """One timer, and none while only a few are idle."""
        when = self._idle[0].idle_since + self._idle_seconds
        self._timer = asyncio.get_running_loop().call_at(when, self._end_idle)

    def _end_idle(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = None
        while len(self._idle) > KEPT and self._idle[0].idle_since + self._idle_seconds <= loop.time():
            ending = loop.create_task(self._idle.popleft().kill())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
        if len(self._idle) > KEPT:
            self._look_again()


class _Child:
    """One child process and the two pipes to it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.idle_since = 0.0

    @classmethod
    async def start(cls) -> _Child:
        pipe = asyncio.subprocess.PIPE
        return cls(
            await asyncio.create_subprocess_exec(
                sys.executable, "-m", "puntual.targets.function.child", stdin=pipe, stdout=pipe, start_new_session=True
            )
        )

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    async def ask(self, request: bytes) -> bytes | None:
        """The child's answer; None if it died over it."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(LENGTH.pack(len(request)) + request)
            await stdin.drain()
            (length,) = LENGTH.unpack(await stdout.readexactly(LENGTH.size))
            return await stdout.readexactly(length)
        except (ConnectionError, asyncio.IncompleteReadError):
            return None

    async def kill(self) -> int:
        """Kills the child's whole session; its return code once it is gone."""
        # Until it was awaited, its number cannot pass to anybody else.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        if self._process.stdin is not None:
            self._process.stdin.close()
        return await self._process.wait()


def _unreachable(task: str, function: str) -> Outcome:
    message = (
        f"Task {task} has isolation='process', but {function} cannot be imported by name: "
        "define it at the top of a module."
    )
    return Outcome(kind=OutcomeKind.FAILED, error=ErrorInfo(type="InvalidError", message=message), final=True)


def _died(task: str, code: int) -> Outcome:
    how = f"was killed by {signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
    error = ErrorInfo(type="ProcessDied", message=f"The process of task {task} {how} before the function came back.")
    return Outcome(kind=OutcomeKind.FAILED, error=error)
