"""``Idempotency-Key``: a request sent again within a day, under the same token and key, finds the runs of the first.

The id of a run begins with a time, by which lists are sorted. A key has none, so its runs carry the hour in which it
was first seen, and a repeat looks for the first of them under each hour of the day before.
"""

from __future__ import annotations

import re
from typing import Final

from starlette.requests import Request

from puntual.api.route import app_of, token_of
from puntual.model.errors import InvalidError
from puntual.model.ids import key_run_id
from puntual.model.instant import HOUR
from puntual.store.requests import Page, RunFilter

_HOURS: Final = 25
_KEY: Final = re.compile(r"[!-~]([ -~]{0,198}[!-~])?", re.ASCII)


async def ids_by_key(request: Request, count: int) -> list[str] | None:
    """The ids of the runs that the request's key stands for; None when it has no key.

    Raises:
        InvalidError: the key is no text of 1 to 200 printable ASCII characters.
    """
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    if not _KEY.fullmatch(key):
        raise InvalidError("Idempotency-Key must be 1 to 200 printable ASCII characters.", field="Idempotency-Key")
    app, owner = app_of(request), token_of(request).id
    hour = app.clock.now() // HOUR * HOUR
    first = {key_run_id(owner, key, 0, moment): moment for moment in range(hour, hour - _HOURS * HOUR, -HOUR)}
    for run in await app.store.list_runs(RunFilter(ids=tuple(first)), Page(limit=1)):
        hour = first[run.id]
    return [key_run_id(owner, key, position, hour) for position in range(count)]
