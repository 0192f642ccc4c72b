"""An API on a database in a temporary folder, served on a free port, and a client with a token of each scope."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from puntual.api import serve_api
from puntual.app import App
from puntual.model.errors import RunDeadError
from puntual.operations.local import LocalOperations
from puntual.operations.tokens import SCOPES
from puntual.settings import Settings

PREFIX = "/api/v1"
COMMAND = {"when": "@daily", "command": ["/bin/true"]}
DAILY: dict[str, Any] = {"when": "@daily", "task": "reports.daily", "timezone": "Europe/Madrid"}


class Answer(msgspec.Struct, frozen=True):
    """A reply: its status, headers, and body as JSON."""

    status: int
    headers: Mapping[str, str]
    body: Any

    @property
    def code(self) -> str | None:
        """The code of a problem."""
        code = self.body.get("code")
        return None if code is None else str(code)


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """A served API."""

    app: App
    operations: LocalOperations
    port: int
    tokens: Mapping[str, str]
    session: aiohttp.ClientSession

    async def ask(self, method: str, path: str, body: object = None, *, scope: str = "admin", **headers: str) -> Answer:
        """One request with the token of a scope (``none``: without); ``if_match=`` is the header ``if-match``."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if scope != "none":
            sent.setdefault("authorization", f"Bearer {self.tokens[scope]}")
        if not path.startswith("//"):
            path = PREFIX + path
        data = body if isinstance(body, bytes) else None if body is None else msgspec.json.encode(body)
        if data is not None:
            sent.setdefault("content-type", "application/json")
        body_read = None if data is None else io.BytesIO(data)
        async with self.session.request(method, path.replace("//", "/", 1), data=body_read, headers=sent) as reply:
            raw = await reply.read()
            return Answer(reply.status, reply.headers, msgspec.json.decode(raw) if raw else None)


@asynccontextmanager
async def serving(folder: Path, **settings: Any) -> AsyncIterator[Served]:
    """An API with these settings over the defaults."""
    app = app_in(folder, **settings)
    async with app:
        operations = LocalOperations(app)
        tokens = {scope: str((await operations.create_token({"scope": scope}))["token"]) for scope in SCOPES}
        async with (
            serve_api(app, operations, "127.0.0.1", 0) as port,
            aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session,
        ):
            yield Served(app=app, operations=operations, port=port, tokens=tokens, session=session)


def app_in(folder: Path, **settings: Any) -> App:
    """An app whose database is in a folder."""
    return App(msgspec.structs.replace(Settings(database_url=f"sqlite:///{folder}/puntual.db"), **settings))


async def dead_run(app: App) -> str:
    """A run of a task that fails, and is dead."""

    @app.task(name="broken", max_attempts=1)
    async def broken(n: int) -> None:
        raise ValueError(f"no {n}")

    async with app.running():
        handle = await broken.enqueue(n=7)
        try:
            await handle.result(timeout="20s")
        except RunDeadError:
            return handle.id
        raise AssertionError("it did not die")
