"""A request that is sent again under its Idempotency-Key does nothing twice, or says that the key is not honoured."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.api import DAILY, Served, dead_run, serving


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Served]:
    """A served API with default settings."""
    async with serving(tmp_path) as served:
        yield served


async def count(api: Served) -> int:
    """How many runs there are."""
    return len((await api.ask("GET", "/runs")).body["items"])


def batch(*numbers: int) -> dict[str, Any]:
    """Runs with these arguments."""
    return {"runs": [{"task": "x", "args": {"n": number}} for number in numbers]}


@pytest.mark.parametrize("overlap", ["skip", "allow_all"])
async def test_a_trigger_sent_twice_is_one_run(api: Served, overlap: str) -> None:
    """Whatever the overlap policy says of another run beside it."""
    await api.ask("PUT", "/schedules/a", {**DAILY, "overlap": overlap})
    first = await api.ask("POST", "/schedules/a/trigger", {}, idempotency_key="k")
    again = await api.ask("POST", "/schedules/a/trigger", {}, idempotency_key="k")
    assert (first.status, again.status, again.body["existing"]) == (201, 200, True)
    assert (first.body["id"], await count(api)) == (again.body["id"], 1)


async def test_triggers_at_the_same_moment_are_one_run(api: Served) -> None:
    """The one that comes second finds the run of the first."""
    await api.ask("PUT", "/schedules/a", DAILY)
    answers = await asyncio.gather(
        *(api.ask("POST", "/schedules/a/trigger", {}, idempotency_key="k") for _ in range(8))
    )
    assert {answer.status for answer in answers} <= {200, 201}
    assert len({answer.body["id"] for answer in answers}) == 1


async def test_another_trigger_under_the_key_is_a_conflict(api: Served) -> None:
    """Other arguments, or another schedule."""
    for name in ("a", "b"):
        await api.ask("PUT", f"/schedules/{name}", DAILY)
    await api.ask("POST", "/schedules/a/trigger", {}, idempotency_key="k")
    other = await api.ask("POST", "/schedules/a/trigger", {"args": {"n": 1}}, idempotency_key="k")
    elsewhere = await api.ask("POST", "/schedules/b/trigger", {}, idempotency_key="k")
    event = await api.ask("POST", "/runs", {"task": DAILY["task"]}, idempotency_key="k")
    assert [answer.status for answer in (other, elsewhere, event)] == [409, 409, 409]
    assert await count(api) == 1


async def test_a_replay_that_makes_a_run_makes_one(api: Served) -> None:
    """Sent twice it is the same run; of another run, or with other arguments, it is a conflict."""
    run_id = await dead_run(api.app)
    path = f"/runs/{run_id}/replay"
    first = await api.ask("POST", path, {"args": {"n": 8}}, idempotency_key="k")
    again = await api.ask("POST", path, {"args": {"n": 8}}, idempotency_key="k")
    assert (first.status, again.body["id"], again.body["existing"]) == (200, first.body["id"], True)
    assert (await api.ask("POST", path, {"args": {"n": 9}}, idempotency_key="k")).status == 409
    assert await count(api) == 2


async def test_a_dead_run_put_back_takes_no_key(api: Served) -> None:
    """No run is made, so a repeat could not be told from a second wish."""
    run_id = await dead_run(api.app)
    answer = await api.ask("POST", f"/runs/{run_id}/replay", {}, idempotency_key="k")
    assert (answer.status, answer.body["field"]) == (400, "id")
    assert (await api.ask("GET", f"/runs/{run_id}")).body["state"] == "dead"


@pytest.mark.parametrize("numbers", [(1, 3), (1, 2, 3), (1,)])
async def test_another_batch_under_the_key_is_a_conflict(api: Served, numbers: tuple[int, ...]) -> None:
    """Other content, a longer one or a shorter one; nothing is made of it."""
    assert (await api.ask("POST", "/runs/batch", batch(1, 2), idempotency_key="k")).status == 201
    answer = await api.ask("POST", "/runs/batch", batch(*numbers), idempotency_key="k")
    assert (answer.status, answer.code) == (409, "conflict")
    assert await count(api) == 2


@pytest.mark.parametrize(("path", "body"), [("/tokens", {"scope": "read"}), ("/schedules", {"name": "a", **DAILY})])
async def test_what_makes_no_run_refuses_the_key(api: Served, path: str, body: dict[str, Any]) -> None:
    """One sentence says so, instead of a promise that is not kept."""
    answer = await api.ask("POST", path, body, idempotency_key="k")
    assert (answer.status, answer.body["field"]) == (400, "Idempotency-Key")
    assert (await api.ask("POST", path, body)).status == 201


async def test_a_run_has_an_id_of_its_own_or_a_key(api: Served) -> None:
    """Two names for one request could only contradict each other."""
    body = {"task": "x", "id": "0198c1f2-7d3a-7b0e-9c55-3f1d2a4b6c8d"}
    assert (await api.ask("POST", "/runs", body, idempotency_key="k")).body["field"] == "Idempotency-Key"


async def test_the_same_id_twice_in_a_batch_is_refused(api: Served) -> None:
    """Each run of a batch is one run."""
    run = {"task": "x", "id": "0198c1f2-7d3a-7b0e-9c55-3f1d2a4b6c8d"}
    assert (await api.ask("POST", "/runs/batch", {"runs": [run, run]})).status == 400
    assert await count(api) == 0
