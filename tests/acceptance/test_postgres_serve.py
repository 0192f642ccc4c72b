"""The product on PostgreSQL as a user meets it: migrate, serve, enqueue, look; and what each says when it cannot."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.support.cli import Cli, eventually
from tests.support.databases import database, server
from tests.support.postgres import free_port

EVERY_SECOND = """
owner: demo
schedules:
  echo:
    when: every 1s
    command: [/bin/echo, hello]
"""


@pytest.fixture(scope="module", autouse=True)
def _server() -> None:
    """The server outlives every test here, so it is there before the first one is watched for leaks."""
    server()


def with_password(url: str) -> str:
    """The same, with a password that nobody asks for and nobody may show."""
    return url.replace("postgres@", "postgres:hunter2@")


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    """The command line in a folder with a manifest that fires every second, on an empty database."""
    (tmp_path / "demo.yaml").write_text(EVERY_SECOND)
    made = database(migrated=False)
    with asyncio.Runner() as runner:
        url = with_password(runner.run(made.__aenter__()))
        try:
            yield Cli(
                tmp_path,
                DATABASE_URL=url,
                ALLOW_COMMANDS="/bin/echo",
                PORT="0",
                SHUTDOWN_GRACE="20s",
                LOG_FORMAT="json",
            )
        finally:
            runner.run(made.__aexit__(None, None, None))


def test_from_nothing_to_a_run_that_succeeded(cli: Cli) -> None:
    """Migrate and serve; schedules, enqueues and questions come from other processes. No password is shown."""
    assert cli.ask("migrate", "--check", code=1)["pending"] > 0
    migrated = cli.ask("migrate")
    assert migrated["done"]
    assert cli.ask("migrate", "--check")["pending"] == 0
    with cli.process("serve", "--apply", "demo.yaml", "--json") as process:
        said: dict[str, Any] = json.loads(process.line())
        (run, *_) = eventually(lambda: cli.ask("run", "list", "--schedule", "echo", "--state", "succeeded")["items"])
        assert cli.ask("run", "show", run["id"])["attempts"][0]["outcome"] == "succeeded"
        run_id = cli.ask("enqueue", "command", '{"argv": ["/bin/echo", "hi"]}')["id"]
        assert cli.ask("run", "watch", run_id)["state"] == "succeeded"
        token = cli.ask("token", "create", "--scope", "admin")["token"]
        there = Cli(cli.folder, SERVER=said["api"], TOKEN=token)
        assert there.ask("status")["ok"] is True
        doctor = cli.run("--json", "doctor")
        # The servers of tests are quick, not durable.
        assert {check["name"] for check in doctor.json["checks"] if not check["ok"]} <= {"durability"}
        names = [check["name"] for check in doctor.json["checks"]]
        assert len(set(names)) == len(names)
        process.signal()
        assert process.ended() == 0
    assert said["token_file"] is None
    shown = [doctor.out, doctor.err, json.dumps(said), json.dumps(migrated)]
    assert not any("hunter2" in text for text in shown)
    assert all("postgres:***@127.0.0.1" in text for text in (doctor.out, said["database"]))


@pytest.mark.parametrize("words", [["serve"], ["worker"], ["scheduler"], ["status"], ["enqueue", "t"]])
def test_a_database_that_was_not_migrated_names_the_command(cli: Cli, words: list[str]) -> None:
    """Nothing but `puntual migrate` changes a schema that many share."""
    answer = cli.run(*words)
    assert answer.code == 1
    assert answer.err.count("\n") == 1
    assert "has no schema of puntual yet: `puntual migrate` makes it" in answer.err


def test_a_newer_schema_is_refused_in_one_sentence(cli: Cli) -> None:
    """By whatever command."""
    cli.ask("migrate")

    async def newer() -> None:
        connection = await asyncpg.connect(cli.env["PUNTUAL_DATABASE_URL"])
        await connection.execute("INSERT INTO puntual.schema_migrations VALUES (999, 'newer', 'x', 999, 0)")
        await connection.close()

    asyncio.run(newer())
    for words in (["serve"], ["migrate"], ["migrate", "--check"], ["status"]):
        answer = cli.run(*words)
        assert answer.code == 1
        assert "has schema 999, which works with schema 999 or newer" in answer.err
        assert answer.err.count("\n") == 1


def test_doctor_says_what_keeps_it_from_the_database(cli: Cli) -> None:
    """As one finding among others, and without the password."""
    url = f"postgresql://ana:hunter2@127.0.0.1:{free_port()}/jobs"
    answer = cli.run("doctor", env={"PUNTUAL_DATABASE_URL": url})
    assert answer.code == 1
    assert "cannot be reached" in answer.out
    assert "hunter2" not in answer.out + answer.err


@pytest.mark.parametrize("words", [["serve"], ["migrate"], ["run", "list"]])
def test_a_missing_database_is_one_sentence(cli: Cli, words: list[str]) -> None:
    """Which names what makes one."""
    answer = cli.run(*words, env={"PUNTUAL_DATABASE_URL": cli.env["PUNTUAL_DATABASE_URL"] + "_nowhere"})
    assert answer.code == 1
    assert "`createdb " in answer.err
    assert answer.err.count("\n") == 1
    assert "hunter2" not in answer.out + answer.err


def test_a_backup_is_for_the_servers_own_tools(cli: Cli) -> None:
    """The sentence names one."""
    answer = cli.run("backup", "copy.db")
    assert answer.code == 2
    assert "pg_dump" in answer.err
