"""Tests of `puntual.cli.rows`: a run in detail."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from puntual.cli.rows import show_run
from puntual.cli.session import Session


def failed(number: int, message: str, trace: str | None) -> dict[str, Any]:
    """An attempt that failed."""
    return {
        "number": number,
        "outcome": "failed",
        "started_at": "2026-03-01T00:00:00Z",
        "finished_at": "2026-03-01T00:00:02Z",
        "worker": "w",
        "error": {"type": "ValueError", "message": message, "trace": trace},
    }


def shown(capsys: pytest.CaptureFixture[str], *attempts: dict[str, Any], width: int = 80) -> str:
    """What is printed of a run with these attempts."""
    run = {
        "id": "r",
        "task": "t",
        "state": "dead",
        "queue": "default",
        "attempt": len(attempts),
        "max_attempts": 5,
        "attempts": list(attempts),
    }
    file = io.StringIO()
    show_run(Session(), Console(file=file, width=width), run)
    return file.getvalue() + capsys.readouterr().out


def test_the_trace_of_the_last_failure_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Harmless, line for line, and only the newest."""
    text = shown(capsys, failed(1, "a", "old"), failed(2, "b", 'File "x.py"\n  \x1b[0mboom'))
    assert 'Traceback of attempt 2:\n  File "x.py"\n    \\x1b[0mboom\n' in text
    assert "old" not in text


def test_a_long_trace_is_capped_at_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    """The last forty lines, which are the nearest to the fault, and where the others are."""
    text = shown(capsys, failed(1, "a", "\n".join(f"line {number}" for number in range(50))))
    lines = text.split("Traceback of attempt 1:\n")[1].splitlines()
    assert lines[0] == "  ... 10 lines before these: puntual run show r --json has all"
    assert [line.strip() for line in lines[1:]] == [f"line {number}" for number in range(10, 50)]


def test_an_error_is_wrapped_and_never_cut(capsys: pytest.CaptureFixture[str]) -> None:
    """However long it is."""
    message = " ".join(f"word{number}" for number in range(300))
    text = shown(capsys, failed(1, message, None))
    assert message in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80
