"""``/runs`` and ``/dead``."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from puntual.api.describe import about, many
from puntual.api.idempotency import made, take_key
from puntual.api.route import LARGE, Route, answer, body_of, json_of, operations, own_arguments, query
from puntual.api.schedules import NoBody
from puntual.model.errors import ConflictError
from puntual.operations.bodies import EditBody, EnqueueBody, ReplayBody, read_body
from puntual.operations.filters import PAGE_KEYS, RUN_KEYS, whole
from puntual.operations.shapes import RunShape

router = APIRouter(route_class=Route, tags=["runs"])

_OBJECT: Final = {"type": "object"}
_FILTERS: Final = (*RUN_KEYS[:-1], *PAGE_KEYS)
_IDS: Final = {"type": "object", "properties": {"ids": {"type": "array", "items": {"type": "string"}}}}
_MOST_ATTEMPTS: Final = 1_000_000


class BatchBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Many runs to make."""

    runs: list[dict[str, Any]]


class IdsBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which runs."""

    ids: list[str]


class EditManyBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which runs, and what to change."""

    where: dict[str, Any]
    edit: dict[str, Any]


@router.get("/runs", openapi_extra=about("read", gives=many(RunShape), filters=_FILTERS))
async def list_runs(request: Request) -> Response:
    """Runs, newest first."""
    return answer(await operations(request).list_runs(query(request)))


@router.post("/runs", status_code=201, openapi_extra=about("operate", takes=EnqueueBody, gives=RunShape))
async def enqueue(request: Request) -> Response:
    """One run, by an event; 200 and ``existing`` when it stood already under its id, unique key or Idempotency-Key."""
    body = await json_of(request)
    own_arguments(request, str(body.get("task")))
    await take_key(request, [body])
    return made(await operations(request).enqueue(body))


@router.post(
    "/runs/batch", status_code=201, openapi_extra=about("operate", takes=many(EnqueueBody, "runs"), gives=_IDS)
)
async def enqueue_batch(request: Request) -> Response:
    """Many runs at once, all or nothing."""
    runs = read_body(await json_of(request, most=LARGE), BatchBody).runs
    for task in {str(run.get("task")) for run in runs}:
        own_arguments(request, task)
    await take_key(request, runs)
    return answer(await operations(request).enqueue_batch(runs), HTTPStatus.CREATED)


@router.post("/runs/cancel", openapi_extra=about("operate", takes=_IDS, gives=_OBJECT))
async def cancel_runs(request: Request) -> Response:
    """Ends pending runs and asks running ones to stop."""
    return answer(await operations(request).cancel_runs((await body_of(request, IdsBody)).ids))


@router.post("/runs/edit", openapi_extra=about("operate", takes=_OBJECT, gives=_IDS))
async def edit_runs(request: Request) -> Response:
    """Changes lane, priority or time of pending runs."""
    body = await body_of(request, EditManyBody)
    return answer(await operations(request).edit_runs(body.where, body.edit))


@router.get("/runs/{run_id}", openapi_extra=about("read", gives=RunShape))
async def get_run(request: Request, run_id: str) -> Response:
    """One run with its attempts."""
    return answer(await operations(request).get_run(run_id))


@router.patch("/runs/{run_id}", openapi_extra=about("operate", takes=EditBody, gives=RunShape))
async def edit_run(request: Request, run_id: str) -> Response:
    """Changes a run while it is pending."""
    changed = await operations(request).edit_runs({"ids": [run_id]}, await json_of(request))
    run = await operations(request).get_run(run_id)
    if not changed["ids"]:
        raise ConflictError(f"Run {run_id} is {run['state']}; only a pending run can be changed.", field="id")
    return answer(run)


@router.post("/runs/{run_id}/cancel", openapi_extra=about("operate", gives=_OBJECT))
async def cancel_run(request: Request, run_id: str) -> Response:
    """Ends a pending run, or asks a running one to stop."""
    await body_of(request, NoBody)
    run = await operations(request).get_run(run_id)
    return answer(await operations(request).cancel_runs([run["id"]]))


@router.post("/runs/{run_id}/replay", openapi_extra=about("operate", takes=ReplayBody, gives=RunShape))
async def replay_run(request: Request, run_id: str) -> Response:
    """Runs it again: a dead run unchanged under its own id, else as a new run.

    An Idempotency-Key goes with what makes a new run.
    """
    body = await json_of(request)
    if read_body(body, ReplayBody).args is not None:
        own_arguments(request, (await operations(request).get_run(run_id))["task"])
    await take_key(request, [body])
    return answer(await operations(request).replay_run(run_id, body))


@router.get("/runs/{run_id}/attempts/{number}/response", openapi_extra=about("read", gives=_OBJECT))
async def get_response(request: Request, run_id: str, number: str) -> Response:
    """What was kept of an attempt's answer or output."""
    return answer(await operations(request).get_response(run_id, whole(number, "attempt", most=_MOST_ATTEMPTS)))


@router.get("/dead", openapi_extra=about("read", gives=many(RunShape), filters=_FILTERS))
async def list_dead(request: Request) -> Response:
    """Dead runs that nobody has discarded, newest first."""
    return answer(await operations(request).list_dead(query(request)))


@router.post("/dead/replay", openapi_extra=about("operate", takes=_OBJECT, gives=_OBJECT))
async def replay_dead(request: Request) -> Response:
    """Puts dead runs back, unchanged."""
    return answer(await operations(request).replay_dead(await json_of(request)))


@router.post("/dead/discard", openapi_extra=about("operate", takes=_OBJECT, gives=_IDS))
async def discard_dead(request: Request) -> Response:
    """Takes dead runs out of the list; they stay in history."""
    return answer(await operations(request).discard_dead(await json_of(request)))
