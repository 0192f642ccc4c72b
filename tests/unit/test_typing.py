from __future__ import annotations

import re
from pathlib import Path

import pytest
from mypy import api

CODE = Path(__file__).parents[1] / "cases" / "user_code.py.txt"
EXPECTED = re.compile(r"# error: ([a-z-]+)$")
FOUND = re.compile(r"^[^:]+:(\d+): error: .*\[([a-z-]+)\]$", re.MULTILINE)


@pytest.mark.timeout(300)
def test_a_strict_type_checker_sees_what_users_do_wrong_and_nothing_else(tmp_path: Path) -> None:
    """Tasks keep their own arguments and results through every way of calling them."""
    text = CODE.read_text(encoding="utf-8")
    program = tmp_path / "user_code.py"
    program.write_text(text, encoding="utf-8")
    expected = {
        (number, found[1])
        for number, line in enumerate(text.splitlines(), start=1)
        if (found := EXPECTED.search(line)) is not None
    }
    said, problems, _ = api.run(["--strict", "--cache-dir", str(tmp_path / "cache"), "--config-file=", str(program)])
    assert problems == ""
    assert {(int(number), code) for number, code in FOUND.findall(said)} == expected, said
    assert len(expected) > 5
