"""``Idempotency-Key``: a request sent again within a day, under the same token and key, finds the runs of the first.

The id of a run begins with a time, by which lists are sorted. A key has none, so its runs carry the hour in which it
was first seen, and a repeat looks for the first of them under each hour of the day before. Other content under a key
that stands is a conflict: the operation compares it with the run that has the id.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from puntual.api.route import answer, app_of, token_of
from puntual.model.errors import ConflictError, InvalidError
from puntual.model.ids import key_run_id
from puntual.model.instant import HOUR
from puntual.operations.local.base import all_runs
from puntual.store.requests import RunFilter

_HOURS: Final = 25
_NAME: Final = "Idempotency-Key"
_KEY: Final = re.compile(r"[!-~]([ -~]{0,198}[!-~])?", re.ASCII)


async def take_key(request: Request, bodies: Sequence[dict[str, Any]]) -> None:
    """Gives the runs to be made the ids that the request's key stands for; without a key they stay as they are.

    Raises:
        InvalidError: the key is no text of 1 to 200 printable ASCII characters, or a run has an id of its own.
        ConflictError: the key stands for a request with more or fewer runs.
    """
    key = request.headers.get(_NAME)
    if key is None:
        return
    if not _KEY.fullmatch(key):
        raise InvalidError(f"{_NAME} must be 1 to 200 printable ASCII characters.", field=_NAME)
    if any(body.get("id") is not None for body in bodies):
        raise InvalidError(f"A run with an id needs no {_NAME}: leave out one of the two.", field=_NAME)
    app, owner = app_of(request), token_of(request).id
    now = app.clock.now() // HOUR * HOUR
    first = {key_run_id(owner, key, 0, hour): hour for hour in range(now, now - _HOURS * HOUR, -HOUR)}
    standing = await all_runs(app.store, RunFilter(ids=tuple(first)))
    hour = first[standing[0].id] if standing else now
    if standing:
        # One run more than are asked for must not stand, and the last of those must; one with a unique key may not.
        last = max((place for place, body in enumerate(bodies) if body.get("unique_key") is None), default=None)
        for place, wanted in ((len(bodies), False), (last, True)):
            if place is not None and wanted != (
                await app.store.get_run(key_run_id(owner, key, place, hour)) is not None
            ):
                how = "fewer" if wanted else "more"
                raise ConflictError(f"The {_NAME} {key!r} stands for a request with {how} runs.", field=_NAME)
    for position, body in enumerate(bodies):
        body["id"] = key_run_id(owner, key, position, hour)


def refuse_key(request: Request, because: str) -> None:
    """Refuses a key where it would not be honoured.

    Raises:
        InvalidError: the request has one.
    """
    if _NAME in request.headers:
        raise InvalidError(f"{_NAME} is not taken here: {because}.", field=_NAME)


def made(run: dict[str, Any]) -> Response:
    """The reply with a run: 201 where it was made now, 200 where it stood already."""
    return answer(run, HTTPStatus.OK if run.get("existing") else HTTPStatus.CREATED)
