"""``/queues``, ``/workers``, ``/tasks``, ``/tokens``, ``/status`` and ``/health``."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from puntual.api.auth import TokenBook
from puntual.api.describe import about, many
from puntual.api.idempotency import refuse_key
from puntual.api.route import Route, answer, body_of, json_of, operations
from puntual.api.schedules import NoBody
from puntual.operations.bodies import QueueBody, TokenBody
from puntual.operations.shapes import QueueShape, TokenShape, WorkerShape
from puntual.operations.shapes.forecast import ForecastShape

router = APIRouter(route_class=Route, tags=["fleet"])

_OBJECT: Final = {"type": "object"}


@router.get("/queues", openapi_extra=about("read", gives=many(QueueShape)))
async def list_queues(request: Request) -> Response:
    """Queues with their counts."""
    return answer(await operations(request).list_queues())


@router.put("/queues/{name:path}", openapi_extra=about("operate", takes=QueueBody, gives=QueueShape))
async def set_queue(request: Request, name: str) -> Response:
    """Limits, pauses or resumes a queue; what is not given stays."""
    return answer(await operations(request).set_queue(name, await json_of(request)))


@router.get("/workers", openapi_extra=about("read", gives=many(WorkerShape)))
async def list_workers(request: Request) -> Response:
    """Workers whose lease nobody has ended; those that are overdue say so."""
    return answer(await operations(request).list_workers())


@router.post("/workers/{worker_id}/drain", openapi_extra=about("operate", gives=_OBJECT))
async def drain_worker(request: Request, worker_id: str) -> Response:
    """Lets a worker finish what it holds and take nothing more."""
    await body_of(request, NoBody)
    return answer(await operations(request).drain_worker(worker_id))


@router.get("/tasks", openapi_extra=about("read", gives=_OBJECT))
async def list_tasks(request: Request) -> Response:
    """Tasks known to this server and to live workers."""
    return answer(await operations(request).list_tasks())


@router.get("/status", openapi_extra=about("read", gives=_OBJECT, filters=("since",)))
async def status(request: Request) -> Response:
    """How things stand, in one sentence and then in detail."""
    return answer(await operations(request).status(request.query_params.get("since")))


@router.get("/forecast", openapi_extra=about("read", gives=ForecastShape, filters=("since", "until")))
async def forecast(request: Request) -> Response:
    """How many runs are to come by the minute, which minutes are crowded, and the spread that would flatten them."""
    asked = request.query_params
    return answer(await operations(request).forecast(asked.get("since"), asked.get("until")))


@router.get("/health", openapi_extra=about("read", gives=_OBJECT))
async def health(request: Request) -> Response:
    """Whether every part does its work."""
    return answer(await operations(request).health())


@router.get("/tokens", openapi_extra=about("admin", gives=many(TokenShape)))
async def list_tokens(request: Request) -> Response:
    """Tokens, without their text."""
    return answer(await operations(request).list_tokens())


@router.post("/tokens", status_code=201, openapi_extra=about("admin", takes=TokenBody, gives=TokenShape))
async def create_token(request: Request) -> Response:
    """A new token; its text is in this reply and nowhere else."""
    refuse_key(request, "a token's text is shown once, so a repeat makes another one: revoke the first")
    made = await operations(request).create_token(await json_of(request))
    _book(request).forget()
    return answer(made, HTTPStatus.CREATED)


@router.delete("/tokens/{token_id}", openapi_extra=about("admin", gives=_OBJECT))
async def revoke_token(request: Request, token_id: str) -> Response:
    """Forgets a token: here at once, on other servers within two seconds."""
    revoked = await operations(request).revoke_token(token_id)
    _book(request).forget()
    return answer(revoked)


def _book(request: Request) -> TokenBook:
    book = request.app.state.book
    assert isinstance(book, TokenBook)
    return book
