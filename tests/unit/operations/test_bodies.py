"""What callers send is read strictly."""

from __future__ import annotations

import pytest

from puntual.model.errors import InvalidError
from puntual.operations.bodies import EnqueueBody, QueueBody, SelectBody, read_body
from puntual.timing.preview import PreviewRequest


@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        ([], None, "must be a JSON object"),
        ({}, "task", "task is missing"),
        ({"task": "x", "quue": "y"}, "quue", "did you mean queue"),
        ({"task": "x", "zzzzz": "y"}, "zzzzz", "the keys are task"),
        ({"task": "x", "tags": "y"}, "tags", "tags does not fit"),
        ({"task": "x", "tags": [1]}, "tags[0]", "tags"),
        ({"task": "x", "args": None}, "args", "args does not fit"),
        ({"task": None}, "task", "task does not fit"),
    ],
)
def test_a_wrong_body_names_its_key(body: object, field: str | None, words: str) -> None:
    """Unknown, missing or of another type."""
    with pytest.raises(InvalidError, match=words) as caught:
        read_body(body, EnqueueBody)
    assert caught.value.field == field


def test_the_field_stands_behind_its_place() -> None:
    """A body inside another one is named with its path."""
    with pytest.raises(InvalidError) as caught:
        read_body({"nmes": []}, SelectBody, field="select")
    assert caught.value.field == "select.nmes"


def test_null_and_absent_differ_where_it_matters() -> None:
    """A limit that is null is taken away; one that is absent stays."""
    assert read_body({}, QueueBody) != read_body({"concurrency": None}, QueueBody)


def test_a_type_that_forgives_unknown_keys_does_not_here() -> None:
    """Whatever the type says of unknown keys, a misspelt one is told."""
    with pytest.raises(InvalidError, match="did you mean timezone"):
        read_body({"expr": "@daily", "timezon": "UTC"}, PreviewRequest)
