"""Backup: an online copy, made in pieces between which writers go on, and never over a file that is there."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from puntual.model.errors import ConflictError, InvalidError
from puntual.store.files import give_name

#: Pages copied at a time.
_PIECE = 1_000


def backup(source: sqlite3.Connection, path: str) -> int:
    """Copies the snapshot of the transaction that the connection is in, and gives the size of the copy, bytes.

    The copy is made under another name and gets its own when it is whole.

    Raises:
        ConflictError: there is a file of that name.
        InvalidError: there is no such folder.
    """
    target = Path(path)
    if not target.absolute().parent.is_dir():
        raise InvalidError(f"There is no folder {target.absolute().parent} for the copy: make it.", field="path")
    if target.exists():
        raise _taken(path)
    part = target.with_name(f"{target.name}.part")
    part.unlink(missing_ok=True)
    try:
        _copy(source, part)
        give_name(part, target)
    except FileExistsError:
        raise _taken(path) from None
    finally:
        part.unlink(missing_ok=True)
    return target.stat().st_size


def _copy(source: sqlite3.Connection, part: Path) -> None:
    copy = sqlite3.connect(part, isolation_level=None)
    try:
        # A transaction has its snapshot from its first read on. Without one, each piece would be of a snapshot of its
        # own, and the copy begin again whenever another connection has committed between two of them.
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()
        source.backup(copy, pages=_PIECE)
        copy.execute("PRAGMA journal_mode = DELETE").fetchall()
    finally:
        copy.close()


def _taken(path: str) -> ConflictError:
    return ConflictError(f"There is a file {path} already: name another one, a backup overwrites nothing.")
