"""`puntual serve` from its first line to its last, and the command line on the server that it is."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Cli, Process, eventually

EVERY_SECOND = """
owner: demo
schedules:
  echo:
    when: every 1s
    command: [/bin/echo, hello]
"""


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command line in a folder with a manifest that fires every second."""
    (tmp_path / "demo.yaml").write_text(EVERY_SECOND)
    return Cli(tmp_path, ALLOW_COMMANDS="/bin/echo,/bin/sleep", PORT="0", SHUTDOWN_GRACE="20s")


@pytest.fixture
def served(cli: Cli) -> Iterator[tuple[Process, dict[str, Any]]]:
    """A server on that manifest, and what it said of itself."""
    with cli.process("serve", "--apply", "demo.yaml", "--json") as process:
        yield process, json.loads(process.line())


def remote(cli: Cli, said: dict[str, Any]) -> Cli:
    """The command line on the server."""
    return Cli(cli.folder, SERVER=said["api"], TOKEN_FILE=said["token_file"])


def test_a_schedule_fires_and_its_run_succeeds(cli: Cli, served: tuple[Process, dict[str, Any]]) -> None:
    """From a manifest to a run that succeeded, seen from another process; the server ends cleanly."""
    process, said = served
    assert said["database"] == str(cli.folder / "puntual.db")
    assert [item["schedule"] for item in said["next"]] == ["echo"]
    (run, *_) = eventually(lambda: cli.ask("run", "list", "--schedule", "echo", "--state", "succeeded")["items"])
    assert cli.ask("run", "watch", run["id"])["attempts"][0]["outcome"] == "succeeded"
    assert cli.ask("ticks", "echo", "--fate", "ran")["items"]
    assert cli.ask("status")["ok"] is True
    process.signal()
    assert process.ended() == 0


def test_the_same_commands_work_on_the_server(cli: Cli, served: tuple[Process, dict[str, Any]]) -> None:
    """With PUNTUAL_SERVER and a token file the answers are those of the database."""
    over = remote(cli, served[1])
    assert over.ask("schedule", "show", "echo")["written"] == cli.ask("schedule", "show", "echo")["written"]
    made = over.ask("enqueue", "some.task", '{"n": 1}', "--delay", "1h", "--tag", "x")
    assert cli.ask("run", "show", made["id"])["args"] == {"n": 1}
    assert [run["id"] for run in over.ask("run", "list", "--task", "some.task", "--tag", "x")["items"]] == [made["id"]]
    assert over.ask("run", "edit", made["id"], "--priority", "high")["ids"] == [made["id"]]
    assert over.ask("run", "cancel", made["id"])["answers"] == {made["id"]: "cancelled"}
    assert over.ask("apply", "demo.yaml", "--dry-run", "--exit-code")["unchanged"] == ["echo"]
    assert over.ask("queue", "set", "mail", "--concurrency", "2")["concurrency"] == 2
    assert over.ask("schedule", "pause", "--all", "--reason", "audit")["all"]["reason"] == "audit"
    over.ask("schedule", "resume", "--all")
    assert over.ask("export") == cli.ask("export")
    assert over.ask("schedule", "next", "echo", "--count", "2")["fires"]
    assert over.ask("dead", "list") == {"items": [], "next_cursor": None}
    assert over.ask("doctor")["ok"] is True


def test_the_server_answers_errors_as_the_database_does(cli: Cli, served: tuple[Process, dict[str, Any]]) -> None:
    """Code, message, field and exit code are the same on both sides of the wire."""
    over = remote(cli, served[1])
    for words, code in (
        (("schedule", "show", "nope"), 1),
        (("run", "show", "nope"), 2),
        (("run", "list", "--since", "tomorrow"), 2),
        (("schedule", "add", "x", "--when", "61 * * * *", "--url", "https://example.com/"), 2),
        (("enqueue", "t", "--at", "yesterday"), 2),
        (("schedule", "trigger", "echo", "--args", "[]"), 2),
    ):
        assert over.ask(*words, code=code) == cli.ask(*words, code=code)


def test_without_a_token_the_server_opens_nothing(cli: Cli, served: tuple[Process, dict[str, Any]]) -> None:
    """The error says where the token belongs; a revoked one opens nothing either."""
    over = Cli(cli.folder, SERVER=served[1]["api"])
    error = over.ask("run", "list", code=1)["error"]
    assert (error["code"], "PUNTUAL_TOKEN_FILE" in error["hint"]) == ("unauthorized", True)
    made = cli.ask("token", "create", "--scope", "read")
    reader = Cli(cli.folder, SERVER=served[1]["api"], TOKEN=made["token"])
    reader.ask("run", "list")
    assert reader.ask("enqueue", "t", code=1)["error"]["code"] == "forbidden"
    cli.ask("token", "revoke", made["id"])
    assert eventually(lambda: reader.run("run", "list").code == 1)


def test_a_server_that_is_not_there_is_one_sentence(cli: Cli) -> None:
    """A refused connection names the address and the setting."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        answer = Cli(cli.folder, SERVER=address).run("run", "list")
    assert answer.code == 1
    assert answer.err.startswith(
        f"Error: The server {address} cannot be reached: connection refused.\nHint: PUNTUAL_SERVER"
    )


def test_what_needs_the_database_itself_says_so(cli: Cli) -> None:
    """A backup is made where the database is."""
    answer = Cli(cli.folder, SERVER="http://127.0.0.1:1").run("backup", "x.db")
    assert (answer.code, "not through a server" in answer.err) == (2, True)


def test_the_first_token_is_for_its_owner_only(cli: Cli, served: tuple[Process, dict[str, Any]]) -> None:
    """The banner names the file; nobody else may read it, and its text is never printed."""
    file = Path(served[1]["token_file"])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text().strip() not in json.dumps(served[1])


def test_the_banner_says_where_everything_is(cli: Cli) -> None:
    """People see the address, the token's file, the data and what fires next."""
    with cli.process("serve", "--apply", "demo.yaml") as process:
        process.line(holding="is running")
        lines = [process.line() for _ in range(5)]
    words = [line.split(maxsplit=1) for line in lines]
    assert [name for name, _ in words] == ["API", "token", "data", "roles", "next"]
    assert words[0][1].startswith("http://127.0.0.1:")
    assert words[4][1].startswith("echo ")


def test_the_json_log_says_the_same(cli: Cli) -> None:
    """With LOG_FORMAT=json standard output stays empty and each line of the log is JSON."""
    logging = Cli(cli.folder, ALLOW_COMMANDS="/bin/echo", PORT="0", LOG_FORMAT="json")
    with logging.process("serve", "--apply", "demo.yaml") as process:
        started = json.loads(process.line("err", holding="serve.started"))
        process.signal()
        assert process.ended() == 0
        assert process.child.stdout is not None
        assert process.child.stdout.read() == b""
    assert started["api"].startswith("http://127.0.0.1:")
    assert started["level"] == "info"


def test_the_first_signal_drains_and_says_what_it_waits_for(cli: Cli, served: tuple[Process, dict[str, Any]]) -> None:
    """A run under way is named, finishes, and only then does the server end."""
    process, _ = served
    run = cli.ask("enqueue", "command", json.dumps({"argv": ["/bin/sleep", "3"]}))["id"]
    eventually(lambda: cli.ask("run", "show", run)["state"] == "running")
    process.signal()
    assert run in process.line("err", holding="Stopping")
    assert process.ended() == 0
    assert cli.ask("run", "show", run)["state"] == "succeeded"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_the_second_signal_ends_it_at_once(
    cli: Cli, served: tuple[Process, dict[str, Any]], number: int, code: int
) -> None:
    """Whoever insists is obeyed; what ran is left for rescue."""
    process, _ = served
    run = cli.ask("enqueue", "command", json.dumps({"argv": ["/bin/sleep", "15"]}))["id"]
    eventually(lambda: cli.ask("run", "show", run)["state"] == "running")
    process.signal(number)
    process.line("err", holding="Stopping")
    process.signal(number)
    assert process.ended() == code


def test_a_port_in_use_is_one_sentence(cli: Cli) -> None:
    """The port is named, nothing was started, and the exit code says that the request was wrong."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        answer = cli.run("serve", "--port", port)
    assert (answer.code, answer.out) == (2, "")
    (sentence,) = [line for line in answer.err.splitlines() if line.startswith("Error:")]
    assert port in sentence


def test_a_manifest_that_is_wrong_keeps_the_server_from_starting(cli: Cli) -> None:
    """The faults are told and nothing is half applied."""
    (cli.folder / "bad.yaml").write_text("schedules: {a: {when: nonsense, task: t}}\n")
    answer = cli.run("serve", "--apply", "demo.yaml", "bad.yaml")
    assert (answer.code, "bad.yaml" in answer.err) == (2, True)
    assert cli.ask("schedule", "list")["items"] == []


@pytest.mark.parametrize("words", [("serve",), ("worker",), ("scheduler",), ("run", "list"), ("migrate",)])
def test_a_database_that_is_none_is_one_sentence(cli: Cli, words: tuple[str, ...]) -> None:
    """Exit code 1, the file is named, and there is no traceback."""
    (cli.folder / "puntual.db").write_bytes(b"this is no database" * 100)
    answer = cli.run(*words)
    assert (answer.code, answer.out, "Traceback" in answer.err) == (1, "", False)
    assert "puntual.db" in answer.err


def test_a_database_of_another_program_is_left_alone(cli: Cli) -> None:
    """It is refused in one sentence and not touched."""
    file = cli.folder / "puntual.db"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE theirs (x)")
    database.close()
    before = file.read_bytes()
    assert cli.run("serve").code == 1
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("settings", "name"),
    [({"PORT": "http"}, "PORT"), ({"LEASE_TTL": "soon"}, "LEASE_TTL"), ({"DATABASE_URL": "mysql://x"}, "DATABASE_URL")],
)
def test_a_wrong_setting_is_a_wrong_request(cli: Cli, settings: dict[str, str], name: str) -> None:
    """Exit code 2, and the setting is named."""
    error = Cli(cli.folder, **settings).ask("serve", code=2)["error"]
    assert (error["code"], name in error["message"]) == ("invalid_setting", True)


def test_a_terminal_that_interrupts_a_command_gets_no_traceback(cli: Cli) -> None:
    """Ctrl-C on a waiting command ends it with 130 and not a word."""
    run = cli.ask("enqueue", "t", "--delay", "1h")["id"]
    with cli.process("run", "watch", run) as process:
        process.line("err", holding="pending")
        os.kill(process.child.pid, signal.SIGINT)
        assert process.ended() == 130
        assert process.child.stderr is not None
        assert b"Traceback" not in process.child.stderr.read()
