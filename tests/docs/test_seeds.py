"""Each idea of the seeds names a file and a test that are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.support.docs import ROOT

_TESTS = re.compile(r"`((?:tests|src)/[\w/]+\.py)((?:::\w+)*)`")
_NAMED = sorted(set(_TESTS.findall((ROOT / "docs" / "from-the-seeds.md").read_text(encoding="utf-8"))))


@pytest.mark.parametrize(("path", "names"), _NAMED, ids=["".join(one) for one in _NAMED])
def test_the_test_that_holds_an_idea_is_there(path: str, names: str) -> None:
    """A test that was renamed takes its line with it."""
    scope: list[ast.stmt] = ast.parse(Path(ROOT / path).read_text(encoding="utf-8")).body
    for name in filter(None, names.split("::")):
        kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        found = [node for node in scope if isinstance(node, kinds) and node.name == name]
        assert found, f"{path} has no {name}"
        scope = found[0].body


def test_there_are_ideas_to_hold() -> None:
    """The pattern above still finds what the page names."""
    assert len(_NAMED) > 25
