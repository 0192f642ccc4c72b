"""Queues, workers, tasks, tokens, status and health over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.api import DAILY, Served, dead_run, serving


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Served]:
    """A served API with default settings."""
    async with serving(tmp_path) as served:
        yield served


async def test_a_queue_is_limited_paused_and_resumed(api: Served) -> None:
    """Each key changes alone; null takes the limit away. A name may hold whatever a queue's may."""
    path = "/queues/mail%3Abulk"
    limited = await api.ask("PUT", path, {"concurrency": 5})
    assert (limited.body["name"], limited.body["concurrency"], limited.body["paused"]) == ("mail:bulk", 5, False)
    paused = await api.ask("PUT", path, {"paused": True, "pause_reason": "spam"})
    assert (paused.body["concurrency"], paused.body["paused"], paused.body["pause_reason"]) == (5, True, "spam")
    resumed = await api.ask("PUT", path, {"paused": False, "concurrency": None})
    assert (resumed.body["concurrency"], resumed.body["paused"], resumed.body["pause_reason"]) == (None, False, None)


@pytest.mark.parametrize(
    ("body", "field"),
    [({"concurrency": 0}, "concurrency"), ({"concurency": 1}, "concurency"), ({"pause_reason": "x"}, "pause_reason")],
)
async def test_a_wrong_limit_names_its_key(api: Served, body: dict[str, object], field: str) -> None:
    """Nothing is guessed."""
    answer = await api.ask("PUT", "/queues/mail", body)
    assert (answer.status, answer.body["field"]) == (400, field)


async def test_counts_of_a_queue_are_those_of_its_runs(api: Served) -> None:
    """Pending, due and the oldest due time."""
    await api.ask("POST", "/runs", {"task": "x", "queue": "q"})
    await api.ask("POST", "/runs", {"task": "x", "queue": "q", "delay": "1h"})
    (queue,) = [item for item in (await api.ask("GET", "/queues")).body["items"] if item["name"] == "q"]
    assert (queue["pending"], queue["due"], queue["running"], queue["dead"]) == (2, 1, 0, 0)
    assert queue["oldest_due_at"].endswith("Z")


async def test_a_worker_is_listed_drained_and_healthy(api: Served) -> None:
    """While the product runs here its worker, its tasks and its loops are told; a drained one takes nothing more."""

    @api.app.task(name="known.here")
    def known() -> None:
        """Never runs."""

    async with api.app.running():
        (worker,) = (await api.ask("GET", "/workers")).body["items"]
        assert worker["tasks"] == ["known.here", "http", "command"]
        tasks = {task["name"]: task for task in (await api.ask("GET", "/tasks")).body["items"]}
        assert tasks["known.here"] == {"name": "known.here", "here": True, "workers": 1}
        ready = await api.ask("GET", "//readyz", scope="none")
        assert {check["name"] for check in ready.body["checks"]} >= {"store", "loop claim", "loop plan"}
        drained = await api.ask("POST", f"/workers/{worker['id']}/drain")
        assert drained.body == {"id": worker["id"], "draining": True}
        (worker,) = (await api.ask("GET", "/workers")).body["items"]
        assert worker["draining"] is True
    assert (await api.ask("POST", f"/workers/{worker['id']}/drain")).status == 404


async def test_health_names_what_is_wrong(api: Served) -> None:
    """With nothing running there is no worker and no scheduler, and each check says its own sentence."""
    health = (await api.ask("GET", "/health")).body
    checks = {check["name"]: check["ok"] for check in health["checks"]}
    assert health["ok"] is False
    good, bad = ("store", "lag", "schedules", "clock", "disk"), ("workers", "scheduler")
    assert checks == {**dict.fromkeys(good, True), **dict.fromkeys(bad, False)}


async def test_status_begins_with_one_sentence(api: Served) -> None:
    """With nothing wrong but nobody working it says so; what is coming is counted."""
    await api.ask("PUT", "/schedules/soon", {**DAILY, "when": "*/5 * * * *"})
    status = (await api.ask("GET", "/status?since=24h")).body
    assert status["sentence"].startswith(
        "No worker and no scheduler is alive (puntual serve starts them); nothing failed"
    )
    assert status["sentence"].endswith("; 1 schedule is due within the hour.")
    assert (status["ok"], status["coming"][0]["schedule"], status["coming"][0]["ticks"]) == (False, "soon", 12)
    assert (await api.ask("GET", "/status?since=then")).body["field"] == "since"


async def test_status_tells_what_failed_and_why(api: Served) -> None:
    """A dead run is told with its error and its tries, until it is discarded."""
    run_id = await dead_run(api.app)
    status = (await api.ask("GET", "/status")).body
    (failed,) = status["failed"]
    assert (failed["id"], failed["why"], failed["tries"], failed["next_try_at"]) == (
        run_id,
        "ValueError: no 7",
        1,
        None,
    )
    assert status["sentence"].startswith("No worker is alive (puntual serve starts them); 1 run died since ")
    await api.ask("POST", "/dead/discard", {"ids": [run_id]})
    assert (await api.ask("GET", "/status")).body["failed"] == []


async def test_a_wrong_token_is_not_made(api: Served) -> None:
    """Scope and expiry are checked before anything is kept."""
    for body, field in (
        ({"scope": "root"}, "scope"),
        ({}, "scope"),
        ({"scope": "read", "expires": "2020-01-01T00:00:00Z"}, "expires"),
    ):
        answer = await api.ask("POST", "/tokens", body)
        assert (answer.status, answer.body["field"]) == (400, field)
    assert (await api.ask("DELETE", "/tokens/none")).status == 404
    assert len((await api.ask("GET", "/tokens")).body["items"]) == 3
