from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tools import check_sizes


def function(text: str) -> check_sizes.Function:
    """The first function in a piece of source."""
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return node


def write(root: Path, name: str, text: str) -> None:
    """A file of a made-up project."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(("name", "cap"), [("src/a.py", 400), ("tests/a.py", 500), ("src/claim_runs.sql", 80)])
def test_a_file_at_its_cap_passes_and_one_line_more_fails(tmp_path: Path, name: str, cap: int) -> None:
    """Each kind of file has its own cap, and the sentence carries the number."""
    write(tmp_path, name, "\n" * cap)
    assert list(check_sizes.offenders(tmp_path)) == []
    write(tmp_path, name, "\n" * (cap + 1))
    assert list(check_sizes.offenders(tmp_path)) == [f"{name}: {cap + 1} lines, {cap} allowed"]


def test_migrations_may_be_long(tmp_path: Path) -> None:
    """A migration is written once and never edited, so its length is no burden."""
    write(tmp_path, "src/store/migrations/0001.sql", "\n" * 200)
    assert list(check_sizes.offenders(tmp_path)) == []


def test_a_long_function_is_named_with_its_line(tmp_path: Path) -> None:
    """The sentence names the file, the line, the function and how long it is."""
    write(tmp_path, "src/a.py", "\ndef long():\n" + "    x = 1\n" * 40)
    assert list(check_sizes.offenders(tmp_path)) == ["src/a.py:2: long: 41 lines, 40 allowed"]


def test_a_docstring_does_not_count_as_lines() -> None:
    """A longer promise never makes a function too long."""
    node = function('def f():\n    """Promise.\n\n    More of it.\n    """\n    return 1\n')
    assert check_sizes.function_lines(node) == 2


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("def f(): ...", 0),
        ("def f(self, a, /, b, *, c): ...", 3),
        ("def f(cls, *args, **kwargs): ...", 2),
        ("async def f(a, b, c, d, e, *, g): ...", 6),
    ],
)
def test_parameters_count_without_self(text: str, count: int) -> None:
    """Every kind of parameter counts, keyword-only ones too; self and cls do not."""
    assert check_sizes.parameter_count(function(text)) == count


def test_the_exit_status_says_whether_there_was_an_offender(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing over its cap exits 0; one offender is printed and exits 1."""
    assert check_sizes.main(tmp_path) == 0
    write(tmp_path, "src/a.py", "def f(a, b, c, d, e, g): ...\n")
    assert check_sizes.main(tmp_path) == 1
    assert capsys.readouterr().out == "src/a.py:1: f: 6 parameters, 5 allowed\n"
