"""Tests of `puntual.logs`: one place, one format, standard error only."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Iterator

import pytest
import structlog

from puntual import logs
from puntual.settings import load_settings


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """The logs of other tests are as they were."""
    root = logging.getLogger()
    kept, handlers, level = structlog.get_config(), root.handlers[:], root.level
    yield
    structlog.configure(**kept)
    root.handlers[:] = handlers
    root.setLevel(level)


def test_a_line_of_the_json_log_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    """Time, level, event and whatever was said of it; standard output stays free."""
    logs.configure(load_settings({"PUNTUAL_LOG_FORMAT": "json"}))
    structlog.get_logger("x").info("serve.started", api="http://127.0.0.1:1")
    said = capsys.readouterr()
    line = json.loads(said.err)
    assert (line["event"], line["level"], line["api"], said.out) == ("serve.started", "info", "http://127.0.0.1:1", "")
    assert line["timestamp"].endswith("Z")


def test_a_line_for_people_holds_no_words_of_python(capsys: pytest.CaptureFixture[str]) -> None:
    """Lists are written as people write them, and what is not there is left out."""
    logs.configure(load_settings({}))
    structlog.get_logger("x").info("worker.started", roles=["scheduler", "worker"], queues=None)
    said = capsys.readouterr().err
    assert "roles='scheduler, worker'" in said
    assert "queues" not in said


def test_an_error_of_the_json_log_keeps_its_trace_in_the_object(capsys: pytest.CaptureFixture[str]) -> None:
    """A traceback never breaks the one object a line."""
    logs.configure(load_settings({"PUNTUAL_LOG_FORMAT": "json"}))
    try:
        _ = 1 / 0
    except ZeroDivisionError:
        structlog.get_logger("x").exception("loop.failed")
    (line,) = capsys.readouterr().err.splitlines()
    assert "ZeroDivisionError" in json.dumps(json.loads(line)["exception"])


def test_the_level_of_the_settings_holds(capsys: pytest.CaptureFixture[str]) -> None:
    """What is below it is not written."""
    logs.configure(load_settings({"PUNTUAL_LOG_LEVEL": "error"}))
    structlog.get_logger("x").warning("quiet")
    structlog.get_logger("x").error("loud")
    said = capsys.readouterr().err
    assert ("quiet" in said, "loud" in said) == (False, True)


def test_a_command_that_answers_logs_only_what_should_worry(capsys: pytest.CaptureFixture[str]) -> None:
    """Its standard error is for the user's eyes."""
    logs.quiet(load_settings({"PUNTUAL_LOG_LEVEL": "debug"}))
    structlog.get_logger("x").info("store.opened")
    assert capsys.readouterr().err == ""


def test_what_libraries_log_takes_the_same_way(capsys: pytest.CaptureFixture[str]) -> None:
    """The server's own warnings are lines of the same log."""
    logs.configure(load_settings({"PUNTUAL_LOG_FORMAT": "json"}))
    logging.getLogger("uvicorn.error").warning("slow %s", "client")
    logging.getLogger("uvicorn.error").info("not this")
    line = json.loads(capsys.readouterr().err)
    assert (line["event"], line["logger"], line["level"]) == ("slow client", "uvicorn.error", "warning")


@pytest.mark.parametrize("name", ["console", "json"])
def test_a_trace_tells_where_and_not_what_was_there(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """The values of local variables are no log's business, and the error's text is harmless."""
    logs.configure(load_settings({"PUNTUAL_LOG_FORMAT": name}))
    password = "hunter" + "2"
    try:
        raise_with(len(password), "bad \x1b[31m")
    except ValueError:
        structlog.get_logger("x").exception("loop.failed")
    said = capsys.readouterr().err
    assert ("raise_with" in said, "hunter2" in said, "\x1b" in said) == (True, False, False)


def raise_with(length: int, text: str) -> None:
    """An error with that text."""
    raise ValueError(f"{text} {length}")


@pytest.mark.parametrize("name", ["console", "json"])
def test_a_hostile_value_does_not_reach_the_terminal(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Names and errors of others are written out; no line is forged."""
    logs.configure(load_settings({"PUNTUAL_LOG_FORMAT": name}))
    structlog.get_logger("x").warning("run.failed", error="a\x1b[31m\nforged")
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert len(said.splitlines()) == 1


def test_what_lies_deep_is_harmless_too(capsys: pytest.CaptureFixture[str]) -> None:
    """Texts in lists and mappings, and their keys."""
    logs.configure(load_settings({"PUNTUAL_LOG_FORMAT": "console"}))
    structlog.get_logger("x").warning("run.failed", rows=[{"a\x1b[31m": ("\u202eb", 1)}])
    said = capsys.readouterr().err
    assert not {"\x1b", "\u202e"} & set(said)
    assert "1" in said


def test_a_record_that_cannot_be_written_is_no_error_of_its_caller(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library that logs nonsense goes on; logging tells of it as the standard library does."""
    logs.configure(load_settings({}))
    monkeypatch.setattr(logging, "raiseExceptions", False)
    logging.getLogger("lib").warning("%d items", "many")
    assert "many" not in capsys.readouterr().out


def test_a_stream_that_is_gone_is_no_error_of_its_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logging never stops what is logged about."""

    def gone(*_args: object) -> None:
        raise BrokenPipeError

    logs.configure(load_settings({}))
    monkeypatch.setattr(logging, "raiseExceptions", False)
    monkeypatch.setattr(structlog, "get_logger", gone)
    logging.getLogger("lib").warning("still there")


@pytest.mark.parametrize("name", ["console", "json"])
def test_a_line_that_cannot_be_written_is_nobodys_error(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Neither a reader that has gone nor a value whose text cannot be had stops who logs."""

    class Broken:
        def __repr__(self) -> str:
            raise ZeroDivisionError

    class Gone(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    logs.configure(load_settings({"PUNTUAL_LOG_FORMAT": name}))
    structlog.get_logger("x").info("odd", value=Broken())
    monkeypatch.setattr(sys, "stderr", Gone())
    structlog.get_logger("x").info("lost")
