"""Tests of `puntual.cli.session`: what an answer looks like."""

from __future__ import annotations

import json
import sys

import pytest

from puntual.cli.session import Session

HOSTILE = {"name": "\u202eexe\x85\x1b[31m\u200b", "plain": "ñ\U0001f600", "\u2066key": "a\nb"}


def test_a_document_on_a_terminal_is_harmless(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control, bidirectional and invisible letters are escapes, which read back to the same."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    Session(as_json=True).print_json(HOSTILE)
    said = capsys.readouterr().out
    assert json.loads(said) == HOSTILE
    assert all(letter.isprintable() or letter == "\n" for letter in said)
    assert "ñ\U0001f600" in said


def test_a_document_for_a_program_is_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """One line."""
    Session(as_json=True).print_json(HOSTILE)
    said = capsys.readouterr().out
    assert (json.loads(said), said.count("\n")) == (HOSTILE, 1)
