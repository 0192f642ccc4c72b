"""``/calendars``."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from puntual.api.conditions import expected, tag, takes
from puntual.api.describe import about, many
from puntual.api.route import LARGE, Route, allowed, answer, json_of, operations
from puntual.operations.filters import whole
from puntual.operations.shapes import CalendarShape

router = APIRouter(route_class=Route, tags=["calendars"])

_OBJECT: Final = {"type": "object"}
_LAST_YEAR: Final = 9_999


@router.get("/calendars", openapi_extra=about("read", gives=many(CalendarShape)))
async def list_calendars(request: Request) -> Response:
    """Calendars by name."""
    return answer(await operations(request).list_calendars())


@router.get("/calendars/{name}", openapi_extra=about("read", gives=CalendarShape, filters=("year",)))
async def get_calendar(request: Request, name: str) -> Response:
    """One calendar with its days, all of them or those of a year; its ``ETag`` is its version."""
    year = request.query_params.get("year")
    return _calendar(
        await operations(request).get_calendar(name, None if year is None else whole(year, "year", most=_LAST_YEAR))
    )


@router.put("/calendars/{name}", openapi_extra=about("admin", takes=_OBJECT, gives=CalendarShape, filters=("take",)))
async def put_calendar(request: Request, name: str) -> Response:
    """Creates or replaces a calendar, and edits the schedules that name it; with ``If-Match`` only at that version."""
    body = await json_of(request, most=LARGE if allowed(request, "admin") else 0)
    version, take = await _version(request, name), takes(request)
    return _calendar(await operations(request).put_calendar(name, body, version=version, take=take))


@router.delete("/calendars/{name}", openapi_extra=about("admin", gives=_OBJECT))
async def remove_calendar(request: Request, name: str) -> Response:
    """Removes a calendar that no schedule names; with ``If-Match`` only at that version."""
    return answer(await operations(request).remove_calendar(name, version=await _version(request, name)))


def _calendar(calendar: dict[str, Any]) -> Response:
    return answer(calendar, headers=tag(calendar["version"]))


async def _version(request: Request, name: str) -> int | None:
    return await expected(request, lambda: operations(request).get_calendar(name), "version")
