"""Tests of `puntual.cli.serving`: what a server says of itself."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from puntual.cli import serving


def test_the_banner_says_how_to_look_from_another_shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With what says where the data is, and the program as it is called in this folder, quoted for a shell."""
    program = tmp_path / "a b" / "puntual"
    program.parent.mkdir()
    program.touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(program)])
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PUNTUAL_CONFIG", "my settings.toml")
    monkeypatch.delenv("PUNTUAL_DATABASE_URL", raising=False)
    assert serving._puntual() == "PUNTUAL_CONFIG='my settings.toml' 'a b/puntual'"
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    assert serving._puntual() == "PUNTUAL_CONFIG='my settings.toml' puntual"


def test_the_banner_shows_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of where the data is, it repeats what holds none."""
    monkeypatch.setattr(sys, "argv", ["__main__.py"])
    monkeypatch.delenv("PUNTUAL_CONFIG", raising=False)
    monkeypatch.setenv("PUNTUAL_DATABASE_URL", "postgresql://ana:hunter2@db/jobs")
    assert "hunter2" not in serving._puntual()
    monkeypatch.setenv("PUNTUAL_DATABASE_URL", "postgresql://ana@db/jobs")
    assert serving._puntual().startswith("PUNTUAL_DATABASE_URL=postgresql://ana@db/jobs ")
