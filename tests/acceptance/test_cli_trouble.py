"""The command line where its surroundings are broken: one sentence and an exit code, never a trace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.cli import PATIENCE, Cli

WORDS = [("schema",), ("--help",), ("--version",), ("--json", "queue", "list"), ("--json", "schedule", "show", "nope")]


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command line in a folder with a database."""
    cli = Cli(tmp_path)
    cli.ask("migrate")
    return cli


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("into", [">/dev/full", ">&-"])
def test_an_answer_that_cannot_be_written_is_told(cli: Cli, words: tuple[str, ...], into: str) -> None:
    """A full disk and a closed output: one sentence on standard error, exit 1."""
    command = ["sh", "-c", f'exec "$@" {into}', "sh", sys.executable, "-m", "puntual", *words]
    done = subprocess.run(
        command, cwd=cli.folder, env=cli.env, stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Error: Standard output cannot be written: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [("migrate",), ("migrate", "--check"), ("status",), ("doctor",)])
@pytest.mark.parametrize("place", ["loop", "pipe", "folder", "garbage"])
def test_a_place_that_holds_no_database_is_one_sentence(cli: Cli, words: tuple[str, ...], place: str) -> None:
    """Nothing hangs on it, and nothing of it is changed."""
    path = cli.folder / place
    if place == "loop":
        path.symlink_to("other")
        (cli.folder / "other").symlink_to(place)
    elif place == "pipe":
        os.mkfifo(path)
    elif place == "folder":
        path.mkdir()
    else:
        path.write_text("garbage")
    answer = cli.run(*words, env={"PUNTUAL_DATABASE_URL": f"sqlite:///{place}"})
    assert answer.code == 1
    assert place in answer.out + answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize("target", ["/", "."])
def test_a_backup_is_a_file(cli: Cli, target: str) -> None:
    """A folder is refused with a name that would do."""
    error = cli.ask("backup", target, code=1)["error"]
    assert (error["code"], "puntual-backup.db" in error["message"]) == ("conflict", True)


@pytest.mark.parametrize("server", ["http://[::1", "http://[:::]:1", "http://host:99999"])
def test_an_address_that_is_none_is_a_wrong_setting(cli: Cli, server: str) -> None:
    """It names the setting."""
    answer = cli.run("status", env={"PUNTUAL_SERVER": server})
    assert (answer.code, "PUNTUAL_SERVER" in answer.err, "Traceback" in answer.err) == (2, True, False)


@pytest.mark.parametrize(
    ("variable", "value"), [("PUNTUAL_TIMEZONE", "Madrid"), ("PUNTUAL_PORT", "99999"), ("PUNTUAL_LOG_LEVEL", "loud")]
)
def test_a_setting_that_is_wrong_is_named_as_it_is_typed(cli: Cli, variable: str, value: str) -> None:
    """With the value and what would be right."""
    answer = cli.run("next", "@daily", env={variable: value})
    assert (answer.code, variable in answer.err, value in answer.err) == (2, True, True)


def test_a_setting_that_is_misspelt_is_told_once(cli: Cli) -> None:
    """On standard error, by every command that reads settings; the answer is what it would be."""
    for words in (("queue", "list"), ("next", "@daily"), ("--json", "run", "list")):
        answer = cli.run(*words, env={"PUNTUAL_TIMEZON": "UTC"})
        assert answer.code == 0
        assert answer.err.count("PUNTUAL_TIMEZON is no setting of puntual; the nearest one is PUNTUAL_TIMEZONE") == 1


class Stranger(BaseHTTPRequestHandler):
    """Answers everything with an object that says nothing."""

    body = b"{}"

    def handle_one_request(self) -> None:
        """Answers, whatever is asked."""
        self.raw_requestline = self.rfile.readline(65537)
        self.close_connection = True
        if not self.raw_requestline or not self.parse_request():
            return
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *args: object) -> None:
        """Stays quiet."""


@contextmanager
def stranger(body: bytes) -> Iterator[str]:
    """The address of a server that is no puntual and answers everything so."""
    handler = type("Handler", (Stranger,), {"body": body})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


COMMANDS = ["status", "schedule list", "schedule remove x", "run list", "enqueue t", "export"]


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize("body", [b"{}", b'{"ok": true}'])
def test_another_programs_answer_is_no_success(cli: Cli, words: str, body: bytes) -> None:
    """What is missing in it is told as that, without a trace."""
    with stranger(body) as address:
        answer = cli.run(*words.split(), env={"PUNTUAL_SERVER": address})
    assert (answer.code, answer.out, "Traceback" in answer.err) == (1, "", False)
    assert address in answer.err


@pytest.mark.parametrize("words", COMMANDS)
def test_an_empty_answer_is_one_document_of_an_error(cli: Cli, words: str) -> None:
    """With --json an answer is handed on as it is, but an empty one is none."""
    with stranger(b"{}") as address:
        answer = cli.run("--json", *words.split(), env={"PUNTUAL_SERVER": address})
    assert (answer.code, json.loads(answer.out)["error"]["code"]) == (1, "store_unavailable")
