"""Where a command finds no database it says so: only what writes something of its own makes one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import Cli

MANIFEST = "schedules:\n  one: {when: '@daily', http: {url: 'https://example.com/'}}\n"


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command line in an empty folder."""
    return Cli(tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        "status",
        "schedule list",
        "schedule show one",
        "schedule remove one",
        "schedule pause --all",
        "ticks",
        "run list",
        "run cancel 0198c1f2-7d3a-7b0e-9c55-3f1d2a4b6c8d",
        "dead list",
        "queue list",
        "worker list",
        "token list",
        "export",
        "backup copy.db",
    ],
)
def test_whoever_looks_in_the_wrong_folder_is_told(cli: Cli, words: str) -> None:
    """One sentence with the path and what makes a database, exit 1, and the folder stays empty."""
    error = cli.ask(*words.split(), code=1)["error"]
    assert error["code"] == "store_unusable"
    assert str(cli.folder / "puntual.db") in error["message"]
    assert "puntual serve" in error["message"]
    assert list(cli.folder.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ("enqueue", "t"),
        ("schedule", "add", "one", "--when", "@daily", "--url", "https://example.com/"),
        ("queue", "set", "mail", "--concurrency", "3"),
        ("token", "create", "--scope", "read"),
        ("worker", "--once"),
        ("migrate",),
    ],
)
def test_whoever_writes_makes_one(cli: Cli, words: tuple[str, ...]) -> None:
    """What is asked for lasts, so that it has to have a place."""
    cli.ask(*words)
    assert (cli.folder / "puntual.db").exists()
    assert cli.ask("run", "list")["next_cursor"] is None


def test_a_dry_run_leaves_no_database_behind(cli: Cli) -> None:
    """It tells what would be created, and creates nothing."""
    assert cli.ask("apply", "-", "--dry-run", stdin=MANIFEST)["created"] == ["one"]
    assert list(cli.folder.iterdir()) == []
    assert cli.ask("apply", "-", stdin=MANIFEST)["created"] == ["one"]


def test_doctor_in_an_empty_folder_warns(cli: Cli) -> None:
    """Nothing is broken yet, and nothing is made."""
    checks = {check["name"]: check for check in cli.ask("doctor")["checks"]}
    assert (checks["database"]["level"], checks["database"]["ok"]) == ("warning", True)
    assert list(cli.folder.iterdir()) == []


LOUD = """
import os, sys
import puntual

print("importing")
os.write(1, b"raw\\n")
app = puntual.App()


@app.task(name="loud")
def loud() -> None:
    print("handling")
    os.write(1, b"raw\\n")
"""


@pytest.mark.parametrize("words", [("enqueue", "loud"), ("worker", "--once")])
def test_what_an_app_prints_is_no_part_of_the_document(cli: Cli, words: tuple[str, ...]) -> None:
    """With --json, standard output is one document; what apps and handlers print goes to the other stream."""
    (cli.folder / "loud.py").write_text(LOUD)
    env = {"PUNTUAL_APP": "loud:app"}
    cli.run("enqueue", "loud", env=env)
    answer = cli.run("--json", *words, env=env)
    assert answer.code == 0
    assert isinstance(json.loads(answer.out), dict)
    assert answer.err.count("importing") == 1
    assert answer.err.count("handling") == (words[0] == "worker")


def test_an_app_that_cannot_be_imported_is_one_document_too(cli: Cli) -> None:
    """The error is the document, whatever was printed before it."""
    (cli.folder / "bad.py").write_text("print('hello')\nraise ValueError('no')\n")
    answer = cli.run("--json", "enqueue", "t", env={"PUNTUAL_APP": "bad:app"})
    assert (answer.code, json.loads(answer.out)["error"]["code"]) == (2, "invalid_setting")


@pytest.mark.parametrize("number", ["9" * 5_000, "0", "-1", "1e3", "٣"])
def test_a_number_that_is_none_is_one_sentence(cli: Cli, number: str) -> None:
    """However long it is."""
    error = cli.ask("queue", "set", "mail", f"--concurrency={number}", code=2)["error"]
    assert error["field"] == "--concurrency"
    assert len(error["message"]) < 200
