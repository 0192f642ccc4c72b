"""The API is served in the caller's own event loop, without taking its signals, nor all its files for connections."""

from __future__ import annotations

import asyncio
import errno
import resource
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from puntual.api.build import make_api
from puntual.app import App
from puntual.model.errors import InvalidSettingError
from puntual.operations.contract import Operations

#: Requests that are still being answered when the server stops get this long, in seconds.
GRACE = 5
_BACKLOG = 1024
#: Of the files that the process may open, connections get a quarter: who asks needs no token to be connected.
_SHARE: Final = 4
_MOST: Final = 4096
#: A connection on which nothing has been asked is closed after this long, in seconds.
PATIENCE: Final = 10.0


class _Connection(HttpToolsProtocol):
    """Beyond the limit requests are answered with 503, and a quarter beyond it nobody gets in."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        super().connection_made(transport)
        assert self.limit_concurrency is not None
        if len(self.connections) > self.limit_concurrency * 5 // 4:
            transport.abort()
        else:
            self.loop.call_later(PATIENCE, self._check)

    def _check(self) -> None:
        """Only a connection that has been answered once has a timeout of uvicorn's."""
        if self.cycle is None:
            self.transport.abort()


@asynccontextmanager
async def serve_api(app: App, operations: Operations, host: str, port: int) -> AsyncIterator[int]:
    """Serves until left; gives the port that was bound. Then requests under way are answered first.

    Args:
        app: whose API it is; open as long as this is.
        operations: what the routes do.
        host: the address to listen on.
        port: 0 takes a free one.

    Raises:
        InvalidSettingError: nobody can listen there.
    """
    config = uvicorn.Config(
        make_api(app, operations),
        log_config=None,
        access_log=False,
        lifespan="off",
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
        http=_Connection,
        limit_concurrency=_limit(),
        ws="none",
    )
    config.load()
    bound = _bind(host, port)
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    try:
        await server.startup(sockets=[bound])
        turning = asyncio.create_task(server.main_loop(), name="puntual-api")
        try:
            yield int(bound.getsockname()[1])
        finally:
            server.should_exit = True
            await turning
            await server.shutdown(sockets=[bound])
    finally:
        bound.close()


def _limit() -> int:
    """How many connections there may be."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if files == resource.RLIM_INFINITY else min(files // _SHARE, _MOST)


def _bind(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise InvalidSettingError(f"HOST is {host!r}, which is no address: {error.strerror}.", field="HOST") from None
    for place in found:
        try:
            return _bind_one(place)
        except OSError as error:
            refused = error
            # Of a name with several addresses this machine may lack one; one that is taken is what the operator meant.
            if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                break
    raise _cannot_listen(host, port, refused)


def _bind_one(place: tuple[Any, ...]) -> socket.socket:
    family, kind, protocol, _, address = place
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(address)
        bound.listen(_BACKLOG)
        bound.setblocking(False)
    except OSError:
        bound.close()
        raise
    return bound


def _cannot_listen(host: str, port: int, error: OSError) -> InvalidSettingError:
    if error.errno == errno.EADDRINUSE:
        return InvalidSettingError(
            f"PORT is {port}, where another program listens already: set another one, or 0 for any free one.",
            field="PORT",
        )
    return InvalidSettingError(f"Nobody can listen on HOST {host} and PORT {port}: {error.strerror}.", field="HOST")
