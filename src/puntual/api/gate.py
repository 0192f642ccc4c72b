"""What every request passes before it is routed: its Host, its token and its Origin; and what every reply carries."""

from __future__ import annotations

from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from puntual.api import hosts
from puntual.api.auth import TokenBook
from puntual.api.problems import MisdirectedError, problem_of
from puntual.model.errors import ForbiddenError, InvalidError, PuntualError, StoreError, StoreUnavailableError
from puntual.settings import Settings

#: Where the token of a request is kept in its ASGI scope.
TOKEN: Final = "puntual.token"  # noqa: S105 - a key, no token
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
#: For load balancers and process managers, which have no token and may use any name; they tell nothing of the inside.
OPEN: Final = frozenset({"/healthz", "/readyz"})

#: Tells numbers only, and most of all while the database is away.
METRICS: Final = "/metrics"

_HEADERS: Final = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class Gate:
    """ASGI middleware around the whole API."""

    def __init__(self, inner: ASGIApp, *, settings: Settings, book: TokenBook) -> None:
        self._inner = inner
        self._book = book
        self._names = hosts.allowed_names(settings)
        self._public_url = settings.public_url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a request in, or answers it here."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        guarded = _with_headers(send)
        if scope["method"] == "HEAD":
            # What GET would answer, without its body (RFC 9110, 9.3.2).
            scope, guarded = {**scope, "method": "GET"}, _without_body(guarded)
        try:
            await self._check(scope)
        except StoreError:
            # Nobody is known yet, so nobody is told what the database says; the loops' own log tells it.
            await problem_of(StoreUnavailableError("The database does not answer: try again."))(scope, receive, guarded)
        except PuntualError as error:
            await problem_of(error)(scope, receive, guarded)
        else:
            await self._inner(scope, receive, guarded)

    async def _check(self, scope: Scope) -> None:
        if scope["path"] in OPEN:
            return
        headers = Headers(scope=scope)
        if len(headers.getlist("host")) > 1:
            # RFC 9112, 3.2: whoever stands in front may have looked at the other one.
            raise InvalidError("The request has several Host headers; it must have one.", field="Host")
        host = headers.get("host")
        if not hosts.is_ours(host, self._names):
            raise MisdirectedError(
                "This server is not known by that Host name.",
                hint="PUNTUAL_PUBLIC_URL tells it the name that it is reached by.",
            )
        origin = headers.get("origin")
        foreign = origin is not None and not hosts.same_origin(origin, host or "", self._public_url)
        if foreign and scope["method"] not in SAFE:
            raise ForbiddenError("A page of another site may change nothing here: its Origin is not this server's.")
        scope[TOKEN] = await self._book.bearer(headers.get("authorization"), stale=scope["path"] == METRICS)


def _without_body(send: Send) -> Send:
    async def sending(message: Message) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return sending


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending
