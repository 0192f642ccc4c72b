"""The first start on SQLite leaves a token beside the database, so that whoever owns the files can use the API."""

from __future__ import annotations

import os
from pathlib import Path

from puntual.app import App
from puntual.model.errors import ForbiddenError
from puntual.operations import tokens
from puntual.store.files import give_name


async def ensure_first_token(app: App, path: str) -> str | None:
    """Makes a token with all scopes if the database has none; its text is in the file ``path``, mode 0600.

    Two processes that start at once share one token. A start that died between file and database is made good: the
    token in the file is the one that counts, if the file is ours alone.

    Returns:
        The path when a token was made now; None when the database had one.

    Raises:
        ForbiddenError: the file cannot be written; or it stands already and others may read or write it, or it holds no
            token.
    """
    if await app.store.list_tokens():
        return None
    text = tokens.token_text(app.random.bytes(tokens.RANDOM_BYTES))
    try:
        text = text if _written(path, text) else _read(path)
    except OSError as error:
        raise ForbiddenError(f"{path} cannot be made or read: {error.strerror}; remove it if it stands.") from error
    await app.store.put_token(tokens.new_token(text, name="first", scope="admin", now=app.clock.now()))
    return path


def _written(path: str, text: str) -> bool:
    """Writes the file whole, or not at all where one stands: it takes its name only when it is complete."""
    part = Path(f"{path}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    _write_new(part, text)
    try:
        give_name(part, Path(path))
    except FileExistsError:
        return False
    finally:
        part.unlink(missing_ok=True)
    return True


def _write_new(path: Path, text: str) -> None:
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(number, "w", encoding="ascii") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())


def _read(path: str) -> str:
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(number, encoding="ascii", errors="replace") as file:
        facts = os.fstat(file.fileno())
        text = file.read(1_000).strip()
    if facts.st_uid != os.geteuid() or facts.st_mode & 0o077:
        raise ForbiddenError(f"{path} belongs to somebody else or is open to others: remove it, and a new one is made.")
    if not tokens.is_token(text):
        raise ForbiddenError(f"{path} stands already and holds no token: remove it, and a new one is made.")
    return text
