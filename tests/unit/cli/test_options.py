"""Tests of `puntual.cli.options`."""

from __future__ import annotations

import pytest

from puntual.cli.options import json_value, where
from puntual.model.errors import InvalidPayloadError


def test_a_filter_holds_only_what_was_said() -> None:
    """Options that nobody gave are left out, repeated ones are lists, and an empty value is a value."""
    given: dict[str, object] = {"state": ("dead",), "queue": (), "since": None, "limit": 5, "args": []}
    assert where(given) == {"state": ["dead"], "limit": 5, "args": []}


def test_a_json_argument_is_decoded() -> None:
    """What was not given stays nothing."""
    assert json_value('{"a": [1, null]}', "--args") == {"a": [1, None]}
    assert json_value(None, "--args") is None


@pytest.mark.parametrize("text", ["{", "nope", '{"a": NaN}', '{"a": 1, "a": 2}'])
def test_a_json_argument_that_is_none_names_its_option(text: str) -> None:
    """The error says which argument it is about."""
    with pytest.raises(InvalidPayloadError) as caught:
        json_value(text, "--args")
    assert (caught.value.field or "").startswith("--args")
