"""A backup is whole, overwrites nothing, and leaves nothing behind when it fails."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from puntual.engine.clock import SystemClock
from puntual.model.errors import ConflictError, InvalidError
from puntual.store.requests import Page, Retention, RunFilter
from puntual.store.sqlite import SqliteStore
from puntual.store.sqlite import backup as backups
from puntual.store.sqlite.connection import connect
from puntual.testing.conformance.build import add, new_run


class Busy(sqlite3.Connection):
    """Whatever it copies, somebody writes between two steps."""

    writer: sqlite3.Connection
    steps = 0

    def backup(self, target: sqlite3.Connection, *, pages: int = -1) -> None:  # type: ignore[override]  # as it is used
        """As sqlite3's own."""

        def write(*_: int) -> None:
            self.steps += 1
            assert self.steps < 1_000, "the copy begins again and again"
            self.writer.execute("INSERT INTO kept VALUES (0, randomblob(1000))")

        super().backup(target, pages=pages, progress=write)


def _files(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


class TestBackup:
    """An online copy."""

    async def test_the_copy_is_one_file(self, store: SqliteStore, tmp_path: Path) -> None:
        """No log beside it, nothing left of the making, and its size is told."""
        (tmp_path / "copies").mkdir()
        await add(store, *(new_run(number) for number in range(2_000)))
        size = await store.backup(str(tmp_path / "copies" / "copy.db"))
        assert _files(tmp_path / "copies") == {"copy.db"}
        assert size == (tmp_path / "copies" / "copy.db").stat().st_size

    async def test_the_copy_is_a_store_with_everything(self, store: SqliteStore, tmp_path: Path) -> None:
        """It can be opened in the place of the first."""
        await add(store, *(new_run(number) for number in range(10)))
        await store.backup(str(tmp_path / "copy.db"))
        copy = SqliteStore(str(tmp_path / "copy.db"), clock=SystemClock(), retention=Retention())
        await copy.open()
        everything = Page(limit=100)
        assert await copy.list_runs(RunFilter(), everything) == await store.list_runs(RunFilter(), everything)
        await copy.close()

    async def test_a_file_that_is_there_stays(self, store: SqliteStore, tmp_path: Path) -> None:
        """Not even one that is no database is overwritten."""
        (tmp_path / "copy.db").write_text("precious")
        with pytest.raises(ConflictError, match="overwrites nothing"):
            await store.backup(str(tmp_path / "copy.db"))
        assert (tmp_path / "copy.db").read_text() == "precious"

    async def test_a_file_that_comes_meanwhile_stays(
        self, store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Two backups to one name do not replace each other."""
        copy = backups._copy

        def slow(source: sqlite3.Connection, part: Path) -> None:
            copy(source, part)
            (tmp_path / "copy.db").write_text("precious")

        monkeypatch.setattr(backups, "_copy", slow)
        with pytest.raises(ConflictError):
            await store.backup(str(tmp_path / "copy.db"))
        assert (tmp_path / "copy.db").read_text() == "precious"
        assert "copy.db.part" not in _files(tmp_path)

    def test_it_ends_however_busy_the_database_is(
        self, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It copies one snapshot: a commit after each of its steps does not make it begin again."""
        monkeypatch.setattr(backups, "_PIECE", 1)
        with closing(connect(path, cache_kb=100)) as writer:
            writer.execute("PRAGMA journal_mode = WAL").fetchall()
            writer.execute("CREATE TABLE kept (number, blob)")
            writer.executemany("INSERT INTO kept VALUES (?, randomblob(1000))", [(number,) for number in range(100)])
            with closing(sqlite3.connect(path, isolation_level=None, factory=Busy)) as source:
                source.writer = writer
                source.execute("BEGIN")
                backups.backup(source, str(tmp_path / "copy.db"))
                assert source.steps > 3
            assert writer.execute("SELECT count(*) FROM kept").fetchone() == (100 + source.steps,)
        with closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
            assert copy.execute("SELECT count(*) FROM kept").fetchone() == (100,)

    async def test_no_hard_links_are_needed(
        self, store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A copy can be made onto a stick."""

        def refuse(*_: object, **__: object) -> None:
            raise PermissionError("Operation not permitted")

        monkeypatch.setattr(os, "link", refuse)
        (tmp_path / "stick").mkdir()
        await store.backup(str(tmp_path / "stick" / "copy.db"))
        assert _files(tmp_path / "stick") == {"copy.db"}
        with pytest.raises(ConflictError):
            await store.backup(str(tmp_path / "stick" / "copy.db"))

    async def test_a_missing_folder_is_named(self, store: SqliteStore, tmp_path: Path) -> None:
        """The sentence says what to make."""
        with pytest.raises(InvalidError, match="There is no folder"):
            await store.backup(str(tmp_path / "nowhere" / "copy.db"))
