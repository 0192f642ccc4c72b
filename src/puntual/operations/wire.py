"""One request to a server's API: a JSON answer, or the very error that the operation raised over there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Final, Self
from urllib.parse import quote

import aiohttp
import msgspec
from yarl import URL

from puntual.manifest import ManifestErrors
from puntual.model import errors
from puntual.model.errors import PuntualError
from puntual.operations.contract import Filter, Json
from puntual.settings import Hidden

PREFIX: Final = "/api/v1"
#: The longest that a server may take: applying ten thousand schedules, replaying a page of dead runs.
_PATIENCE: Final = aiohttp.ClientTimeout(total=120, sock_connect=10)
_EXCERPT: Final = 200


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What to ask: the parts of the path are quoted, a filter becomes the query, a body JSON."""

    method: str
    path: Sequence[str]
    query: Filter = {}
    body: object = msgspec.UNSET
    revision: int | None = None


class Wire:
    """A connection to a server. The token goes to that server only: redirects are not followed, proxies not asked.

    Args:
        server: its address, for example ``https://puntual.example.com``.
        token: what it lets in.
    """

    def __init__(self, server: str, token: Hidden | None) -> None:
        self._server = server.rstrip("/")
        self._token = token
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        headers = {"Accept": "application/json"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token.reveal()}"
        self._session = aiohttp.ClientSession(
            headers=headers, timeout=_PATIENCE, trust_env=False, cookie_jar=aiohttp.DummyCookieJar()
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def ask(self, request: Request) -> Json:
        """The answer.

        Raises:
            PuntualError: what the server says was wrong; or it cannot be reached, or is no puntual.
        """
        if self._session is None:
            raise RuntimeError("a wire is used inside `async with`")
        url = URL(f"{self._server}{PREFIX}/{'/'.join(quote(part, safe='') for part in request.path)}", encoded=True)
        headers = {"Content-Type": "application/json"}
        if request.revision is not None:
            headers["If-Match"] = f'"{request.revision}"'
        data = None if request.body is msgspec.UNSET else msgspec.json.encode(request.body)
        try:
            async with self._session.request(
                request.method,
                url.extend_query(_query(request.query)),
                data=data,
                headers=headers,
                allow_redirects=False,
            ) as response:
                return self._answer(response.status, await response.read(), url.path)
        except TimeoutError as error:
            raise errors.StoreUnavailableError(f"The server {self._server} did not answer in time.") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise errors.StoreUnavailableError(
                f"The server {self._server} cannot be reached: {_cause(error)}.",
                hint="PUNTUAL_SERVER says where it is; without it the database of PUNTUAL_DATABASE_URL is used.",
            ) from error

    def _answer(self, status: int, body: bytes, path: str) -> Json:
        try:
            answer = msgspec.json.decode(body) if body else {}
        except msgspec.DecodeError:
            answer = None
        if 200 <= status < 300 and isinstance(answer, dict) and answer:
            return answer
        if isinstance(answer, dict) and isinstance(answer.get("detail"), str):
            raise error_of(status, answer)
        excerpt = body[:_EXCERPT].decode(errors="replace")
        raise errors.StoreUnavailableError(
            f"{self._server}{path} answered {status} and not as puntual does: {excerpt!r}.",
            hint="PUNTUAL_SERVER is the address that `puntual serve` prints, without a path.",
        )


def _cause(error: Exception) -> str:
    """The reason in plain words: the library's own text repeats the address in its own way."""
    inner = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(inner, OSError) and inner.errno is not None and inner.errno > 0:
        return os.strerror(inner.errno).lower()
    return (str(inner) or type(inner).__name__).rstrip(".")


def error_of(status: int, problem: Mapping[str, object]) -> PuntualError:
    """The error that a problem (RFC 9457) tells of, as the class that it was where it was raised."""
    faults = problem.get("errors")
    if isinstance(faults, list) and faults and all(isinstance(fault, dict) for fault in faults):
        return ManifestErrors([_error(status, {**fault, "detail": fault.get("message")}) for fault in faults])
    return _error(status, problem)


_BY_STATUS: Final[Mapping[int, type[PuntualError]]] = {
    401: errors.UnauthorizedError,
    403: errors.ForbiddenError,
    404: errors.NotFoundError,
    409: errors.ConflictError,
    412: errors.ConflictError,
}


def _error(status: int, problem: Mapping[str, object]) -> PuntualError:
    usual = errors.InvalidError if status < 500 else errors.StoreUnavailableError
    kind = _CLASSES.get(str(problem.get("code"))) or _BY_STATUS.get(status, usual)
    hint, field, column = (problem.get(key) for key in ("hint", "field", "column"))
    if status == 401:
        hint = "PUNTUAL_TOKEN holds the token, or PUNTUAL_TOKEN_FILE names the file that does."
    return kind(
        str(problem.get("detail") or f"The server answered {status}."),
        hint=hint if isinstance(hint, str) else None,
        field=field if isinstance(field, str) else None,
        column=column if isinstance(column, int) else None,
    )


def _classes(base: type[PuntualError]) -> Iterator[type[PuntualError]]:
    for kind in base.__subclasses__():
        if kind.__module__ == errors.__name__:
            yield kind
            yield from _classes(kind)


_CLASSES: Final[Mapping[str, type[PuntualError]]] = {kind.code: kind for kind in _classes(PuntualError)}


def _query(where: Filter) -> list[tuple[str, str]]:
    """The pairs of a query string: a list repeats its key, what is not said is left out."""
    pairs = []
    for key, value in where.items():
        values = value if isinstance(value, list | tuple) else [value]
        pairs += [(key, _text(item)) for item in values if item is not None]
    return pairs


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
