from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from puntual.model import payload
from puntual.model.errors import InvalidPayloadError
from puntual.model.profile import MAX_DEPTH

# Everything that the profile has, and everything near it that it has not.
_TEXT = st.text(st.characters(exclude_categories=()), max_size=6) | st.sampled_from(["\0", "\ud800", "\\u0000", "null"])
_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=-(2**200), max_value=2**200)
    | st.floats()
    | _TEXT
    | st.tuples(st.integers())
)
_KEYS: st.SearchStrategy[Any] = _TEXT | st.integers() | st.none() | st.booleans()
_VALUES: st.SearchStrategy[Any] = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(_TEXT, inner, max_size=4)
        | st.dictionaries(_KEYS, inner, max_size=2)
    ),
    max_leaves=12,
)


def allowed(value: object, depth: int = 0) -> bool:
    """The profile, written slowly and without a thought for anything but the rules."""
    if isinstance(value, dict | list | tuple) and depth == MAX_DEPTH:
        return False
    if isinstance(value, dict):
        return all(isinstance(key, str) and allowed(key) and allowed(part, depth + 1) for key, part in value.items())
    if isinstance(value, list | tuple):
        return all(allowed(part, depth + 1) for part in value)
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, str):
        return "\0" not in value and not any(0xD800 <= ord(character) <= 0xDFFF for character in value)
    return value is None or isinstance(value, int)


def as_json(value: object) -> object:
    """The value with its tuples as lists."""
    if isinstance(value, dict):
        return {key: as_json(part) for key, part in value.items()}
    return [as_json(part) for part in value] if isinstance(value, list | tuple) else value


@settings(max_examples=500)
@given(_VALUES)
def test_encode_accepts_exactly_the_profile_and_loses_nothing(value: object) -> None:
    """The fast path and the strict walk together agree with the slow rules; what is accepted comes back the same."""
    if not allowed(value):
        with pytest.raises(InvalidPayloadError):
            payload.encode(value, field="args")
        return
    text = payload.encode(value, field="args")
    assert repr(json.loads(text)) == repr(as_json(value))
    assert repr(payload.decode(text)) == repr(as_json(value))


@given(_VALUES)
def test_a_plain_value_is_written_without_the_walk(value: object) -> None:
    """Whatever the fast path lets through, the strict walk would have let through as well."""
    raw = payload.write_plain(value)
    if raw is not None:
        assert raw == payload.write_rich(value, field="args")


@given(st.integers(min_value=1, max_value=2 * MAX_DEPTH), st.booleans())
def test_depth_is_the_same_for_arrays_and_objects(depth: int, objects: bool) -> None:  # noqa: FBT001 - hypothesis passes it
    """The cap counts both kinds, however deep they are."""
    value: object = 1
    for _ in range(depth):
        value = {"a": value} if objects else [value]
    assert (payload.write_plain(value) is not None) == (depth <= MAX_DEPTH)


@given(_VALUES)
def test_a_result_is_always_json_in_the_profile(value: object) -> None:
    """Whatever a handler returns, what is stored can be read."""
    payload.decode(payload.encode_result(value, max_bytes=200_000))


@given(st.text(max_size=40) | st.text('{}[]":,\\u0123456789abcdefnultrs.-+eE ', max_size=40))
def test_check_text_agrees_with_a_strict_reader(text: str) -> None:
    """Any text is either refused, or is JSON of the profile and is kept as what it says."""

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError
        return dict(pairs)

    try:
        value = json.loads(text, object_pairs_hook=once)
        fits = allowed(value)
    except (ValueError, RecursionError):
        value, fits = None, False
    if fits:
        assert json.loads(payload.check_text(text, field="args")) == value
    else:
        with pytest.raises(InvalidPayloadError):
            payload.check_text(text, field="args")
