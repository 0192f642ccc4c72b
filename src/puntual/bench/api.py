"""How many runs a second come in by the REST API of ``puntual serve``: one for each request, and a thousand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final

import msgspec

from puntual.app import App
from puntual.bench.children import Program
from puntual.bench.context import Bench, Measured
from puntual.bench.load import NOOP, add_noop, new_runs
from puntual.operations import tokens

CONNECTIONS: Final = 64
_BATCH: Final = 1_000
_CREATED: Final = b"HTTP/1.1 201 "


class Server(msgspec.Struct, frozen=True):
    """Where it listens, and its token."""

    port: int
    token: str

    def request(self, path: str, body: object) -> bytes:
        """All the bytes of a request."""
        text = msgspec.json.encode(body)
        head = (
            f"POST /api/v1{path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
        )
        return head.encode() + text


async def single(bench: Bench) -> dict[str, Measured]:
    """One run for each request, on 64 connections."""
    count = bench.count(10_000, 200)
    run = {"task": NOOP, "args": {"i": 1}}
    return {"api_enqueue": await _best(bench, "/runs", run, count, 1)}


async def batches(bench: Bench) -> dict[str, Measured]:
    """A thousand runs for each request, on two connections."""
    count = bench.count(100_000, 2_000)
    runs = {"runs": [{"task": NOOP, "args": {"i": i}} for i in range(_BATCH)]}
    return {"api_batch_runs": await _best(bench, "/runs/batch", runs, max(count // _BATCH, 1), _BATCH)}


async def _best(bench: Bench, path: str, body: object, requests: int, each: int) -> Measured:
    """Runs per second, beside a floor whose commits take what as many callers ask for at once."""
    app = await bench.app()
    count = requests * each
    runs = new_runs(app, add_noop(app), count)
    rates, floors = [], []
    for _ in bench.rounds():
        served = await bench.app()
        token = await _token(served)
        command = ("serve", "--port", "0", "--roles", "api", "--app", "puntual.bench.load:app", "--json")
        async with Program(bench.folder, served.settings.database_url, *command) as program:
            server = Server(await _port(program), token)
            callers = CONNECTIONS if each == 1 else 2
            rates.append(count / await _seconds(server, [server.request(path, body)] * requests, callers))
        async with bench.home.bare() as bare:
            floors.append(count / await bare.seconds(bare.enqueue(runs, max(each, CONNECTIONS))))
    return Measured(max(rates), max(floors))


async def _token(app: App) -> str:
    """Puts a token with all scopes into the database of an app, and gives its text."""
    text = tokens.token_text(app.random.bytes(tokens.RANDOM_BYTES))
    async with app:
        await app.store.put_token(tokens.new_token(text, name="bench", scope="admin", now=app.clock.now()))
    return text


async def _port(program: Program) -> int:
    said = await program.read_json()
    return int(said["api"].rsplit(":", 1)[1])


async def _seconds(server: Server, requests: Sequence[bytes], callers: int) -> float:
    """How long the requests take, so many of them under way at once, each on a connection that is kept."""
    waiting = iter(requests)

    async def caller() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for request in waiting:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(_CREATED):
                raise RuntimeError(f"the server answered {head[:20]!r}")
            length = head.lower().split(b"content-length:", 1)[1].split(b"\r\n", 1)[0]
            await reader.readexactly(int(length))
        writer.close()
        await writer.wait_closed()

    started = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(callers)))
    return time.perf_counter() - started
