"""Sends one request over a pool of kept-alive connections, and only to addresses that the guard lets through.

The address is vetted where the socket is opened, so that it is the one connected to: a name, a literal address and a
name that resolves differently a moment later all pass here.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from types import SimpleNamespace
from urllib.parse import urlencode

import aiohttp
import msgspec
from aiohttp.abc import AbstractResolver
from yarl import URL

from puntual.targets.http.answer import Answer, decoded, read_capped
from puntual.targets.http.exchange import CURRENT, Exchange
from puntual.targets.http.guard import Networks, verdict
from puntual.targets.http.request import HttpRequest, Pairs

#: Seconds an idle connection is kept: enough for bursts, and below the idle limits of usual servers (2 s and up), which
#: would otherwise close a connection at the moment when a request goes into it, and leave that request's fate unknown.
IDLE_SECONDS = 1.0
#: Bytes of one header of an answer, and how many there may be.
LONGEST_HEADER, MOST_HEADERS = 8190, 128


class SenderOptions(msgspec.Struct, frozen=True):
    """What holds for every request: the ranges that are open, the cap of a body in bytes, who we say we are."""

    allowed: Networks
    max_response: int
    agent: str


class Sender:
    """A session of the client, bound to the loop that it was made in."""

    def __init__(self, options: SenderOptions, resolver: AbstractResolver | None = None) -> None:
        self._options = options
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0,
                resolver=resolver,
                keepalive_timeout=IDLE_SECONDS,
                socket_factory=self._open,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None),
            trust_env=False,
            auto_decompress=False,
            skip_auto_headers=("Content-Type", "User-Agent"),
            trace_configs=[_tracing()],
            max_line_size=LONGEST_HEADER,
            max_field_size=LONGEST_HEADER,
            max_headers=MOST_HEADERS,
        )
        # A second sending of what may have arrived is for the run's policy to decide, not for the client.
        self._session._retry_connection = False  # noqa: SLF001 - there is no public switch

    async def send(self, request: HttpRequest, run_id: str | None, exchange: Exchange) -> Answer:
        """The answer, read to the cap. Cancelling it closes the connection.

        Args:
            request: what to ask.
            run_id: the run on whose behalf, named to the receiver; None for none.
            exchange: takes down how far it came.

        Raises:
            aiohttp.ClientError: no readable answer came; ``exchange`` knows how far it got.
            OSError: as above.
        """
        CURRENT.set(exchange)
        body, content_type = _body(request)
        response = await self._session.request(
            request.method,
            _url(request),
            headers=self._headers(request, run_id, content_type),
            data=body,
            allow_redirects=False,
            trace_request_ctx=exchange,
        )
        exchange.end("first_byte")
        try:
            return await self._read(response)
        finally:
            # Goes back to the pool by itself when its body was read to the end; else this ends the connection.
            response.close()

    async def close(self) -> None:
        """Ends all connections."""
        await self._session.close()

    async def _read(self, response: aiohttp.ClientResponse) -> Answer:
        cap = self._options.max_response
        headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.raw_headers)
        body = bytearray()
        more = broken = False
        try:
            more = await read_capped(response.content, cap, body)
        except (aiohttp.ClientError, OSError):
            broken = True
        cut = max((response.content_length or 0) - cap, 1) if more else 0
        answer = Answer(status=response.status, headers=headers, body=bytes(body), truncated=cut, broken=broken)
        return decoded(answer, cap)

    def _headers(self, request: HttpRequest, run_id: str | None, content_type: str | None) -> dict[str, str]:
        agent = self._options.agent
        headers = {
            "User-Agent": agent if run_id is None else f"{agent} (+run {run_id})",
            "Accept": "*/*",
            "Accept-Encoding": "identity",
        }
        if content_type is not None:
            headers["Content-Type"] = content_type
        theirs = {name.lower() for name in request.headers}
        kept = {name: value for name, value in headers.items() if name.lower() not in theirs}
        return {**kept, **request.headers, **({} if run_id is None else {"Idempotency-Key": run_id})}

    def _open(self, addr_info: tuple[int, int, int, str, tuple[object, ...]]) -> socket.socket:
        """The socket for an address, or a refusal that the exchange remembers."""
        family, kind, protocol, _, address = addr_info
        host = str(address[0])
        exchange = CURRENT.get()
        if reason := verdict(host, self._options.allowed):
            exchange.refused[host] = reason
            raise OSError(errno.EACCES, f"{host} is {reason}")
        exchange.tried = True
        return socket.socket(family, kind, protocol)


def _url(request: HttpRequest) -> URL:
    url = URL(request.url)
    return url.extend_query(list(_flat(request.query))) if request.query else url


def _body(request: HttpRequest) -> tuple[bytes | None, str | None]:
    """The bytes to send and their type."""
    if isinstance(request.json, msgspec.Raw):
        return bytes(request.json), "application/json"
    if isinstance(request.form, dict):
        return urlencode(list(_flat(request.form))).encode(), "application/x-www-form-urlencoded"
    if isinstance(request.body, str):
        return request.body.encode(), "text/plain; charset=utf-8"
    return None, None


def _flat(pairs: Pairs) -> Iterator[tuple[str, str]]:
    for name, value in pairs.items():
        for item in value if isinstance(value, tuple) else (value,):
            yield name, str(item).lower() if isinstance(item, bool) else str(item)


def _tracing() -> aiohttp.TraceConfig:
    """Tells each request's exchange how far it came."""

    def exchange_of(context: SimpleNamespace) -> Exchange:
        exchange = context.trace_request_ctx
        assert isinstance(exchange, Exchange)
        return exchange

    async def dns_begins(_s: aiohttp.ClientSession, context: SimpleNamespace, _p: object) -> None:
        exchange_of(context).begin("dns")

    async def dns_ends(_s: aiohttp.ClientSession, context: SimpleNamespace, _p: object) -> None:
        exchange_of(context).end("dns")

    async def connect_begins(_s: aiohttp.ClientSession, context: SimpleNamespace, _p: object) -> None:
        exchange_of(context).begin("connect")

    async def connect_ends(_s: aiohttp.ClientSession, context: SimpleNamespace, _p: object) -> None:
        exchange = exchange_of(context)
        exchange.end("connect")
        exchange.connected = True

    async def reused(_s: aiohttp.ClientSession, context: SimpleNamespace, _p: object) -> None:
        exchange_of(context).connected = True

    tracing = aiohttp.TraceConfig()
    tracing.on_dns_resolvehost_start.append(dns_begins)
    tracing.on_dns_resolvehost_end.append(dns_ends)
    tracing.on_connection_create_start.append(connect_begins)
    tracing.on_connection_create_end.append(connect_ends)
    tracing.on_connection_reuseconn.append(reused)
    return tracing
