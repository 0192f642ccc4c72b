"""``/schedules``, ``/ticks``, ``/parse``, ``/apply`` and ``/export``."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from puntual.api.conditions import expected, tag, takes
from puntual.api.describe import about, many
from puntual.api.idempotency import made, refuse_key, take_key
from puntual.api.route import (
    LARGE,
    MIDDLING,
    Route,
    allowed,
    answer,
    body_of,
    json_of,
    operations,
    own_arguments,
    query,
    require,
)
from puntual.model.errors import InvalidError
from puntual.operations.bodies import BackfillBody, TriggerBody, read_body
from puntual.operations.filters import MOST, PAGE_KEYS, SCHEDULE_KEYS, TICK_KEYS, whole
from puntual.operations.shapes import RunShape, ScheduleShape, TickShape

router = APIRouter(route_class=Route, tags=["schedules"])

_OBJECT: Final = {"type": "object"}
_FIRES: Final = {
    "type": "object",
    "properties": {
        "fires": {"type": "array", "items": {"type": "string"}},
        "skipped": {"type": "array", "items": {"type": "object"}},
    },
}


class TextBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A manifest, its name in errors, and the texts of the files that it names."""

    text: str
    source: str | None = None
    files: dict[str, str] = {}


class ApplyBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Manifests, and how to apply them."""

    texts: list[TextBody]
    dry_run: bool = False
    prune: bool = False
    take: bool = False


class PauseBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long, and why."""

    until: str | None = None
    reason: str | None = None


class PauseSelectBody(PauseBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which, how long, and why."""

    select: dict[str, Any]


class ResumeBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which."""

    select: dict[str, Any]


class NoBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing."""


@router.get("/schedules", openapi_extra=about("read", gives=many(ScheduleShape), filters=(*SCHEDULE_KEYS, *PAGE_KEYS)))
async def list_schedules(request: Request) -> Response:
    """Schedules by name."""
    return answer(await operations(request).list_schedules(query(request)))


@router.post("/schedules", status_code=201, openapi_extra=about("admin", takes=_OBJECT, gives=ScheduleShape))
async def create_schedule(request: Request) -> Response:
    """Creates a schedule from its name and the keys of a manifest; there must be none of that name."""
    refuse_key(request, "PUT /schedules/{name} may be repeated as it is")
    body = await json_of(request)
    name = body.pop("name", None)
    if not isinstance(name, str):
        raise InvalidError("name is missing; it must be the schedule's name.", field="name")
    return _schedule(await operations(request).put_schedule(name, body, revision=0), HTTPStatus.CREATED)


@router.post("/schedules/pause", openapi_extra=about("operate", takes=_OBJECT, gives=_OBJECT))
async def pause_schedules(request: Request) -> Response:
    """Pauses schedules by name or tag, or everything."""
    body = await body_of(request, PauseSelectBody)
    return answer(await operations(request).pause_schedules(body.select, until=body.until, reason=body.reason))


@router.post("/schedules/resume", openapi_extra=about("operate", takes=_OBJECT, gives=_OBJECT))
async def resume_schedules(request: Request) -> Response:
    """Resumes schedules by name or tag, or everything."""
    return answer(await operations(request).resume_schedules((await body_of(request, ResumeBody)).select))


@router.get("/schedules/{name}", openapi_extra=about("read", gives=ScheduleShape))
async def get_schedule(request: Request, name: str) -> Response:
    """One schedule; its ``ETag`` is its revision."""
    return _schedule(await operations(request).get_schedule(name))


@router.put("/schedules/{name}", openapi_extra=about("admin", takes=_OBJECT, gives=ScheduleShape, filters=("take",)))
async def put_schedule(request: Request, name: str) -> Response:
    """Creates or replaces a schedule; with ``If-Match`` only if its revision is that one."""
    body, revision, take = await json_of(request), await _revision(request, name), takes(request)
    return _schedule(await operations(request).put_schedule(name, body, revision=revision, take=take))


@router.patch("/schedules/{name}", openapi_extra=about("admin", takes=_OBJECT, gives=ScheduleShape, filters=("take",)))
async def patch_schedule(request: Request, name: str) -> Response:
    """Changes the keys given (RFC 7396); with ``If-Match`` only if its revision is that one."""
    body, revision, take = await json_of(request), await _revision(request, name), takes(request)
    return _schedule(await operations(request).patch_schedule(name, body, revision=revision, take=take))


@router.delete("/schedules/{name}", openapi_extra=about("admin", gives=_OBJECT))
async def remove_schedule(request: Request, name: str) -> Response:
    """Removes a schedule; runs in flight go on and are named. With ``If-Match`` only if its revision is that one."""
    revision = await _revision(request, name)
    return answer(await operations(request).remove_schedule(name, revision=revision))


@router.post("/schedules/{name}/pause", openapi_extra=about("operate", takes=_OBJECT, gives=_OBJECT))
async def pause_schedule(request: Request, name: str) -> Response:
    """Pauses a schedule."""
    body = await body_of(request, PauseBody)
    return answer(await operations(request).pause_schedules({"names": [name]}, until=body.until, reason=body.reason))


@router.post("/schedules/{name}/resume", openapi_extra=about("operate", gives=_OBJECT))
async def resume_schedule(request: Request, name: str) -> Response:
    """Resumes a schedule."""
    await body_of(request, NoBody)
    return answer(await operations(request).resume_schedules({"names": [name]}))


@router.post(
    "/schedules/{name}/trigger", status_code=201, openapi_extra=about("operate", takes=TriggerBody, gives=RunShape)
)
async def trigger_schedule(request: Request, name: str) -> Response:
    """One run by hand; 200 and ``existing`` when it stood already under its id or Idempotency-Key."""
    body = await json_of(request)
    if read_body(body, TriggerBody).args is not None:
        schedule = await operations(request).get_schedule(name)
        own_arguments(request, schedule["target"]["task"])
    await take_key(request, [body])
    return made(await operations(request).trigger_schedule(name, body))


@router.post("/schedules/{name}/backfill", openapi_extra=about("operate", takes=BackfillBody, gives=_OBJECT))
async def backfill_schedule(request: Request, name: str) -> Response:
    """Makes up for ticks of the past: a run for each that has not run; ``dry_run`` only says which those are."""
    refuse_key(request, "a backfill may be repeated as it is")
    return answer(await operations(request).backfill_schedule(name, await json_of(request)))


@router.get("/schedules/{name}/next", openapi_extra=about("read", gives=_FIRES, filters=("count",)))
async def next_ticks(request: Request, name: str) -> Response:
    """The next ticks of a schedule."""
    count = whole(request.query_params.get("count", "5"), "count", most=MOST)
    return answer(await operations(request).next_ticks(name, count))


@router.get(
    "/schedules/{name}/ticks",
    openapi_extra=about("read", gives=many(TickShape), filters=(*TICK_KEYS[1:], *PAGE_KEYS)),
)
async def schedule_ticks(request: Request, name: str) -> Response:
    """The tick record of a schedule."""
    return answer(await operations(request).list_ticks({**query(request), "schedule": name}))


@router.get("/ticks", openapi_extra=about("read", gives=many(TickShape), filters=(*TICK_KEYS, *PAGE_KEYS)))
async def list_ticks(request: Request) -> Response:
    """The tick record of all schedules."""
    return answer(await operations(request).list_ticks(query(request)))


@router.post("/parse", openapi_extra=about("read", takes=_OBJECT, gives=_OBJECT))
async def parse(request: Request) -> Response:
    """How a rule is read, and when it fires."""
    return answer(await operations(request).parse(await json_of(request)))


@router.post("/apply", openapi_extra=about("read", takes=_OBJECT, gives=_OBJECT))
async def apply(request: Request) -> Response:
    """Applies manifests, all or nothing; needs the scope admin unless it is a dry run.

    A dry run is for read up to the size of one payload, for operate up to 1 MB.
    """
    most = LARGE if allowed(request, "admin") else MIDDLING if allowed(request, "operate") else 0
    body = read_body(await json_of(request, most=most), ApplyBody)
    if not body.dry_run:
        require(request, "admin")
    texts: list[dict[str, Any]] = [msgspec.structs.asdict(text) for text in body.texts]
    # Whoever may only look makes this server ask no other.
    fetch = not body.dry_run or allowed(request, "admin")
    how = {"dry_run": body.dry_run, "prune": body.prune, "take": body.take, "fetch": fetch}
    return answer(await operations(request).apply(texts, **how))


@router.get("/export", openapi_extra=about("read", gives=_OBJECT))
async def export(request: Request) -> Response:
    """All schedules as a manifest that ``/apply`` takes back."""
    return answer(await operations(request).export())


def _schedule(schedule: dict[str, Any], status: HTTPStatus = HTTPStatus.OK) -> Response:
    return answer(schedule, status, tag(schedule["revision"]))


async def _revision(request: Request, name: str) -> int | None:
    return await expected(request, lambda: operations(request).get_schedule(name), "revision")
