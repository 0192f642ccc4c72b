"""How many HTTP runs a second are claimed, sent, answered and written down, against a server on this machine."""

from __future__ import annotations

import asyncio
import ipaddress
import time

import aiohttp

from puntual.app import App
from puntual.bench.children import Child
from puntual.bench.context import Bench, Measured
from puntual.bench.ends import count_ends, seconds_to_end
from puntual.model.run import HTTP_TASK, NewRun, RunState
from puntual.store.requests import Page, RunFilter
from puntual.store.rows.codec import encode

_IN_FLIGHT = 100
_LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"),)


async def runs(bench: Bench) -> dict[str, Measured]:
    """Requests without a body; the floor is the HTTP client alone, with as many in flight and no database."""
    count = bench.count(6_000, 200)
    rates, floors = [], []
    async with Child("echo") as server:
        port = int(await server.read())
        url = f"http://127.0.0.1:{port}/"
        for _ in bench.rounds():
            app = await bench.app(allow_private_addresses=_LOOPBACK)
            store = count_ends(app)
            async with app:
                args = encode({"url": url, "method": "POST", "json": {"i": 1}})
                made = [NewRun(id=app.core.new_run_id(), task=HTTP_TASK, args=args) for _ in range(count)]
                await app.runs.enqueue(made)
                rates.append(count / await seconds_to_end(app, store, count))
                await _check_all_succeeded(app)
            floors.append(count / await _requests(url, count))
    return {"http_runs": Measured(max(rates), max(floors))}


async def _check_all_succeeded(app: App) -> None:
    """A request that fails is quicker than one that is answered: a rate with such in it says nothing."""
    others = tuple(state for state in RunState if state is not RunState.SUCCEEDED)
    if wrong := await app.runs.find(RunFilter(states=others), Page(limit=1)):
        raise RuntimeError(f"not every request succeeded: {wrong[0].row.attempts}")


async def _requests(url: str, count: int) -> float:
    """Seconds for that many requests."""
    numbers = iter(range(count))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=_IN_FLIGHT)) as session:

        async def client() -> None:
            for i in numbers:
                async with session.post(url, json={"i": i}) as answer:
                    await answer.read()

        started = time.perf_counter()
        await asyncio.gather(*(client() for _ in range(_IN_FLIGHT)))
        return time.perf_counter() - started
