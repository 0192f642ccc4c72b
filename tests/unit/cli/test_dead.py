"""Tests of `puntual dead`: which runs are meant, and how they are done chunk by chunk."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest

from puntual.cli.root import run
from puntual.cli.session import Session

COUNT: Final = 1_450


class DeadOnes:
    """Operations that know many dead runs and note what they are asked."""

    def __init__(self) -> None:
        self.filters: list[dict[str, Any]] = []
        self.chunks: list[int] = []
        self.ids = [f"run-{number}" for number in range(COUNT)]

    async def list_dead(self, where: dict[str, Any]) -> dict[str, Any]:
        """A page."""
        self.filters.append(where)
        start = int(where.get("cursor", 0))
        end = start + where["limit"]
        items = [{"id": run_id} for run_id in self.ids[start:end]]
        return {"items": items, "next_cursor": str(end) if end < len(self.ids) else None}

    async def replay_dead(self, where: dict[str, Any]) -> dict[str, Any]:
        """All but one of them."""
        self.chunks.append(len(where["ids"]))
        return {"answers": {run_id: "held_by:x" if run_id == "run-7" else "replayed" for run_id in where["ids"]}}

    async def discard_dead(self, where: dict[str, Any]) -> dict[str, Any]:
        """All of them."""
        self.chunks.append(len(where["ids"]))
        return {"ids": where["ids"]}


@pytest.fixture
def dead(monkeypatch: pytest.MonkeyPatch) -> DeadOnes:
    """In the place of a database."""
    found = DeadOnes()

    @asynccontextmanager
    async def operations(_session: Session, *, tasks: bool = False, creates: bool = False) -> AsyncIterator[DeadOnes]:
        yield found

    monkeypatch.setattr(Session, "operations", operations)
    return found


def test_all_are_found_page_by_page_and_done_in_chunks(dead: DeadOnes, capsys: pytest.CaptureFixture[str]) -> None:
    """However many there are, no request names more than a few hundred."""
    assert run(["dead", "replay", "--all", "--yes", "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    assert len(answers) == COUNT
    assert max(dead.chunks) <= 200
    assert sum(dead.chunks) == COUNT


def test_a_filter_is_handed_on(dead: DeadOnes) -> None:
    """Only what the filter finds is touched."""
    assert run(["dead", "discard", "--queue", "mail", "--task", "a", "--task", "b", "--since", "24h", "--yes"]) == 0
    first = dead.filters[0]
    assert (first["queue"], first["task"], first["since"]) == (["mail"], ["a", "b"], "24h")


def test_what_could_not_be_done_is_told(dead: DeadOnes, capsys: pytest.CaptureFixture[str]) -> None:
    """Those that stayed are named with the reason; for ids that were named it is a failure."""
    assert run(["dead", "replay", "run-6", "run-7"]) == 1
    assert capsys.readouterr().out == "1 run replayed.\nLeft as they are: run-7 (held_by:x).\n"


@pytest.mark.parametrize("words", [[], ["x", "--all"], ["--all", "--queue", "q"], ["x", "--task", "t"]])
def test_exactly_one_way_of_saying_which(dead: DeadOnes, words: list[str]) -> None:
    """Nothing said is not all, and two ways at once are a mistake."""
    assert run(["dead", "discard", *words, "--yes"]) == 2
    assert dead.chunks == []


def test_a_filter_asks_first(dead: DeadOnes, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a terminal to ask on, and without --yes, nothing is done."""
    assert run(["dead", "discard", "--all"]) == 2
    assert "Discard 1,450 dead runs?" in capsys.readouterr().err
    assert dead.chunks == []
