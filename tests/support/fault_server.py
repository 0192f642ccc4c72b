"""A server on loopback that answers as badly as servers do, and remembers what it was sent."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import struct
from collections.abc import Awaitable, Callable
from ssl import SSLContext
from types import TracebackType
from typing import NamedTuple, Self
from urllib.parse import parse_qs, urlsplit


class Received(NamedTuple):
    """One request as it came over the wire; header names in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def query(self) -> dict[str, list[str]]:
        """The decoded query."""
        return parse_qs(urlsplit(self.target).query, keep_blank_values=True)


class Line:
    """One connection, as a behaviour sees it: what to write to, and when the client went."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def write(self, data: bytes) -> None:
        """Sends these bytes."""
        self._writer.write(data)
        await self._writer.drain()

    async def gone(self) -> None:
        """Waits until the client closes its end."""
        while await self._reader.read(65536):
            pass

    def reset(self) -> None:
        """Ends the connection with a reset instead of a farewell."""
        raw: socket.socket = self._writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


Behaviour = Callable[[Received, Line], Awaitable[bool]]
"""Answers one request; True keeps the connection for the next."""


def answer(status: str = "200 OK", body: bytes = b"", **headers: str) -> bytes:
    """A whole and honest answer; ``content_type="text/plain"`` becomes a header."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    named.setdefault("content-length", str(len(body)))
    head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode("latin-1") + body


class FaultServer:
    """Use it as ``async with FaultServer() as server``; `url` makes an address, `requests` is what came.

    ``answers`` maps a path to the bytes to send for it; the other paths are the behaviours below.
    """

    def __init__(self, tls: SSLContext | None = None) -> None:
        self.requests: list[Received] = []
        self.answers: dict[str, bytes] = {}
        self.connections = 0
        self.received = asyncio.Event()
        self.left = asyncio.Event()
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._lines: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls, limit=1 << 20)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._lines:
            task.cancel()
        await asyncio.gather(*self._lines, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def port(self) -> int:
        """The port that the system chose."""
        assert self._server is not None
        number: int = self._server.sockets[0].getsockname()[1]
        return number

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        """The address of a path."""
        return f"http{'s' if self._tls else ''}://{host}:{self.port}{path}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._lines.add(task)
        self.connections += 1
        try:
            while (request := await _read(reader)) is not None and await self._answer(request, Line(reader, writer)):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._lines.discard(task)
            self.left.set()
            writer.close()

    async def _answer(self, request: Received, line: Line) -> bool:
        self.requests.append(request)
        self.received.set()
        path = urlsplit(request.target).path
        if path in self.answers:
            await line.write(self.answers[path])
            return True
        return await BEHAVIOURS[path](request, line)


async def _read(reader: asyncio.StreamReader) -> Received | None:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, target, headers, body)


async def echo(request: Received, line: Line) -> bool:
    """What was sent, as JSON."""
    seen = {"method": request.method, "target": request.target, "body": request.body.decode("latin-1")}
    await line.write(answer(body=json.dumps(seen).encode(), content_type="application/json"))
    return True


async def silence(_request: Received, line: Line) -> bool:
    """Reads the request and says nothing until the client goes."""
    await line.gone()
    return False


async def farewell(_request: Received, _line: Line) -> bool:
    """Closes without an answer."""
    return False


async def reset(_request: Received, line: Line) -> bool:
    """Resets the connection without an answer."""
    line.reset()
    return False


async def drip(_request: Received, line: Line) -> bool:
    """Promises a hundred bytes, sends one, and never the others."""
    await line.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx")
    await line.gone()
    return False


async def drip_headers(_request: Received, line: Line) -> bool:
    """Begins an answer and never ends its headers."""
    await line.write(b"HTTP/1.1 200 OK\r\nX-One: 1\r\n")
    await line.gone()
    return False


async def endless(_request: Received, line: Line) -> bool:
    """A body without end."""
    await line.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        await line.write(b"400\r\n" + b"x" * 1024 + b"\r\n")


async def short(_request: Received, line: Line) -> bool:
    """Promises more bytes than it sends, then closes."""
    await line.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this")
    return False


async def broken_chunk(_request: Received, line: Line) -> bool:
    """A chunk whose length is no number."""
    await line.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n")
    await line.gone()
    return False


async def bomb(_request: Received, line: Line) -> bool:
    """Ten megabytes of zeros in ten kilobytes of gzip."""
    body = gzip.compress(bytes(10 << 20))
    await line.write(answer(body=body, content_type="text/plain", content_encoding="gzip"))
    return True


async def garbage(_request: Received, line: Line) -> bool:
    """Something that is no HTTP."""
    await line.write(b"220 mail.example.com ESMTP\r\n")
    await line.gone()
    return False


async def many_headers(_request: Received, line: Line) -> bool:
    """More headers than anybody reads."""
    lines = b"".join(b"X-%d: 1\r\n" % number for number in range(5000))
    await line.write(b"HTTP/1.1 200 OK\r\n" + lines + b"Content-Length: 0\r\n\r\n")
    return False


async def long_header(_request: Received, line: Line) -> bool:
    """One header longer than anybody reads."""
    await line.write(b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 100_000 + b"\r\nContent-Length: 0\r\n\r\n")
    return False


BEHAVIOURS: dict[str, Behaviour] = {
    "/echo": echo,
    "/silence": silence,
    "/farewell": farewell,
    "/reset": reset,
    "/drip": drip,
    "/drip-headers": drip_headers,
    "/endless": endless,
    "/short": short,
    "/broken-chunk": broken_chunk,
    "/bomb": bomb,
    "/garbage": garbage,
    "/many-headers": many_headers,
    "/long-header": long_header,
}
