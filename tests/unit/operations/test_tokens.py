"""Tokens are random, kept as a digest, and scopes include the lesser ones."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from puntual.app import App
from puntual.model.errors import ForbiddenError, InvalidError
from puntual.operations import tokens
from puntual.operations.first_token import ensure_first_token
from puntual.operations.local import LocalOperations
from tests.support.api import app_in


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    """An open app on an empty database."""
    async with app_in(tmp_path) as opened:
        yield opened


def beside(path: Path) -> list[Path]:
    """What else stands there under a name that begins like it."""
    return [other for other in path.parent.glob(f"{path.name}*") if other != path]


def test_only_the_digest_of_a_token_is_kept() -> None:
    """No field of what is kept holds the text, and only six letters of it are shown."""
    text = tokens.token_text(bytes(range(32)))
    token = tokens.new_token(text, name="n", scope="read", now=7)
    assert tokens.is_token(text)
    assert token.digest == hashlib.sha256(text.encode()).hexdigest()
    assert text not in repr(token)
    assert (token.prefix, len(token.prefix)) == (text[:10], 10)


def test_the_same_token_has_the_same_id() -> None:
    """Keeping one twice is keeping it once."""
    one, two = (tokens.new_token("ptl_x", name="n", scope="read", now=now) for now in (1, 2))
    assert one.id == two.id
    assert one.id not in one.digest


@pytest.mark.parametrize(
    "text", ["", "ptl_", "ptl_" + "a" * 42, "ptl_" + "a" * 44, "xtl_" + "a" * 43, "ptl_" + "é" * 43]
)
def test_other_texts_are_no_tokens(text: str) -> None:
    """A look at the shape spares the database."""
    assert not tokens.is_token(text)


@pytest.mark.parametrize("scope", ["read", "operate", "admin"])
@pytest.mark.parametrize("asked", ["read", "operate", "admin"])
def test_a_scope_includes_the_lesser_ones(scope: str, asked: str) -> None:
    """Read, then operate, then admin."""
    token = tokens.new_token("ptl_x", name="", scope=scope, now=0)
    assert tokens.allows(token, asked, 1) is (tokens.SCOPES.index(asked) <= tokens.SCOPES.index(scope))


def test_an_expired_token_allows_nothing() -> None:
    """From the very instant of its end."""
    token = tokens.new_token("ptl_x", name="", scope="admin", now=0, expires_at=10)
    assert (tokens.allows(token, "read", 9), tokens.allows(token, "read", 10)) == (True, False)


def test_there_are_three_scopes() -> None:
    """Another one is refused."""
    with pytest.raises(InvalidError, match="read, operate or admin"):
        tokens.new_token("ptl_x", name="", scope="root", now=0)


async def test_the_first_start_writes_a_token_for_its_owner_alone(app: App, tmp_path: Path) -> None:
    """The file has mode 0600, its token has every scope, and the next start makes no other."""
    path = tmp_path / "puntual.token"
    assert await ensure_first_token(app, str(path)) == str(path)
    (kept,) = await app.store.list_tokens()
    assert path.stat().st_mode & 0o777 == 0o600
    assert (kept.digest, kept.scope) == (tokens.digest_of(path.read_text().strip()), "admin")
    assert await ensure_first_token(app, str(path)) is None
    assert beside(path) == []


async def test_a_start_that_died_after_the_file_is_made_good(app: App, tmp_path: Path) -> None:
    """The token in the file is the one that counts: whoever has read it can use it."""
    path = tmp_path / "puntual.token"
    text = tokens.token_text(os.urandom(32))
    path.write_text(text + "\n")
    path.chmod(0o600)
    assert await ensure_first_token(app, str(path)) == str(path)
    assert [token.digest for token in await app.store.list_tokens()] == [tokens.digest_of(text)]


@pytest.mark.parametrize(("text", "mode"), [("", 0o600), ("hello", 0o600), ("ptl_" + "a" * 43, 0o644)])
async def test_a_file_that_others_may_have_written_is_not_believed(
    app: App, tmp_path: Path, text: str, mode: int
) -> None:
    """What is no token, or is open to others, is refused with the way out, and nothing is kept."""
    path = tmp_path / "puntual.token"
    path.write_text(text)
    path.chmod(mode)
    with pytest.raises(ForbiddenError, match="remove it"):
        await ensure_first_token(app, str(path))
    assert await app.store.list_tokens() == []


async def test_a_link_in_its_place_is_not_followed(app: App, tmp_path: Path) -> None:
    """A symbolic link is no file of ours."""
    (tmp_path / "other").write_text("ptl_" + "a" * 43)
    (tmp_path / "other").chmod(0o600)
    (tmp_path / "puntual.token").symlink_to(tmp_path / "other")
    with pytest.raises(ForbiddenError, match="remove it"):
        await ensure_first_token(app, str(tmp_path / "puntual.token"))


async def test_a_database_with_a_token_gets_no_other(app: App, tmp_path: Path) -> None:
    """Whoever made one already decides who gets in."""
    await LocalOperations(app).create_token({"scope": "read"})
    assert await ensure_first_token(app, str(tmp_path / "puntual.token")) is None
    assert not (tmp_path / "puntual.token").exists()


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP, errno.ENOSYS])
async def test_a_file_system_without_hard_links_has_a_token_too(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """The file is then written where it lies, for its owner alone, and never over another."""

    def refused(*_args: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", refused)
    path = tmp_path / "puntual.token"
    assert await ensure_first_token(app, str(path)) == str(path)
    (kept,) = await app.store.list_tokens()
    assert (kept.digest, path.stat().st_mode & 0o777) == (tokens.digest_of(path.read_text().strip()), 0o600)
    assert beside(path) == []
    await app.store.revoke_token(kept.id)
    assert await ensure_first_token(app, str(path)) == str(path)
    assert [token.digest for token in await app.store.list_tokens()] == [kept.digest]
