"""A line to a server that can be harmed: slowed, reset, swallowed, left half open, or cut at a given message."""

from __future__ import annotations

import asyncio
import socket
import struct
from types import TracebackType
from typing import Self

_RST = struct.pack("ii", 1, 0)
_CHUNK = 1 << 16


class Proxy:
    """Passes on what comes to a port of this machine to another, unless told otherwise.

    Used as an asynchronous context; ``latency`` is seconds for each way, and may be changed at any time.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        self._links: set[_Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._swallow = False
        self._cut: tuple[int, bool] | None = None
        self.latency = 0.0
        #: Connections that were let in, from the beginning.
        self.accepted = 0
        #: Set when what ``cut_at`` asked for has happened.
        self.was_cut = asyncio.Event()

    async def __aenter__(self) -> Self:
        """Begins to let connections in."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Resets every connection and lets no more in."""
        self._server.close()
        self.reset()
        while self._tasks:
            await asyncio.wait(self._tasks)
        await self._server.wait_closed()

    @property
    def open(self) -> int:
        """Connections that there are now."""
        return len(self._links)

    def through(self, url: str) -> str:
        """The same place by way of this line."""
        return url.replace(f":{self._target}/", f":{self.port}/")

    def reset(self) -> None:
        """Cuts every connection: both ends are told at once. New ones are let in."""
        for link in tuple(self._links):
            link.reset()

    def swallow(self) -> None:
        """From now on nothing arrives any more, either way, and nobody is told; new connections lead nowhere."""
        self._swallow = True

    def half_open(self) -> None:
        """The server's end of every connection is cut, and the client is never told; new ones are whole."""
        for link in self._links:
            link.half_open()

    def heal(self) -> None:
        """New connections are whole again; those whose words were swallowed are cut."""
        self._swallow = False
        self.reset()

    def cut_at(self, message: int, *, answered: bool) -> None:
        """Cuts one connection at a message of its client's to come, the first being 0.

        The message is not passed on; or else the server takes it, and only its answer is lost.
        """
        self.was_cut.clear()
        self._cut = (message, answered)

    def disarm(self) -> None:
        """Takes ``cut_at`` back."""
        self._cut = None

    def _next(self) -> bool | None:
        """Whether this message is the one at which to cut: before it arrives (False), or after its answer (True)."""
        if self._cut is None:
            return None
        message, answered = self._cut
        self._cut = None if message == 0 else (message - 1, answered)
        return answered if message == 0 else None

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        link = _Link(self, reader, writer)
        self._links.add(link)
        try:
            await link.run(self._target)
        finally:
            self._links.discard(link)
            self._tasks.discard(task)


class _Link:
    """One connection and its other half."""

    def __init__(self, proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._proxy = proxy
        self._client = (reader, writer)
        self._server: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._ended = asyncio.Event()
        self._lose_answer = False
        self._half_open = False

    async def run(self, target: int) -> None:
        """Until one end is gone."""
        try:
            self._server = await asyncio.open_connection("127.0.0.1", target)
        except OSError:
            self.reset()
            return
        pumps = [asyncio.create_task(self._ask()), asyncio.create_task(self._answer())]
        try:
            await self._ended.wait()
        finally:
            self.reset()
            await asyncio.gather(*pumps, return_exceptions=True)

    def reset(self) -> None:
        """Both ends hear of it."""
        for _, writer in (self._client, *([self._server] if self._server else [])):
            _abort(writer)
        self._ended.set()

    def half_open(self) -> None:
        """Only the server hears of it."""
        if self._server is not None:
            self._half_open = True
            _abort(self._server[1])

    async def _ask(self) -> None:
        assert self._server is not None
        while data := await self._read(self._client[0]):
            cut = self._proxy._next()
            if cut is False:
                self._proxy.was_cut.set()
                self.reset()
                return
            self._lose_answer = cut or False
            await self._pass(data, self._server[1])
        if not self._proxy._swallow:
            self._ended.set()

    async def _answer(self) -> None:
        assert self._server is not None
        while data := await self._read(self._server[0]):
            if self._lose_answer:
                self._proxy.was_cut.set()
                self.reset()
                return
            await self._pass(data, self._client[1])
        if not self._half_open and not self._proxy._swallow:
            self._ended.set()

    async def _read(self, reader: asyncio.StreamReader) -> bytes:
        try:
            return await reader.read(_CHUNK)
        except OSError:
            return b""

    async def _pass(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        if self._proxy.latency:
            await asyncio.sleep(self._proxy.latency)
        if self._proxy._swallow or writer.is_closing():
            return
        try:
            writer.write(data)
            await writer.drain()
        except OSError:
            self._ended.set()


def _abort(writer: asyncio.StreamWriter) -> None:
    """Ends it without a farewell, so that the other end sees a reset."""
    line = writer.get_extra_info("socket")
    if not writer.is_closing() and line is not None:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RST)
    writer.transport.abort()
