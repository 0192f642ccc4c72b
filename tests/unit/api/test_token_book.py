"""The copy of the tokens: fresh enough that a revoked one ends, and that guessing costs the database nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from puntual.api.auth import FRESH, UNKNOWN_FRESH, TokenBook
from puntual.app import App
from puntual.engine.clock import SystemClock
from puntual.model.errors import StoreUnavailableError, UnauthorizedError
from puntual.model.fleet import Token
from puntual.operations.local import LocalOperations
from tests.support.api import app_in


class HandClock(SystemClock):
    """A steady clock that is moved by hand."""

    at = 1000.0

    def steady(self) -> float:
        """Seconds that never step."""
        return self.at


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    """An open app with a clock moved by hand."""
    app = app_in(tmp_path)
    app.clock = HandClock()
    async with app:
        yield app


@pytest.fixture
def reads(app: App, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often the tokens were read."""
    reads: list[int] = []
    read = app.store.list_tokens

    async def counted() -> list[Token]:
        reads.append(1)
        return await read()

    monkeypatch.setattr(app.store, "list_tokens", counted)
    return reads


def move(app: App, seconds: float) -> None:
    """Lets time pass."""
    assert isinstance(app.clock, HandClock)
    app.clock.at += seconds


async def test_a_revoked_token_ends_within_two_seconds(app: App, reads: list[int]) -> None:
    """Until then the copy may still know it; afterwards it does not."""
    operations, book = LocalOperations(app), TokenBook(app)
    made = await operations.create_token({"scope": "read"})
    bearer = f"Bearer {made['token']}"
    assert (await book.bearer(bearer)).id == made["id"]
    await operations.revoke_token(made["id"])
    move(app, FRESH + 0.01)
    with pytest.raises(UnauthorizedError):
        await book.bearer(bearer)
    assert len(reads) == 2


async def test_a_new_token_works_within_a_second(app: App) -> None:
    """One that the copy does not know has it read again, once it is a second old."""
    operations, book = LocalOperations(app), TokenBook(app)
    with pytest.raises(UnauthorizedError):
        await book.bearer("Bearer ptl_" + "a" * 43)
    made = await operations.create_token({"scope": "read"})
    move(app, UNKNOWN_FRESH + 0.01)
    assert (await book.bearer(f"bearer {made['token']}")).id == made["id"]


async def test_guessing_reads_the_database_once_a_second(app: App, reads: list[int]) -> None:
    """However many guesses come, and texts that are no tokens never."""
    book = TokenBook(app)
    for guess in ("a" * 43, "b" * 43, "c" * 43, "short", ""):
        with pytest.raises(UnauthorizedError):
            await book.bearer(f"Bearer ptl_{guess}")
    assert len(reads) == 1


async def test_many_at_once_share_one_read(app: App, reads: list[int]) -> None:
    """Callers that find the copy old wait for the same reading."""
    made = await LocalOperations(app).create_token({"scope": "read"})
    book = TokenBook(app)
    found = await asyncio.gather(*(book.bearer(f"Bearer {made['token']}") for _ in range(20)))
    assert {token.id for token in found} == {made["id"]}
    assert len(reads) == 1


async def test_a_token_made_here_works_at_once(app: App, reads: list[int]) -> None:
    """Forgetting has the copy read again at the next request."""
    book = TokenBook(app)
    with pytest.raises(UnauthorizedError):
        await book.bearer("Bearer ptl_" + "a" * 43)
    made = await LocalOperations(app).create_token({"scope": "read"})
    book.forget()
    assert (await book.bearer(f"Bearer {made['token']}")).id == made["id"]


async def test_an_old_copy_is_good_enough_only_for_whoever_says_so(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the database is away a token of the copy is taken where ``stale`` is; nobody new, and nowhere else."""
    book = TokenBook(app)
    made = await LocalOperations(app).create_token({"scope": "read"})
    bearer = f"Bearer {made['token']}"
    await book.bearer(bearer)

    async def away() -> list[Token]:
        raise StoreUnavailableError("away")

    monkeypatch.setattr(app.store, "list_tokens", away)
    move(app, FRESH + 0.01)
    assert (await book.bearer(bearer, stale=True)).id == made["id"]
    for refused in (book.bearer(bearer), book.bearer("Bearer ptl_" + "a" * 43, stale=True)):
        with pytest.raises(StoreUnavailableError):
            await refused


async def test_a_database_that_hangs_holds_nobody_up_who_takes_an_old_copy(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is given a moment to answer."""
    book = TokenBook(app)
    made = await LocalOperations(app).create_token({"scope": "read"})
    await book.bearer(f"Bearer {made['token']}")

    async def hang() -> list[Token]:
        await asyncio.Event().wait()
        return []

    monkeypatch.setattr(app.store, "list_tokens", hang)
    monkeypatch.setattr("puntual.api.auth._PATIENCE", 0.01)
    move(app, FRESH + 0.01)
    assert (await book.bearer(f"Bearer {made['token']}", stale=True)).id == made["id"]


async def test_a_revoked_token_ends_for_whoever_takes_an_old_copy_too(app: App) -> None:
    """As long as the database answers, the copy is as fresh as for all."""
    operations, book = LocalOperations(app), TokenBook(app)
    made = await operations.create_token({"scope": "read"})
    await book.bearer(f"Bearer {made['token']}", stale=True)
    await operations.revoke_token(made["id"])
    move(app, FRESH + 0.01)
    with pytest.raises(UnauthorizedError):
        await book.bearer(f"Bearer {made['token']}", stale=True)
