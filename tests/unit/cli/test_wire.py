"""Tests of `puntual.operations.wire` and `remote`: what goes over the wire, and what comes back as which error."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from puntual.manifest import ManifestErrors
from puntual.model.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    InvalidRuleError,
    NotFoundError,
    PuntualError,
    StoreUnavailableError,
    UnauthorizedError,
)
from puntual.operations.remote import RemoteOperations
from puntual.operations.wire import error_of
from puntual.settings import Hidden

Answering = Callable[[web.Request], web.Response]


@asynccontextmanager
async def server(answer: Answering) -> AsyncIterator[tuple[RemoteOperations, list[tuple[web.Request, bytes]]]]:
    """Operations on a server that answers every request so, and what it was asked."""
    asked: list[tuple[web.Request, bytes]] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        asked.append((request, await request.read()))
        return answer(request)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        async with RemoteOperations(f"http://{host}:{port}/", Hidden("ptl_secret")) as operations:
            yield operations, asked
    finally:
        await runner.cleanup()


def fine(_request: web.Request) -> web.Response:
    """An answer."""
    return web.json_response({"answer": True})


async def test_a_request_carries_the_token_and_names_are_quoted() -> None:
    """A slash or a question mark in a name stays a part of the name."""
    async with server(fine) as (operations, asked):
        await operations.get_schedule("a/b?c d")
    request = asked[0][0]
    assert request.raw_path == "/api/v1/schedules/a%2Fb%3Fc%20d"
    assert request.headers["Authorization"] == "Bearer ptl_secret"


async def test_a_filter_becomes_the_query() -> None:
    """Lists repeat their key; what is not said is left out."""
    async with server(fine) as (operations, asked):
        await operations.list_runs({"state": ["dead", "pending"], "limit": 5, "cursor": None, "tag": ["a&b"]})
    assert list(asked[0][0].query.items()) == [("state", "dead"), ("state", "pending"), ("limit", "5"), ("tag", "a&b")]


async def test_a_write_carries_body_revision_and_take() -> None:
    """What guards a write reaches the server."""
    async with server(fine) as (operations, asked):
        await operations.put_schedule("x", {"when": "@daily"}, revision=3, take=True)
    request, body = asked[0]
    assert (request.method, request.query["take"], request.headers["If-Match"]) == ("PUT", "true", '"3"')
    assert json.loads(body) == {"when": "@daily"}


async def test_a_redirect_is_not_followed() -> None:
    """The token goes to the server that was named and to nobody else."""

    def elsewhere(_request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": "/other"})

    async with server(elsewhere) as (operations, asked):
        with pytest.raises(StoreUnavailableError):
            await operations.status()
    assert len(asked) == 1


@pytest.mark.parametrize("body", [b"<html>", b"[]", b""])
async def test_what_is_no_puntual_is_told_as_that(body: bytes) -> None:
    """A proxy's page becomes one sentence with its status."""

    def page(_request: web.Request) -> web.Response:
        return web.Response(status=502, body=body)

    async with server(page) as (operations, _):
        with pytest.raises(StoreUnavailableError, match="502"):
            await operations.status()


async def test_an_empty_answer_is_none_of_puntuals() -> None:
    """Whatever answers so has done nothing: it must not look like success."""

    def nothing(_request: web.Request) -> web.Response:
        return web.json_response({})

    async with server(nothing) as (operations, _):
        with pytest.raises(StoreUnavailableError, match="not as puntual does"):
            await operations.remove_schedule("x")


@pytest.mark.parametrize(
    ("status", "problem", "kind"),
    [
        (400, {"code": "invalid_rule", "column": 3}, InvalidRuleError),
        (401, {"code": "unauthorized"}, UnauthorizedError),
        (403, {"code": "forbidden"}, ForbiddenError),
        (404, {"code": "not_found"}, NotFoundError),
        (409, {"code": "conflict"}, ConflictError),
        (412, {"code": "changed"}, ConflictError),
        (413, {"code": "too_large"}, InvalidError),
        (503, {"code": "store_unavailable"}, StoreUnavailableError),
        (500, {}, StoreUnavailableError),
        (404, {}, NotFoundError),
    ],
)
def test_a_problem_is_the_error_that_it_tells_of(
    status: int, problem: dict[str, Any], kind: type[PuntualError]
) -> None:
    """By its code where that is known, else by its status."""
    error = error_of(status, {"detail": "It is so.", **problem})
    assert isinstance(error, kind)
    assert (error.message, error.column) == ("It is so.", problem.get("column"))


def test_a_problem_with_several_faults_keeps_them_all() -> None:
    """A manifest that was refused over the wire is told as it would be here."""
    faults = [{"code": "invalid_manifest", "message": "one", "field": "a"}, {"code": "invalid_rule", "message": "two"}]
    error = error_of(400, {"detail": "one", "code": "invalid_manifest", "errors": faults})
    assert isinstance(error, ManifestErrors)
    assert [(type(fault), fault.message) for fault in error.errors][1] == (InvalidRuleError, "two")
