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
        "queue": "default",
        "attempts": list(attempts),
    }


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What each look at the run will find."""
    found: list[dict[str, Any]] = []

    class Looking:
        async def get_run(self, run_id: str) -> dict[str, Any]:
            assert run_id == "r"
            return found.pop(0) if len(found) > 1 else found[0]

        async def status(self) -> dict[str, Any]:
            return {"now": "2026-03-01T00:00:05Z"}

        async def list_workers(self) -> dict[str, Any]:
            return {"items": []}

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


def test_a_run_that_nobody_starts_is_no_silence(
    looks: list[dict[str, Any]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once nothing happens for a while it is said why, once for each reason; with a limit it ends with exit 1."""
    monkeypatch.setattr(watch, "_SILENCE", 0.0)
    monkeypatch.setattr(watch, "_ASK_AGAIN", 0.0)
    looks.append(state("pending"))
    assert run(["run", "watch", "r", "--timeout", "50ms"]) == 1
    told = capsys.readouterr().err.splitlines()
    assert told[1] == "waiting: no worker is alive (puntual serve or puntual worker starts one)"
    assert told[2].startswith("Error: Run r had not ended after 50 ms, it is pending: no worker is alive")
    assert told[3:] == ["Hint: It goes on: puntual run watch r."]


def test_a_limit_with_json_is_one_document(looks: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> None:
    """The error."""
    looks.append(state("running"))
    assert run(["run", "watch", "r", "--timeout", "20ms", "--json"]) == 1
    assert "it is running" in json.loads(capsys.readouterr().out)["error"]["message"]


@pytest.mark.parametrize(
    "words", [["run", "watch", "r", "--timeout", "soon"], ["schedule", "trigger", "x", "--timeout", "1s"]]
)
def test_a_limit_that_is_none_is_a_wrong_request(words: list[str]) -> None:
    """It has to be a duration, and there has to be something to wait for."""
    assert run(words) == 2
