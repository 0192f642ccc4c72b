"""Tests of `puntual.store.rows.texts`: no file has to be opened once one was needed."""

from __future__ import annotations

import builtins
import pathlib

import pytest

from puntual.store.rows.texts import texts


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_all_are_there_after_the_first(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that can open nothing more still knows how to write down what it did."""
    package = f"puntual.store.{kind}"
    folder = pathlib.Path(__file__).parents[3] / "src" / "puntual" / "store" / kind / "sql"
    names = {path.stem for path in folder.glob("*.sql")}
    assert texts(package)

    def refuse(*_: object, **__: object) -> None:
        raise OSError("Too many open files")

    monkeypatch.setattr(builtins, "open", refuse)
    monkeypatch.setattr(pathlib.Path, "read_text", refuse)
    assert texts(package).keys() == names
