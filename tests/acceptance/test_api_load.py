"""Nobody who is let in can stop the server: large bodies are for who may send them, and are read beside the loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pytest

from puntual.model.errors import PuntualError
from puntual.operations.local import runs
from tests.support.api import Served, serving

T = TypeVar("T")
#: Half a megabyte of YAML that takes a second or more to read, and is refused in the end.
LONG = "a: [" + "{}," * 170_000 + "]"


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Served]:
    """A served API with default settings."""
    async with serving(tmp_path) as served:
        yield served


async def turns_while(work: Awaitable[T]) -> tuple[T, int]:
    """The result, and how often others that wait a millisecond each got their turn meanwhile."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.001)
            turns += 1

    counting = asyncio.create_task(count())
    try:
        return await work, turns
    finally:
        counting.cancel()
        await asyncio.gather(counting, return_exceptions=True)


def applying(text: str) -> dict[str, object]:
    """A dry run of one manifest."""
    return {"texts": [{"text": text}], "dry_run": True}


async def test_a_large_manifest_is_read_beside_the_loop(api: Served) -> None:
    """Heartbeats and other answers go on while it is: in one piece it would be a handful of turns."""
    answer, turns = await turns_while(api.ask("POST", "/apply", applying(LONG)))
    assert answer.status == 400
    assert turns > 25


@pytest.mark.parametrize(("scope", "size", "status"), [("read", 400_000, 413), ("operate", 400_000, 200)])
async def test_a_large_dry_run_is_for_who_may_operate(api: Served, scope: str, size: int, status: int) -> None:
    """A token that may only look sends no more than anybody else's payload."""
    text = "schedules: {}\n" + "#" * size
    assert (await api.ask("POST", "/apply", applying(text), scope=scope)).status == status


@pytest.mark.parametrize(("scope", "status"), [("operate", 413), ("admin", 200)])
async def test_manifests_beyond_a_megabyte_are_for_admins(api: Served, scope: str, status: int) -> None:
    """Whoever may apply them may send them."""
    text = "schedules: {}\n" + "#" * 1_100_000
    assert (await api.ask("POST", "/apply", applying(text), scope=scope)).status == status


async def test_manifests_are_read_one_after_the_other(api: Served) -> None:
    """Many at once would take the processor from the engine: the second begins when the first is done."""
    ended: list[str] = []

    async def apply(name: str, text: str) -> None:
        with suppress(PuntualError):
            await api.operations.apply([{"text": text}], dry_run=True, prune=False, take=False)
        ended.append(name)

    await asyncio.gather(apply("long", LONG), apply("short", "schedules: {}"))
    assert ended == ["long", "short"]


async def test_a_large_batch_lets_others_in_between(api: Served) -> None:
    """Ten thousand runs are read in parts."""
    batch = [{"task": "http", "args": {"url": f"https://example.com/{n}"}} for n in range(3_000)]
    slices = 3_000 // runs._SLICE
    made = asyncio.create_task(api.operations._new_runs(batch))
    turns = 0
    while not made.done():
        await asyncio.sleep(0)
        turns += 1
    assert len(await made) == 3_000
    assert turns >= slices


async def test_a_page_of_heavy_runs_ends_early(api: Served) -> None:
    """A reply stays within some megabytes, and its cursor leads to the rest, each run once."""
    heavy = {"task": "x", "args": {"text": "a" * 250_000}}
    ids = [(await api.ask("POST", "/runs", heavy)).body["id"] for _ in range(20)]
    first = (await api.ask("GET", "/runs?limit=1000")).body
    assert 0 < len(first["items"]) < 20
    rest = (await api.ask("GET", f"/runs?limit=1000&cursor={first['next_cursor']}")).body
    assert [run["id"] for page in (first, rest) for run in page["items"]] == sorted(ids, reverse=True)
    assert rest["next_cursor"] is None
