"""Errors carry their data, and each class has a code of its own."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import pytest

from puntual.model import errors
from puntual.model.errors import InvalidRuleError, PuntualError


def _classes(base: type[PuntualError] = PuntualError) -> Iterator[type[PuntualError]]:
    for found in base.__subclasses__():
        if found.__module__ == errors.__name__:
            yield found
            yield from _classes(found)


def test_every_class_has_its_own_code() -> None:
    """What the CLI and the API print tells causes apart."""
    codes = [found.code for found in _classes()]
    assert len(codes) == len(set(codes)) > 20
    assert all(code == code.lower() and " " not in code for code in codes)


def test_what_is_not_set_is_left_out() -> None:
    """Replies hold no nulls."""
    assert PuntualError("a").as_dict() == {"code": "error", "message": "a"}


def test_everything_that_is_set_is_printed() -> None:
    """Hint, field and column go along."""
    error = InvalidRuleError("a", hint="b", field="c", column=4)
    assert error.as_dict() == {"code": "invalid_rule", "message": "a", "hint": "b", "field": "c", "column": 4}


def test_the_text_is_the_message() -> None:
    """A log line needs no more."""
    assert str(PuntualError("what was wrong", hint="h")) == "what was wrong"


@pytest.mark.parametrize("kind", list(_classes()))
def test_an_error_crosses_processes(kind: type[PuntualError]) -> None:
    """Pickled and back, it is the same error with the same data."""
    written = pickle.dumps(kind("a", hint="b", field="c", column=4))
    error = pickle.loads(written)  # noqa: S301 - the bytes are the test's own
    assert (type(error), error.as_dict()) == (kind, kind("a", hint="b", field="c", column=4).as_dict())
