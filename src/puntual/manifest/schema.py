"""The JSON Schema of a manifest, made from the very table that the reader goes by, for editors and other programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from puntual.manifest.calendars import CALENDAR_KEYS
from puntual.manifest.keys import (
    ARGS,
    COMMAND,
    CRON_KEYS,
    HTTP,
    KUBERNETES,
    PAUSED,
    POLICY_KEYS,
    QUEUE_KEYS,
    RETRY,
    RETRY_KEYS,
    RULES,
    SHARED_KEYS,
    SIFT_KEYS,
    TARGETS,
    TASK,
    TIMES,
    ZONE_KEYS,
    Key,
)
from puntual.manifest.kinds import Duration, Flag, JsonSchema, Name, Text
from puntual.timing.parse import MOST_TIMES

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def manifest_schema() -> JsonSchema:
    """The JSON Schema (2020-12) of one document of a manifest."""
    return {
        "$schema": DIALECT,
        "title": "puntual manifest",
        **_object(
            {
                "owner": _described(
                    Name("owner").schema(), "Marks what this manifest wrote, so that --prune removes nothing else."
                ),
                "defaults": _described(_defaults(), "What schedules have where they do not say it themselves."),
                "calendars": _described(_named(_calendar()), "Days by name, for schedules to name."),
                "queues": _described(_named(_object(_properties(QUEUE_KEYS))), "Settings of queues, by name."),
                "schedules": _described(_named({"$ref": "#/$defs/schedule"}), "The schedules, by name."),
            }
        ),
        "$defs": {"schedule": _schedule(), "retry": _object(_properties(RETRY_KEYS))},
    }


def _calendar() -> JsonSchema:
    return {**_object(_properties(CALENDAR_KEYS)), "minProperties": 1}


def _schedule() -> JsonSchema:
    properties = _rules() | _properties(ZONE_KEYS) | _targets() | _retry() | _properties(POLICY_KEYS)
    about = "Whether it is paused; without this key, a pause made by hand stays."
    properties[PAUSED] = _described(Flag().schema(), about)
    for theirs, ours in KUBERNETES.items():
        meant: JsonSchema = {"$ref": f"#/$defs/schedule/properties/{ours}"}
        if theirs == "startingDeadlineSeconds":
            meant = {"type": "integer", "minimum": 0}
        properties[theirs] = {**meant, "deprecated": True, "description": f"Kubernetes' word for {ours}."}
    return {**_object(properties), "allOf": [_exactly_one(RULES), _exactly_one(TARGETS)]}


def _retry() -> dict[str, object]:
    return {RETRY: {"$ref": "#/$defs/retry"}}


def _rules() -> dict[str, object]:
    text: JsonSchema = {"type": "string"}
    kinds: dict[str, JsonSchema] = {
        "when": {"anyOf": [text, {"type": "array", "items": text, "minItems": 1}]},
        "cron": {**_object(_properties(CRON_KEYS)), "required": ["expr"]},
        "every": Duration().schema(),
        "rrule": text,
        "at": {"anyOf": [text, {"type": "array", "items": text, "minItems": 1, "maxItems": MOST_TIMES}]},
    }
    rules: dict[str, object] = {key: _described(kinds[key], about) for key, about in RULES.items()}
    return rules | _properties(SIFT_KEYS) | {key: _described(Text().schema(), about) for key, about in TIMES.items()}


def _targets() -> dict[str, object]:
    argv = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    kinds: dict[str, JsonSchema] = {
        HTTP: {"type": "object"},
        TASK: {"type": "string"},
        COMMAND: {"anyOf": [argv, {"type": "object"}]},
    }
    targets: dict[str, object] = {key: _described(kinds[key], about) for key, about in TARGETS.items()}
    return targets | {ARGS: {"type": "object", "default": {}, "description": "The arguments of `task`, by name."}}


def _defaults() -> JsonSchema:
    return _object(_properties([*SHARED_KEYS.values()]) | _retry())


def _properties(keys: Sequence[Key]) -> dict[str, object]:
    return {key.name: _property(key) for key in keys}


def _property(key: Key) -> JsonSchema:
    differs = " and ".join(f"{value} for {task}" for task, value in key.default_of.items())
    about = f"{key.about} Default: {key.default}, {differs}." if differs else key.about
    schema = _described(key.kind.schema(), about)
    if key.default is not None and not differs:
        schema["default"] = key.default
    return schema


def _described(schema: JsonSchema, about: str) -> JsonSchema:
    return {**schema, "description": about}


def _object(properties: Mapping[str, object]) -> JsonSchema:
    return {"type": "object", "properties": dict(properties), "additionalProperties": False}


def _named(schema: JsonSchema) -> JsonSchema:
    return {"type": "object", "additionalProperties": schema, "propertyNames": Name().schema()}


def _exactly_one(keys: Mapping[str, str]) -> JsonSchema:
    return {"oneOf": [{"required": [key]} for key in keys]}
