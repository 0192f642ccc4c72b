"""One command from start to end: its output, how it ended, and how it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Mapping
from typing import Final, cast

import msgspec

from puntual.targets.command import shim
from puntual.targets.command.output import Output

#: After the command has ended its group is killed: its pipe ends at once, unless a process left the group and kept it.
_PIPE_SECONDS: Final = 1.0


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """What to start: a program that exists, its arguments (the first is the name it sees), where, and with what."""

    program: str
    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    stdin: bytes


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended: its exit code, or less a signal's number; or the errno with which it did not start.

    Neither: nobody can tell, since what watched over it was killed.
    """

    code: int | None = None
    errno: int | None = None


class _Group(asyncio.SubprocessProtocol):
    """Collects the output and says when the pipe and the shim have ended."""

    def __init__(self, output: Output) -> None:
        loop = asyncio.get_running_loop()
        self._output = output
        self.silent: asyncio.Future[None] = loop.create_future()
        self.gone: asyncio.Future[None] = loop.create_future()

    def pipe_data_received(self, fd: int, data: bytes) -> None:  # noqa: ARG002 - one pipe, both streams
        self._output.feed(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - an end is an end
        if fd == 1 and not self.silent.done():
            self.silent.set_result(None)

    def process_exited(self) -> None:
        if not self.gone.done():
            self.gone.set_result(None)


async def run(launch: Launch, output: Output, grace_seconds: float) -> Ended:
    """Runs the command to its end. Cancelled, it stops the whole group and lets the cancellation through.

    Args:
        launch: what to start.
        output: takes standard output and standard error, in the order in which they were written.
        grace_seconds: how long the group has between SIGTERM and SIGKILL when it is stopped.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        starting = asyncio.ensure_future(_start(launch, output, theirs))
        try:
            transport, group = await asyncio.shield(starting)
        except asyncio.CancelledError:
            # Breaking off a start would kill the shim alone.
            await _end(*await starting)
            raise
        theirs.close()
        try:
            ended = await _reported(ours)
            if ended is None:
                # The shim was killed (out of memory, say). What is left of its group keeps the number from others.
                _send(transport, signal.SIGKILL)
            elif ended.errno is None:
                await asyncio.wait((group.silent,), timeout=_PIPE_SECONDS)
        except asyncio.CancelledError:
            # The shim ignores this, and ends the group at once if the command obeys it.
            _signal(transport, group, signal.SIGTERM)
            await asyncio.wait((group.gone,), timeout=grace_seconds)
            raise
        finally:
            await _end(transport, group)
        return ended or Ended()


async def _start(launch: Launch, output: Output, theirs: socket.socket) -> tuple[asyncio.SubprocessTransport, _Group]:
    transport, group = await asyncio.get_running_loop().subprocess_exec(
        lambda: _Group(output),
        sys.executable,
        "-I",
        "-S",
        shim.__file__,
        str(theirs.fileno()),
        launch.program,
        *launch.argv,
        stdin=asyncio.subprocess.PIPE if launch.stdin else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=launch.cwd,
        env=launch.env,
        start_new_session=True,
        pass_fds=(theirs.fileno(),),
    )
    stdin = cast("asyncio.WriteTransport | None", transport.get_pipe_transport(0))
    # A command that has ended already, or does not read, is not wrong.
    if stdin is not None and not stdin.is_closing():
        stdin.write(launch.stdin)
        stdin.close()
    return transport, group


async def _reported(ours: socket.socket) -> Ended | None:
    """What the shim says of the command; None if it went without a word."""
    with contextlib.suppress(ConnectionError):
        report = (await asyncio.get_running_loop().sock_recv(ours, 64)).decode()
        if report.startswith(shim.NOT_STARTED):
            return Ended(errno=int(report[1:]))
        if report.startswith(shim.ENDED):
            return Ended(code=os.waitstatus_to_exitcode(int(report[1:])))
    return None


async def _end(transport: asyncio.SubprocessTransport, group: _Group) -> None:
    _signal(transport, group, signal.SIGKILL)
    # Closed only then: a transport closed earlier would itself wait for the process, beside the loop's watcher.
    await group.gone
    transport.close()


def _signal(transport: asyncio.SubprocessTransport, group: _Group, number: signal.Signals) -> None:
    # The group has its shim's number, which is nobody else's before the shim was awaited.
    if not group.gone.done():
        _send(transport, number)


def _send(transport: asyncio.SubprocessTransport, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(transport.get_pid(), number)
