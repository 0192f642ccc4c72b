"""The API of an app as one ASGI application: routes inside, the gate around them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import msgspec
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from puntual.api import calendars, fleet, metrics, runs, schedules
from puntual.api.auth import TokenBook
from puntual.api.describe import openapi
from puntual.api.gate import METRICS, Gate
from puntual.api.problems import problem
from puntual.api.route import FAULT, Exact, answer
from puntual.app import VERSION, App
from puntual.operations.contract import Operations
from puntual.operations.local.health import ready

PREFIX = "/api/v1"
_ROUTERS = (runs.router, schedules.router, calendars.router, fleet.router)
_CODES = {404: "not_found", 405: "method"}


class Api(FastAPI):
    """FastAPI with our own description of types."""

    def openapi(self) -> dict[str, Any]:
        """The description, made once."""
        if self.openapi_schema is None:
            self.openapi_schema = openapi(self)
        return self.openapi_schema


def make_api(app: App, operations: Operations) -> FastAPI:
    """The API on an app that is open while it is served.

    There is no ``/docs``: a page of FastAPI's own would load its scripts from elsewhere.

    Args:
        app: whose settings, tokens and loops these are.
        operations: what the routes do.
    """
    book = TokenBook(app)
    api = Api(
        title="puntual",
        version=VERSION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        middleware=[
            Middleware(Gate, settings=app.settings, book=book),
            Middleware(Exact, prefix=PREFIX, routers=_ROUTERS),
        ],
        exception_handlers={HTTPException: _not_routed, Exception: _failed},
    )
    api.state.puntual = app
    api.state.operations = operations
    api.state.book = book
    for router in _ROUTERS:
        api.include_router(router, prefix=PREFIX)
    api.add_route("/healthz", _healthz, include_in_schema=False)
    api.add_route("/readyz", _readyz, include_in_schema=False)
    api.add_route(METRICS, metrics.scrape, include_in_schema=False)
    return api


async def _healthz(_request: Request) -> Response:
    """The process is alive and turns its loop."""
    return answer({"ok": True})


async def _readyz(request: Request) -> Response:
    """The database answers and the loops of this process work; 503 with what does not."""
    checks = await ready(request.app.state.puntual)
    good = all(check.ok for check in checks)
    status = HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE
    return answer({"ok": good, "checks": msgspec.to_builtins(checks)}, status)


async def _failed(_request: Request, _error: Exception) -> Response:
    """What went wrong outside a route; the server logs it."""
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, FAULT, code="error")


async def _not_routed(request: Request, error: Exception) -> Response:
    """What the table of routes refuses by itself: no such path, no such method."""
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    detail = f"There is no {request.method} {request.url.path[:200]} here."
    headers, parts = dict(error.headers or {}), {"hint": "GET /openapi.json lists every route."}
    if status is HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(_methods(request))
        parts = {"hint": f"This path takes {headers['Allow']}."}
    return problem(status, detail, headers, code=_CODES.get(status.value, "error"), **parts)


def _methods(request: Request) -> list[str]:
    """Every method that some route of the path has; HEAD goes with GET."""
    path = request.url.path
    ours = [route for router in _ROUTERS for route in router.routes] if path.startswith(PREFIX) else request.app.routes
    found: set[str] = set()
    for route in ours:
        if isinstance(route, Route) and route.path_regex.match(path.removeprefix(PREFIX)):
            found |= route.methods or set()
    return sorted(found | ({"HEAD"} if "GET" in found else set()))
