"""Tests of `puntual.cli.failure`: what is raised becomes an exit code and a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable

import click
import pytest

from puntual.cli.failure import answer_of, json_asked
from puntual.cli.session import Session
from puntual.manifest import ManifestErrors
from puntual.model.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    InvalidManifestError,
    InvalidRuleError,
    NotFoundError,
    PuntualError,
    StoreUnusableError,
    TaskUnknownError,
    UnauthorizedError,
)


def raising(error: BaseException) -> Callable[[], object]:
    """A command that does nothing else."""

    def command() -> object:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidError("x"), 2),
        (InvalidRuleError("x"), 2),
        (click.UsageError("x"), 2),
        (NotFoundError("x"), 1),
        (ConflictError("x"), 1),
        (ForbiddenError("x"), 1),
        (UnauthorizedError("x"), 1),
        (TaskUnknownError("x"), 1),
        (StoreUnusableError("x"), 1),
        (PuntualError("x"), 1),
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
        (ZeroDivisionError("x"), 1),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_each_kind_of_error_has_its_exit_code(error: BaseException, code: int, as_json: bool) -> None:  # noqa: FBT001 - a parameter
    """2 for a wrong request, 1 for an operation that failed, 130 for an interruption."""
    assert answer_of(raising(error), Session(as_json=as_json)) == code


def test_what_the_command_returns_is_its_exit_code() -> None:
    """A command that failed without an error says so by a number, and nothing means that it is done."""
    assert [answer_of(lambda: 3, Session()), answer_of(lambda: None, Session())] == [3, 0]


def test_an_error_is_one_json_document(capsys: pytest.CaptureFixture[str]) -> None:
    """With `--json` the error stands on standard output with all that is known of it."""
    error = InvalidRuleError("minute: 61 is not within 0-59", hint="Use 0 to 59.", column=1)
    answer_of(raising(error), Session(as_json=True))
    said = capsys.readouterr()
    assert json.loads(said.out) == {
        "error": {
            "code": "invalid_rule",
            "message": "minute: 61 is not within 0-59",
            "hint": "Use 0 to 59.",
            "column": 1,
        }
    }
    assert said.err == ""


def test_an_error_is_a_sentence_and_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    """People get two lines on standard error, and nothing on standard output."""
    answer_of(raising(ConflictError("It is taken.", hint="Take another.")), Session())
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "Error: It is taken.\nHint: Take another.\n")


def test_every_fault_of_a_manifest_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """A manifest with two faults gets two sentences."""
    answer_of(raising(ManifestErrors([InvalidManifestError("one"), InvalidManifestError("two")])), Session())
    assert capsys.readouterr().err == "Error: one\nError: two\n"


def test_a_hostile_message_is_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    """An error that repeats a name does not let the name speak to the terminal."""
    answer_of(raising(NotFoundError("no \x1b[2J")), Session())
    assert "\x1b" not in capsys.readouterr().err


def test_a_bug_is_told_as_one_with_its_trace_aside(capsys: pytest.CaptureFixture[str]) -> None:
    """What nobody foresaw keeps the promise of one JSON document, and its trace goes to standard error."""
    answer_of(raising(ZeroDivisionError("oh")), Session(as_json=True))
    said = capsys.readouterr()
    assert json.loads(said.out)["error"]["code"] == "internal"
    assert "Traceback" in said.err


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["run", "list", "--json"], True),
        (["run", "list"], False),
        (["schedule", "add", "--command", "--", "--json"], False),
    ],
)
def test_whether_json_is_asked_is_known_before_the_words_are_read(words: list[str], asked: bool) -> None:  # noqa: FBT001 - a parameter
    """An unknown option is answered in JSON too; what belongs to a program after -- does not count."""
    assert json_asked(words) is asked
