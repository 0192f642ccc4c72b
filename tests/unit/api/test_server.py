"""Connections of strangers leave a process its files: there are so many, and who asks nothing has none for long."""

from __future__ import annotations

import asyncio
import contextlib
import resource
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from puntual.api import serve_api, server
from puntual.app import App
from puntual.operations.local import LocalOperations
from puntual.settings import Settings

Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]
HEAD = b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n"


@pytest.fixture
async def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    """A served API of a process that may open 40 files: 10 connections are served, and 12 let in."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (40, 40))
    app = App(Settings(database_url=f"sqlite:///{tmp_path}/puntual.db"))
    async with app, serve_api(app, LocalOperations(app), "127.0.0.1", 0) as port:
        yield port


@pytest.fixture
async def lines(port: int) -> AsyncIterator[list[Line]]:
    """Thirty connections that say nothing."""
    lines = [await asyncio.open_connection("127.0.0.1", port) for _ in range(30)]
    yield lines
    for _, writer in lines:
        writer.close()


async def _closed(line: Line) -> None:
    with contextlib.suppress(ConnectionError):
        assert await line[0].read() == b""


async def _status(line: Line) -> bytes:
    line[1].write(HEAD + b"\r\n")
    return (await line[0].readline()).split()[1]


async def test_beyond_the_limit_nobody_gets_in(lines: list[Line]) -> None:
    """Whoever is beyond a quarter more than can be served; who is in, and cannot be served, is told."""
    waiting = {asyncio.create_task(_closed(line)): line for line in lines}
    while sum(task.done() for task in waiting) < 18:
        await asyncio.wait([task for task in waiting if not task.done()], return_when=asyncio.FIRST_COMPLETED)
    left = [task for task in waiting if not task.done()]
    assert len(left) == 12
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    assert await _status(waiting[left[0]]) == b"503"


@pytest.mark.parametrize("begun", [b"", HEAD], ids=["nothing", "the beginning of a request"])
async def test_who_asks_nothing_is_not_waited_for(port: int, monkeypatch: pytest.MonkeyPatch, begun: bytes) -> None:
    """Also who began to ask; then there is room for others."""
    monkeypatch.setattr(server, "PATIENCE", 0.05)
    lines = [await asyncio.open_connection("127.0.0.1", port) for _ in range(12)]
    for _, writer in lines:
        writer.write(begun)
    await asyncio.gather(*(_closed(line) for line in lines))
    line = await asyncio.open_connection("127.0.0.1", port)
    assert await _status(line) == b"200"
    for _, writer in (*lines, line):
        writer.close()
