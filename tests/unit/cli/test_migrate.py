"""Tests of `puntual migrate`, and of who may do the same on the way."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from puntual.cli.root import run
from puntual.store.migration import Migration
from puntual.store.sqlite import migrate
from tests.support.releases import next_step


@pytest.fixture
def older(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A database that lacks the newest migration of this release."""
    monkeypatch.chdir(tmp_path)
    assert run(["migrate"]) == 0
    capsys.readouterr()
    newest = Migration(version=99, name="0099_more", text="CREATE TABLE more (one INTEGER) STRICT;")
    steps = [*migrate.shipped(), newest]
    monkeypatch.setattr(migrate, "shipped", lambda: steps)


@pytest.mark.usefixtures("older")
@pytest.mark.parametrize("words", [["run", "list"], ["status"], ["schedule", "pause", "--all"], ["backup", "copy.db"]])
def test_whoever_looks_is_told_to_migrate(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    """The sentence names the command, and the database stays as it is."""
    assert run(words) == 1
    assert "`puntual migrate`" in capsys.readouterr().err
    assert run(["migrate", "--check"]) == 1
    assert "1 migration to apply" in capsys.readouterr().out


def test_a_database_of_the_next_release_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is nothing to do, and all goes on."""
    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as newer:
        steps = [*migrate.shipped(), next_step("sqlite")]
        newer.setattr(migrate, "shipped", lambda: steps)
        assert run(["migrate"]) == 0
    capsys.readouterr()
    assert run(["migrate", "--check"]) == 0
    assert capsys.readouterr().out == "The database is newer than this puntual, and works with it.\n"
    assert run(["--json", "migrate"]) == 0
    assert msgspec.json.decode(capsys.readouterr().out)["schema"] == steps[-1].version
    assert run(["run", "list"]) == 0


@pytest.mark.usefixtures("older")
@pytest.mark.parametrize("words", [["migrate"], ["enqueue", "t"]])
def test_whoever_writes_migrates(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    """As SQLite needs nobody for it."""
    assert run(words) == 0
    assert run(["migrate", "--check"]) == 0
    assert run(["run", "list"]) == 0
