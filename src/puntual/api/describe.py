"""What a route says of itself in ``/openapi.json``: its scope, what it takes and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from fastapi import FastAPI

from puntual.api.route import SCOPE_KEY
from puntual.operations import bodies, shapes

_REF: Final = "#/components/schemas/{name}"
_TYPES: Final[Sequence[Any]] = (
    shapes.RunShape,
    shapes.TickShape,
    shapes.ScheduleShape,
    shapes.CalendarShape,
    shapes.QueueShape,
    shapes.WorkerShape,
    shapes.TokenShape,
    shapes.ForecastShape,
    bodies.EnqueueBody,
    bodies.EditBody,
    bodies.TriggerBody,
    bodies.BackfillBody,
    bodies.ReplayBody,
    bodies.QueueBody,
    bodies.TokenBody,
    bodies.SelectBody,
)
_PROBLEM: Final = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string"},
        "hint": {"type": "string"},
        "field": {"type": "string"},
        "column": {"type": "integer"},
        "errors": {"type": "array", "items": {"type": "object"}},
    },
}
_LISTS: Final = frozenset({"state", "queue", "schedule", "task", "tag", "origin", "fate", "ids"})


def about(scope: str, *, takes: Any = None, gives: Any = None, filters: Sequence[str] = ()) -> dict[str, Any]:  # noqa: ANN401 - a type, or a JSON Schema
    """The description of a route, for ``openapi_extra``.

    Args:
        scope: read, operate or admin.
        takes: the type of its body, or its JSON Schema.
        gives: the type of its reply, or its JSON Schema.
        filters: the keys of its query string.
    """
    found: dict[str, Any] = {SCOPE_KEY: scope, "responses": {"default": _problem_reply()}}
    if takes is not None:
        found["requestBody"] = {"content": {"application/json": {"schema": _schema(takes)}}}
    if gives is not None:
        found["responses"]["2XX"] = {
            "description": "Done.",
            "content": {"application/json": {"schema": _schema(gives)}},
        }
    if filters:
        found["parameters"] = [_parameter(key) for key in filters]
    return found


def many(kind: Any, key: str = "items") -> dict[str, Any]:  # noqa: ANN401 - a type
    """The JSON Schema of a list in its envelope."""
    properties = {key: {"type": "array", "items": _schema(kind)}, "next_cursor": {"type": ["string", "null"]}}
    return {"type": "object", "required": [key], "properties": properties}


def openapi(api: FastAPI) -> dict[str, Any]:
    """The whole description, with the schemas of our own types and the token that is needed."""
    found = FastAPI.openapi(api)
    _, schemas = msgspec.json.schema_components(_TYPES, schema_hook=_any_value, ref_template=_REF)
    components = found.setdefault("components", {})
    components["schemas"] = {**components.get("schemas", {}), **schemas, "Problem": _PROBLEM}
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    found["security"] = [{"token": []}]
    for routes in found["paths"].values():
        for route in routes.values():
            # FastAPI promises a reply of its own making where it knows of no model.
            route["responses"].pop("200", None)
            route["responses"].pop("422", None)
    return found


def _schema(kind: Any) -> dict[str, Any]:  # noqa: ANN401 - a type, or a JSON Schema
    return kind if isinstance(kind, dict) else {"$ref": _REF.format(name=kind.__name__)}


def _any_value(kind: type) -> dict[str, Any]:
    """``object`` is any JSON value."""
    if kind is object:
        return {"description": "Any JSON value."}
    raise NotImplementedError


def _parameter(key: str) -> dict[str, Any]:
    text: dict[str, Any] = {"type": "string"}
    schema = {"type": "array", "items": text} if key in _LISTS else text
    return {"name": key, "in": "query", "required": False, "schema": schema}


def _problem_reply() -> dict[str, Any]:
    schema = {"$ref": _REF.format(name="Problem")}
    return {"description": "A problem (RFC 9457).", "content": {"application/problem+json": {"schema": schema}}}
