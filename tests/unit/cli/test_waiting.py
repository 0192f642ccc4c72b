"""Tests of `puntual.cli.waiting`: why a run has not started."""

from __future__ import annotations

from typing import Any, cast

import pytest

from puntual.cli.waiting import everything_paused, why_not_started
from puntual.model.instant import parse_instant
from puntual.operations.contract import Operations

NOW = "2026-03-01T00:00:05Z"
RUN = {"queue": "mail", "due_at": "2026-03-01T00:00:00Z"}
PAUSED = {"paused": True, "since": "2026-03-01T00:00:00Z", "until": "2026-03-01T01:00:05Z", "reason": "moving"}
WORKER = {"roles": ["worker"], "queues": [], "draining": False}
LANE = {"name": "mail", "paused": False, "concurrency": None, "running": 0}


class Standing:
    """Operations that find this."""

    def __init__(self, workers: list[dict[str, Any]], **standing: object) -> None:
        self._workers = workers
        self._standing = standing

    async def status(self) -> dict[str, Any]:
        """How things stand."""
        return {"now": NOW, **self._standing}

    async def list_workers(self) -> dict[str, Any]:
        """Who lives."""
        return {"items": self._workers}


@pytest.mark.parametrize(
    ("run", "standing", "reason"),
    [
        ({**RUN, "next_try_at": "2026-03-01T00:01:05Z"}, Standing([]), "it is due in 1 minute"),
        (RUN, Standing([], paused=PAUSED), "everything is paused since 2026-03-01T00:00:00Z"),
        (RUN, Standing([WORKER], queues=[{**LANE, "paused": True}]), "its queue mail is paused"),
        (RUN, Standing([WORKER], queues=[{**LANE, "concurrency": 2, "running": 2}]), "at most 2 at once"),
        (RUN, Standing([]), "no worker is alive"),
        (RUN, Standing([{**WORKER, "draining": True}]), "no worker is alive"),
        (RUN, Standing([{**WORKER, "roles": ["scheduler"]}]), "no worker is alive"),
        (RUN, Standing([{**WORKER, "queues": ["other"]}]), "no worker that is alive takes its queue mail"),
        (RUN, Standing([WORKER], queues=[LANE]), "the workers have not come to it yet"),
    ],
)
async def test_the_first_reason_that_holds_is_told(run: dict[str, Any], standing: Standing, reason: str) -> None:
    """With the way out of it, where there is one."""
    assert reason in await why_not_started(cast("Operations", standing), run)


def test_the_pause_of_everything_says_since_when_until_when_why_and_how_it_ends() -> None:
    """All that somebody needs who finds it."""
    assert everything_paused(PAUSED, parse_instant(NOW)) == (
        "Everything is paused since 2026-03-01T00:00:00Z (5 seconds ago), until 2026-03-01T01:00:05Z (in 1 hour), "
        "because: moving (puntual schedule resume --all ends it)."
    )
    assert everything_paused({"paused": False}, parse_instant(NOW)) == ""
