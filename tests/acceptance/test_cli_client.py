"""The command line on a database: each command as a process, its answer and its exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import Cli

MANIFEST = """
owner: billing
queues: {nightly: {concurrency: 2}}
schedules:
  report:
    when: "0 2 * * 1-5"
    timezone: America/Bogota
    http: {url: "https://example.com/report"}
    queue: nightly
    tags: [finance]
"""


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command line in an empty folder."""
    return Cli(tmp_path)


def test_a_schedule_added_by_flags_says_how_it_was_read(cli: Cli) -> None:
    """Adding answers with the rule in words and the next five fires, and the list has it."""
    answer = cli.run("schedule", "add", "ping", "--when", "*/5 * * * *", "--url", "https://example.com/ping")
    lines = answer.out.splitlines()
    assert answer.code == 0
    assert lines[:2] == ["ping does GET https://example.com/ping", "Every 5 minutes (UTC)"]
    assert lines[2].startswith("Warning: no worker is alive")
    assert len(lines) == 8
    assert [item["name"] for item in cli.ask("schedule", "list")["items"]] == ["ping"]


def test_flags_reach_every_key_of_a_manifest(cli: Cli) -> None:
    """What has no flag of its own is set by its path, decoded where it is JSON."""
    shown = cli.ask(
        *(
            "schedule",
            "add",
            "ping",
            "--when",
            "@daily",
            "--timezone",
            "Europe/Madrid",
            "--url",
            "https://example.com/",
        ),
        *("--method", "POST", "--header", "X-One: a: b", "--json-body", '{"n": 1}'),
        *("--set", "retry.max_attempts=3", "--set", "tags=[a, b]", "--set", "description=true story"),
    )
    args = shown["target"]["args"]
    assert (args["method"], args["headers"], args["json"]) == ("POST", {"X-One": "a: b"}, {"n": 1})
    assert (shown["retry"]["max_attempts"], shown["tags"], shown["description"]) == (3, ["a", "b"], "true story")
    assert shown["timezone"] == "Europe/Madrid"
    assert len(shown["fires"]) == 5


def test_the_program_after_the_dashes_keeps_its_options(cli: Cli) -> None:
    """Whatever follows -- belongs to the program, `--json` included."""
    shown = cli.ask("schedule", "add", "echo", "--when", "@hourly", "--command", "--", "/bin/echo", "--json")
    assert shown["target"] == {"task": "command", "args": {"argv": ["/bin/echo", "--json"]}}


def test_what_nobody_chose_stands_apart_as_a_default(cli: Cli) -> None:
    """`schedule show` has what was set first, and what is only usual in one block at the end."""
    cli.ask(
        "schedule", "add", "ping", "--when", "@daily", "--url", "https://example.com/", "--set", "overlap=allow_all"
    )
    lines = cli.run("schedule", "show", "ping").out.splitlines()
    found = [line.split() for line in lines if line.startswith(("overlap", "queue", "Nobody"))]
    assert [found[0], found[1][0], found[2]] == [["overlap", "allow_all"], "Nobody", ["queue", "default"]]


def test_apply_creates_then_finds_nothing_to_do(cli: Cli) -> None:
    """A manifest applied twice changes nothing the second time, and a dry run says so by its exit code."""
    Path(cli.folder, "billing.yaml").write_text(MANIFEST)
    cli.ask("migrate")
    assert cli.ask("apply", "billing.yaml", "--dry-run", "--exit-code", code=3)["created"] == ["report"]
    assert cli.ask("schedule", "list")["items"] == []
    assert cli.ask("apply", "billing.yaml")["created"] == ["report"]
    again = cli.ask("apply", "billing.yaml", "--dry-run", "--exit-code")
    assert (again["unchanged"], again["changes"]) == (["report"], [])


def test_apply_reads_standard_input_and_folders(cli: Cli) -> None:
    """A manifest may come through a pipe, and a folder is all the manifests in it."""
    assert cli.ask("apply", "-", stdin=MANIFEST)["created"] == ["report"]
    Path(cli.folder, "more").mkdir()
    Path(cli.folder, "more", "one.json").write_text(
        json.dumps({"schedules": {"one": {"when": "@daily", "http": {"url": "https://example.com/"}}}})
    )
    assert cli.ask("apply", "more")["created"] == ["one"]


def test_pruning_asks_and_without_a_terminal_refuses(cli: Cli) -> None:
    """Nothing is removed without a word from somebody."""
    cli.ask("apply", "-", stdin=MANIFEST)
    empty = "owner: billing\nschedules: {}\n"
    refused = cli.ask("apply", "-", "--prune", stdin=empty, code=2)["error"]
    assert (refused["field"], "report" in refused["message"]) == ("--yes", True)
    assert cli.ask("apply", "-", "--prune", "--yes", stdin=empty)["removed"] == ["report"]


def test_another_owners_schedule_is_left_alone(cli: Cli) -> None:
    """Writing it needs --take; without it the operation fails and nothing changes."""
    cli.ask("apply", "-", stdin=MANIFEST)
    other = MANIFEST.replace("billing", "sales")
    assert cli.ask("apply", "-", stdin=other, code=1)["error"]["code"] == "forbidden"
    assert cli.ask("apply", "-", "--take", stdin=other)["changed"] == ["report"]


def test_every_fault_of_a_manifest_is_told_with_its_place(cli: Cli) -> None:
    """Two wrong keys are two sentences with file and line, exit code 2, and nothing is written."""
    Path(cli.folder, "bad.yaml").write_text("schedules:\n  a: {wen: x, task: t}\n  b: {when: '61 * * * *', task: t}\n")
    answer = cli.run("apply", "bad.yaml")
    assert answer.code == 2
    assert "bad.yaml:2" in answer.err
    assert "bad.yaml:3" in answer.err
    assert "Traceback" not in answer.err
    assert len(cli.ask("apply", "bad.yaml", code=2)["error"]["errors"]) >= 2


def test_export_is_taken_back_by_apply(cli: Cli) -> None:
    """What `export` prints, `apply` reads to the same schedules."""
    cli.ask("apply", "-", stdin=MANIFEST)
    exported = cli.run("export").out
    assert exported == cli.ask("export")["manifest"]
    assert cli.ask("apply", "-", "--dry-run", "--exit-code", stdin=exported)["unchanged"] == ["report"]


def test_a_schedule_is_paused_resumed_and_removed(cli: Cli) -> None:
    """Each change shows in the schedule at once."""
    cli.ask("apply", "-", stdin=MANIFEST)
    cli.ask("schedule", "pause", "--tag", "finance", "--for", "2h", "--reason", "audit")
    paused = cli.ask("schedule", "show", "report")
    assert (paused["paused"], paused["pause_reason"], paused["paused_until"] is not None) == (True, "audit", True)
    cli.ask("schedule", "resume", "report")
    assert cli.ask("schedule", "show", "report")["paused"] is False
    assert len(cli.ask("schedule", "next", "report", "--count", "3")["fires"]) == 3
    cli.ask("schedule", "remove", "report")
    assert cli.ask("schedule", "show", "report", code=1)["error"]["code"] == "not_found"


def test_a_trigger_makes_one_run(cli: Cli) -> None:
    """A run by hand is listed with its origin and its schedule."""
    cli.ask("apply", "-", stdin=MANIFEST)
    made = cli.ask("schedule", "trigger", "report")
    assert [run["id"] for run in cli.ask("run", "list", "--origin", "trigger", "--schedule", "report")["items"]] == [
        made["id"]
    ]
    assert cli.ask("schedule", "trigger", "report", code=1)["error"]["code"] == "conflict"
    cli.ask("schedule", "trigger", "report", "--overlap", "allow_all")


def test_a_run_is_enqueued_edited_and_cancelled(cli: Cli) -> None:
    """A pending run can be moved and ended; a unique key is held by one run at a time."""
    made = cli.ask("enqueue", "mail.send", '{"to": "ana"}', "--delay", "1h", "--queue", "mail", "--unique-key", "k")
    assert (made["state"], made["args"], made["queue"]) == ("pending", {"to": "ana"}, "mail")
    again = cli.ask("enqueue", "mail.send", '{"to": "ana"}', "--unique-key", "k")
    assert (again["id"], again["existing"]) == (made["id"], True)
    assert cli.ask("run", "edit", "--in-queue", "mail", "--priority", "high", "--queue", "slow")["ids"] == [made["id"]]
    edited = cli.ask("run", "show", made["id"])
    assert (edited["priority"], edited["queue"]) == ("high", "slow")
    assert cli.ask("run", "cancel", made["id"])["answers"] == {made["id"]: "cancelled"}
    assert cli.ask("run", "watch", made["id"], code=1)["state"] == "cancelled"


def test_lists_page_through_everything_once(cli: Cli) -> None:
    """Following next_cursor gives each run once."""
    made = {cli.ask("enqueue", "t")["id"] for _ in range(3)}
    first = cli.ask("run", "list", "--limit", "2")
    rest = cli.ask("run", "list", "--limit", "2", "--cursor", first["next_cursor"])
    seen = [run["id"] for page in (first, rest) for run in page["items"]]
    assert (len(seen), set(seen), rest["next_cursor"]) == (3, made, None)


def test_a_queue_is_limited_paused_and_resumed(cli: Cli) -> None:
    """Its settings are what the list shows."""
    assert cli.ask("queue", "set", "mail", "--concurrency", "3")["concurrency"] == 3
    assert cli.ask("queue", "pause", "mail", "--reason", "down")["pause_reason"] == "down"
    assert [(item["name"], item["paused"]) for item in cli.ask("queue", "list")["items"]] == [("mail", True)]
    assert cli.ask("queue", "resume", "mail")["paused"] is False
    assert cli.ask("queue", "set", "mail", "--concurrency", "none")["concurrency"] is None


def test_a_token_is_shown_once(cli: Cli) -> None:
    """Only the answer that made it has its text; a revoked one is gone."""
    made = cli.ask("token", "create", "--scope", "read", "--name", "grafana", "--expires", "30d")
    assert made["token"].startswith("ptl_")
    listed = cli.run("token", "list", "--json").out
    assert made["token"] not in listed
    cli.ask("token", "revoke", made["id"])
    assert cli.ask("token", "list")["items"] == []


def test_a_backup_is_a_database_and_overwrites_nothing(cli: Cli) -> None:
    """The copy opens by itself; a second one to the same place is refused."""
    cli.ask("enqueue", "t")
    copy = cli.ask("backup", "copy.db")
    assert copy == {"path": str(cli.folder / "copy.db"), "bytes": (cli.folder / "copy.db").stat().st_size}
    there = Cli(cli.folder, DATABASE_URL="sqlite:///copy.db")
    assert len(there.ask("run", "list")["items"]) == 1
    assert cli.ask("backup", "copy.db", code=1)["error"]["code"] == "conflict"


def test_migrate_check_changes_nothing(cli: Cli) -> None:
    """A new folder has everything to be done; looking makes no file, doing it leaves nothing."""
    assert cli.ask("migrate", "--check", code=1)["pending"] >= 1
    assert not (cli.folder / "puntual.db").exists()
    cli.ask("migrate")
    assert cli.ask("migrate", "--check")["pending"] == 0


def test_doctor_finds_a_token_that_others_can_read(cli: Cli) -> None:
    """A healthy installation passes; a token file with a loose mode does not."""
    good = cli.ask("doctor")
    assert {"name": "HOST", "value": "127.0.0.1", "source": "default"} in good["settings"]
    token = cli.folder / "puntual.token"
    token.write_text("ptl_x")
    token.chmod(0o644)
    bad = cli.ask("doctor", code=1)
    assert [check["name"] for check in bad["checks"] if not check["ok"]] == ["permissions"]


def test_doctor_says_who_else_can_read_the_database(cli: Cli) -> None:
    """Which is no fault, and each thing is told once."""
    cli.ask("migrate")
    (cli.folder / "puntual.db").chmod(0o644)
    checks = cli.ask("doctor")["checks"]
    (said,) = [check["text"] for check in checks if check["name"] == "permissions"]
    assert "others on this machine can read the arguments" in said
    assert len({check["name"] for check in checks}) == len(checks)


def test_status_is_bad_while_nobody_works(cli: Cli) -> None:
    """The first thing it says is one sentence, and its exit code tells whether all is well."""
    cli.ask("migrate")
    assert "no worker is alive" in cli.ask("status", code=1)["sentence"].lower()


def test_schema_is_a_json_schema(cli: Cli) -> None:
    """It is JSON with or without the flag."""
    assert json.loads(cli.run("schema").out) == cli.ask("schema")


def test_empty_lists_teach_the_next_command(cli: Cli) -> None:
    """Whoever starts from nothing is told how to go on."""
    cli.ask("migrate")
    said = [
        cli.run(*words).out for words in (("schedule", "list"), ("run", "list"), ("worker", "list"), ("queue", "list"))
    ]
    assert all("Try: puntual " in out for out in said), said


def test_a_hostile_name_does_not_reach_the_terminal(cli: Cli) -> None:
    """What others wrote to turn the line round is shown as text."""
    cli.ask("enqueue", "t", '{"name": "\u202eexe.tx\\u001b[31m"}')
    run = cli.ask("run", "list")["items"][0]
    shown = cli.run("run", "show", run["id"]).out
    assert not {"\x1b", "\u202e"} & set(shown)
    assert "\\u202eexe.tx\\u001b[31m" in shown


@pytest.mark.parametrize("settings", [{}, {"NO_COLOR": "1"}])
def test_what_is_piped_is_plain(cli: Cli, settings: dict[str, str]) -> None:
    """No escape codes and no wrapped lines where no terminal is."""
    cli.ask("enqueue", "a" * 150)
    answer = cli.run("run", "list", env=settings)
    assert "\x1b" not in answer.out
    assert "a" * 150 in answer.out


def test_a_reader_that_leaves_is_no_error(cli: Cli) -> None:
    """`puntual ... | head` ends quietly."""
    read, write = os.pipe()
    os.close(read)
    with subprocess.Popen(
        [sys.executable, "-m", "puntual", "schema"], cwd=cli.folder, env=cli.env, stdout=write, stderr=subprocess.PIPE
    ) as child:
        os.close(write)
        _, err = child.communicate()
    assert (child.returncode, err) == (1, b"")


def test_a_figure_is_measured_beside_the_machines_facts(cli: Cli) -> None:
    """Each result has name, value and unit; nothing stays behind, and an unknown name is a wrong request."""
    measured = cli.ask("bench", "next_per_second", "--quick")
    assert [(row["name"], row["unit"], row["value"] > 0) for row in measured["results"]] == [
        ("next_per_second", "per second", True)
    ]
    assert list(cli.folder.iterdir()) == []
    assert cli.ask("bench", "nothing", code=2)["error"]["code"] == "invalid"


def test_the_settings_file_is_read(cli: Cli) -> None:
    """`puntual.toml` in the working folder counts, and `doctor` says that a value is from there."""
    (cli.folder / "puntual.toml").write_text('timezone = "Europe/Madrid"\n')
    assert cli.ask("next", "@daily")["rule"]["timezone"] == "Europe/Madrid"
    rows = {row["name"]: row for row in cli.ask("doctor")["settings"]}
    assert "puntual.toml" in rows["TIMEZONE"]["source"]
