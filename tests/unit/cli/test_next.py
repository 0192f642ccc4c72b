"""Tests of `puntual next`, which needs no database."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from puntual.cli.root import run


def answer(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    """The JSON answer of a command line that ends with that code."""
    assert run(["next", *words, "--json"]) == code
    return json.loads(capsys.readouterr().out)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings are the defaults, and whatever is written shows."""
    monkeypatch.chdir(tmp_path)


def test_a_rule_is_answered_with_fires_words_and_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    """The reply has the parts that its readers know."""
    reply = answer(
        capsys, "0 9 * * MON", "--timezone", "America/Bogota", "--after", "2026-03-01T00:00:00Z", "--count", "2"
    )
    assert reply["fires"] == ["2026-03-02T14:00:00Z", "2026-03-09T14:00:00Z"]
    assert set(reply) == {"fires", "description", "sentence", "rule", "warnings"}


def test_no_database_is_made(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A question about a rule leaves no file."""
    answer(capsys, "@daily")
    assert list(tmp_path.iterdir()) == []


def test_each_option_reaches_the_rule(capsys: pytest.CaptureFixture[str]) -> None:
    """Dialect, anchor and the policies of clock changes are those that were given."""
    seconds = answer(capsys, "30 0 9 * * *", "--dialect", "seconds", "--after", "2026-03-01T00:00:00Z", "--count", "1")
    assert seconds["fires"] == ["2026-03-01T09:00:30Z"]
    grid = answer(
        capsys, "every 55m", "--anchor", "2026-03-01T00:05:00Z", "--after", "2026-03-01T00:05:00Z", "--count", "1"
    )
    assert grid["fires"] == ["2026-03-01T01:00:00Z"]
    folded = ("30 1 * * *", "--timezone", "Europe/Madrid", "--after", "2026-10-24T23:00:00Z", "--count", "2")
    both = answer(capsys, "30 2 * * *", *folded[1:], "--dst-fold", "both")
    assert both["fires"] == ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("61 * * * *",), "invalid_rule"),
        (("* * * * * *",), "invalid_rule"),
        (("@daily", "--timezone", "Nowhere/Land"), "invalid_zone"),
        (("@daily", "--after", "2026-03-01T00:00:00"), "invalid_instant"),
        (("@daily", "--count", "0"), "usage"),
        (("@daily", "--dialect", "sundial"), "usage"),
        ((), "usage"),
    ],
)
def test_a_wrong_request_is_told_and_ends_with_two(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: str
) -> None:
    """The error's code says what kind it is."""
    assert answer(capsys, *words, code=2)["error"]["code"] == code


def test_the_column_of_a_fault_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """An editor can point at it."""
    assert answer(capsys, "0 25 * * *", code=2)["error"]["column"] == 3


def test_people_see_the_place_of_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    """A caret beneath the rule, where it was refused, letters with combining accents counted once."""
    assert run(["next", "cada sa\u0301bado a las 25:00"]) == 2
    rule, caret, sentence = capsys.readouterr().err.splitlines()
    assert rule == "  cada sa\u0301bado a las 25:00"
    assert caret == " " * 20 + "^"
    assert sentence.startswith("Error: 25:00 is no time of day")


def test_people_get_the_words_first(capsys: pytest.CaptureFixture[str]) -> None:
    """A sentence, then one line for each fire with its distance."""
    assert run(["next", "*/5 * * * *", "--count", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Every 5 minutes (UTC)"
    assert len(lines) == 3
    assert "  in " in lines[2]


def test_each_tick_is_told_in_utc_on_its_clock_and_how_far_away_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """What is far away is told in days: its date stands there already."""
    assert run(["next", "0 0 29 2 *", "--timezone", "Europe/Madrid", "--count", "1"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert re.fullmatch(r"  \S+T23:00:00Z  \S+-02-29 00:00 \+01:00 Europe/Madrid  in [\d,]+ days?", last)


def test_refusals_and_warnings_are_in_the_language_of_the_request(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of --lang, else that of the setting."""
    assert "no se usa en frases" in answer(capsys, "cada viernez a las 9", "--lang", "es", code=2)["error"]["message"]
    monkeypatch.setenv("PUNTUAL_LANGUAGE", "es")
    assert "is not within 0-59" in answer(capsys, "61 * * * *", "--lang", "en", code=2)["error"]["message"]
    assert answer(capsys, "61 * * * *", code=2)["error"]["message"] == "minuto: 61 no está entre 0 y 59"
    assert answer(capsys, "0 9 31 * *", "--timezone", "UTC")["warnings"] == [
        "se saltan los meses sin día 31; L es el último día de cada mes"
    ]


def test_a_phrase_is_read_in_its_language_and_described_in_that_of_the_settings(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--lang`` declares it; what is shown follows ``LANGUAGE`` where nothing is declared."""
    monkeypatch.setenv("PUNTUAL_LANGUAGE", "en")
    reply = answer(capsys, "cada lunes a las 9", "--timezone", "UTC", "--after", "2026-01-01T00:00:00Z", "--count", "1")
    assert (reply["fires"], reply["description"]) == (["2026-01-05T09:00:00Z"], "At 09:00 on Monday (UTC)")
    assert answer(capsys, "cada lunes a las 9", "--lang", "es")["description"] == reply["sentence"]["es"]
    monkeypatch.setenv("PUNTUAL_LANGUAGE", "es")
    assert run(["next", "every monday at 9", "--count", "1"]) == 0
    assert capsys.readouterr().out.startswith("A las 09:00 los lunes (UTC)\n")


def test_a_phrase_in_another_language_than_declared_is_a_wrong_request(capsys: pytest.CaptureFixture[str]) -> None:
    """And told so."""
    error = answer(capsys, "cada lunes a las 9", "--lang", "en", "--dialect", "phrase", code=2)["error"]
    assert (error["code"], error["column"], error["hint"]) == ("invalid_rule", 1, "It can be read with lang: es.")


BATCH = [{"id": 1, "expr": "@daily", "count": 1, "after": "2026-03-01T00:00:00Z"}, {"id": "b", "expr": "61 * * * *"}]


def test_a_batch_answers_each_item(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A bad item has its error, the others their fires, and the exit code is 0."""
    Path(tmp_path, "batch.json").write_text(json.dumps(BATCH))
    good, bad = answer(capsys, "--batch", "batch.json")
    assert good == {"id": 1, "fires": ["2026-03-02T00:00:00Z"]}
    assert (bad["id"], bad["error"]["code"]) == ("b", "invalid_rule")


def test_a_batch_may_come_through_a_pipe(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` is standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(BATCH).encode())))
    assert len(answer(capsys, "--batch", "-")) == 2


@pytest.mark.parametrize("text", ["", "{", '{"id": 1}'])
def test_a_batch_that_is_none_is_a_wrong_request(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str) -> None:
    """A file that is no list of items is told as a whole."""
    Path(tmp_path, "batch.json").write_text(text)
    assert answer(capsys, "--batch", "batch.json", code=2)["error"]["code"] == "invalid"


def test_a_batch_that_is_not_there_is_a_wrong_request(capsys: pytest.CaptureFixture[str]) -> None:
    """The file is named."""
    assert "absent.json" in answer(capsys, "--batch", "absent.json", code=2)["error"]["message"]
