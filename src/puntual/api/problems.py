"""Every failure is a problem (RFC 9457): a status, one sentence, and a code that stays the same."""

from __future__ import annotations

from http import HTTPStatus
from typing import ClassVar, Final

import msgspec
from starlette.responses import Response

from puntual.model.errors import (
    CalendarError,
    ChangedError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    PuntualError,
    StoreDataError,
    StoreError,
    TaskUnknownError,
    UnauthorizedError,
    WaitTimeoutError,
)

MEDIA_TYPE: Final = "application/problem+json"
_RETRY_AFTER: Final = {"retry-after": "1"}


class TooLargeError(PuntualError):
    """A body beyond the cap."""

    code: ClassVar[str] = "too_large"


class MediaTypeError(PuntualError):
    """A body that does not say that it is JSON."""

    code: ClassVar[str] = "media_type"


class MisdirectedError(PuntualError):
    """A ``Host`` that is not ours: somebody's name was made to point here."""

    code: ClassVar[str] = "misdirected"


#: The first that fits counts.
_STATUS: Final[tuple[tuple[type[PuntualError], HTTPStatus], ...]] = (
    (TooLargeError, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (MediaTypeError, HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
    (MisdirectedError, HTTPStatus.MISDIRECTED_REQUEST),
    (UnauthorizedError, HTTPStatus.UNAUTHORIZED),
    (ForbiddenError, HTTPStatus.FORBIDDEN),
    (NotFoundError, HTTPStatus.NOT_FOUND),
    (ConflictError, HTTPStatus.CONFLICT),
    (InvalidError, HTTPStatus.BAD_REQUEST),
    (TaskUnknownError, HTTPStatus.BAD_REQUEST),
    (StoreDataError, HTTPStatus.BAD_REQUEST),
    (StoreError, HTTPStatus.SERVICE_UNAVAILABLE),
    (WaitTimeoutError, HTTPStatus.GATEWAY_TIMEOUT),
    (CalendarError, HTTPStatus.BAD_GATEWAY),
)


def status_of(error: PuntualError, *, conditional: bool = False) -> HTTPStatus:
    """The status of an error; ``conditional`` when the request had ``If-Match`` or ``If-None-Match``."""
    if conditional and isinstance(error, ChangedError):
        return HTTPStatus.PRECONDITION_FAILED
    return next((status for kind, status in _STATUS if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)


def problem_of(error: PuntualError, *, conditional: bool = False, scope: str | None = None) -> Response:
    """The reply that tells of an error.

    Args:
        error: what went wrong.
        conditional: as for `status_of`.
        scope: the scope that a token lacked, for ``WWW-Authenticate``.
    """
    status = status_of(error, conditional=conditional)
    headers: dict[str, str] = {}
    if isinstance(error, UnauthorizedError):
        headers["www-authenticate"] = 'Bearer realm="puntual"'
    elif scope is not None:
        headers["www-authenticate"] = f'Bearer realm="puntual", error="insufficient_scope", scope="{scope}"'
    elif status is HTTPStatus.SERVICE_UNAVAILABLE:
        headers |= _RETRY_AFTER
    elif status is HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        # The rest of the body is not read, so nothing else can come over this connection.
        headers["connection"] = "close"
    parts = error.as_dict()
    detail = str(parts.pop("message"))
    return problem(status, detail, headers, **parts)


def problem(status: HTTPStatus, detail: str, headers: dict[str, str] | None = None, **parts: object) -> Response:
    """A problem with its code and whatever else there is to tell."""
    body = {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": detail, **parts}
    return Response(msgspec.json.encode(body), status.value, headers, MEDIA_TYPE)
