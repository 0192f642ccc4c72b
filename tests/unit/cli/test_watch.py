"""Tests of `puntual run watch`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from puntual.cli import watch
from puntual.cli.root import run
from puntual.cli.session import Session

FAILED = {
    "number": 1,
    "outcome": "failed",
    "started_at": "2026-03-01T00:00:00Z",
    "finished_at": "2026-03-01T00:00:02Z",
    "error": {"type": "ValueError", "message": "no\x1b[0m", "trace": None},
}
WELL = {**FAILED, "number": 2, "outcome": "succeeded", "error": None}


def state(name: str, *attempts: dict[str, Any]) -> dict[str, Any]:
    """A run as it stands at one look."""
    due = "2026-03-01T00:00:00Z"
    return {
        "id": "r",
        "state": name,
        "attempt": len(attempts),
        "worker": "w",
        "due_at": due,
        "attempts": list(attempts),
    }


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What each look at the run will find."""
    found: list[dict[str, Any]] = []

    class Looking:
        async def get_run(self, run_id: str) -> dict[str, Any]:
            assert run_id == "r"
            return found.pop(0)

    @asynccontextmanager
    async def operations(_session: Session, *, tasks: bool = False, creates: bool = False) -> AsyncIterator[Looking]:
        yield Looking()

    monkeypatch.setattr(Session, "operations", operations)
    monkeypatch.setattr(watch, "_FIRST_LOOK", 0.0)
    return found


def test_each_attempt_is_told_as_it_ends(looks: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
    """Progress goes to standard error, the end to standard output, and an error is shown harmlessly."""
    looks += [state("pending"), state("pending"), state("pending", FAILED), state("running", FAILED)]
    looks.append(state("succeeded", FAILED, WELL))
    assert run(["run", "watch", "r"]) == 0
    said = capsys.readouterr()
    told = [line.split(",")[0] for line in said.err.splitlines()]
    assert told == [
        "pending",
        "attempt 1: failed after 2 s: ValueError: no\\x1b[0m",
        "pending",
        "attempt 1 is running on w",
        "attempt 2: succeeded after 2 s",
    ]
    assert said.out == "succeeded\n"


@pytest.mark.parametrize("end", ["dead", "cancelled"])
def test_a_run_that_did_not_succeed_is_a_failure(looks: list[dict[str, Any]], end: str) -> None:
    """Scripts see it by the exit code."""
    looks.append(state(end, FAILED))
    assert run(["run", "watch", "r"]) == 1


def test_with_json_only_the_end_is_told(looks: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
    """One document: the run as it ended."""
    looks += [state("running"), state("succeeded", WELL)]
    assert run(["run", "watch", "r", "--json"]) == 0
    said = capsys.readouterr()
    assert (json.loads(said.out)["state"], said.err) == ("succeeded", "")
