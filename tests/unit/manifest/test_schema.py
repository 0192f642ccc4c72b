from __future__ import annotations

import json
from typing import Any

import pytest

from puntual.manifest import manifest_schema
from puntual.manifest.calendars import CALENDAR_KEYS
from puntual.manifest.keys import (
    CRON_KEYS,
    KUBERNETES,
    LATER_SCHEDULE,
    POLICY_KEYS,
    QUEUE_KEYS,
    RETRY_KEYS,
    RULES,
    SHARED_KEYS,
    TARGETS,
    Key,
)
from puntual.manifest.schedules import SCHEDULE_KEYS

SCHEMA: Any = manifest_schema()
SCHEDULE = SCHEMA["$defs"]["schedule"]
TYPES = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}


def fits(value: object, schema: dict[str, Any]) -> bool:
    """Whether a value has the form that a schema asks for, as far as kinds of values use it."""
    if "anyOf" in schema:
        return any(fits(value, part) for part in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    if "const" in schema:
        return bool(value == schema["const"])
    return isinstance(value, TYPES[schema["type"]])


def test_the_schema_is_json_and_names_its_dialect() -> None:
    """An editor knows how to read it."""
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_a_schedule_has_exactly_the_keys_that_are_read() -> None:
    """An editor offers what the reader takes, and marks what it does not."""
    assert set(SCHEDULE["properties"]) == {*SCHEDULE_KEYS, *KUBERNETES}
    assert SCHEDULE["additionalProperties"] is False
    assert not LATER_SCHEDULE & set(SCHEDULE["properties"])


def test_the_other_sections_have_exactly_the_keys_that_are_read() -> None:
    """As a schedule has."""
    assert set(SCHEMA["properties"]) == {"owner", "defaults", "calendars", "queues", "schedules"}
    assert set(SCHEMA["properties"]["defaults"]["properties"]) == {*SHARED_KEYS, "retry"}
    assert set(SCHEMA["$defs"]["retry"]["properties"]) == {key.name for key in RETRY_KEYS}
    assert set(SCHEMA["properties"]["queues"]["additionalProperties"]["properties"]) == {key.name for key in QUEUE_KEYS}
    calendar = SCHEMA["properties"]["calendars"]["additionalProperties"]
    assert set(calendar["properties"]) == {key.name for key in CALENDAR_KEYS}
    assert set(SCHEDULE["properties"]["cron"]["properties"]) == {key.name for key in CRON_KEYS}


def test_a_schedule_has_one_rule_and_one_target() -> None:
    """An editor marks two of a kind as the reader does."""
    assert [[part["required"] for part in one["oneOf"]] for one in SCHEDULE["allOf"]] == [
        [[key] for key in RULES],
        [[key] for key in TARGETS],
    ]


def test_everything_is_described() -> None:
    """An editor shows what a key is for."""
    described = [*SCHEDULE["properties"].items(), *SCHEMA["$defs"]["retry"]["properties"].items()]
    assert [name for name, schema in described if "description" not in schema and "$ref" not in schema] == []


@pytest.mark.parametrize(
    "key", [*POLICY_KEYS, *RETRY_KEYS, *QUEUE_KEYS, *CRON_KEYS, *CALENDAR_KEYS], ids=lambda key: key.name
)
def test_a_default_fits_its_own_schema(key: Key) -> None:
    """Defaults are written as a user would write them."""
    if key.default is not None:
        assert fits(key.default, key.kind.schema())


def test_what_differs_for_a_kind_of_target_is_said_in_words() -> None:
    """One default would be wrong for the others."""
    timeout = SCHEDULE["properties"]["timeout"]
    assert "default" not in timeout
    assert "Default: 1h, 30s for http." in timeout["description"]
    assert SCHEDULE["properties"]["overlap"]["default"] == "skip"


def test_references_lead_somewhere() -> None:
    """A broken one would make an editor ignore the whole."""

    def references(node: object) -> list[str]:
        if isinstance(node, dict):
            own = [node["$ref"]] if "$ref" in node else []
            return own + [found for part in node.values() for found in references(part)]
        return [found for part in node for found in references(part)] if isinstance(node, list) else []

    for reference in references(SCHEMA):
        node = SCHEMA
        for step in reference.removeprefix("#/").split("/"):
            node = node[step]
        assert node
