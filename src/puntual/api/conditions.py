"""What must stand for a request to change it: ``If-Match``, ``If-None-Match``, and the word ``take``."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, Final

from starlette.requests import Request

from puntual.model.errors import ChangedError, InvalidError, NotFoundError

_TAG: Final = re.compile(r'"(\d{1,15})"', re.ASCII)


def tag(number: int) -> dict[str, str]:
    """The header that tells a revision or a version."""
    return {"etag": f'"{number}"'}


def takes(request: Request) -> bool:
    """Whether another owner's may be written.

    Raises:
        InvalidError: ``take`` is neither true nor false.
    """
    word = request.query_params.get("take", "false")
    if word not in ("true", "false"):
        raise InvalidError(f"take is {word[:60]!r}; it must be true or false.", field="take")
    return word == "true"


async def expected(request: Request, standing: Callable[[], Awaitable[dict[str, Any]]], key: str) -> int | None:
    """The number that must stand, by ``If-Match`` or ``If-None-Match: *``; None where neither is sent.

    Args:
        request: what was sent.
        standing: reads what stands, for ``If-Match: *``.
        key: where that has its number.

    Raises:
        ChangedError: something must stand, and nothing does.
        InvalidError: a header is none of ours.
    """
    none_match, match = request.headers.get("if-none-match"), request.headers.get("if-match")
    if none_match is not None:
        if none_match.strip() != "*" or match is not None:
            raise InvalidError("If-None-Match must be *, and without If-Match.", field="If-None-Match")
        return 0
    if match is None:
        return None
    if match.strip() == "*":
        try:
            return int((await standing())[key])
        except NotFoundError as error:
            raise ChangedError(error.message, field=error.field) from None
    found = _TAG.fullmatch(match.strip())
    if found is None:
        raise InvalidError('If-Match must be the ETag of what is changed, like "3", or *.', field="If-Match")
    return int(found[1])
