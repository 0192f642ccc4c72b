"""The command line as a worker: what is due is executed once, dead runs are put back, lost ones go alone."""

from __future__ import annotations

import json
import sqlite3
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.cli import Cli, eventually

APP = """
import puntual

app = puntual.App()
not_an_app = 3


@app.task(name="add")
async def add(left: int, right: int) -> int:
    return left + right


@app.task(name="fail", max_attempts=1)
def fail() -> None:
    raise ValueError("no \\x1b[31mgood")
"""


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command line in a folder with an app of two tasks, where /bin/echo may run."""
    (tmp_path / "jobs.py").write_text(APP)
    return Cli(tmp_path, ALLOW_COMMANDS="/bin/echo")


def echo(cli: Cli, *words: str) -> str:
    """Asks for a run of /bin/echo; gives its id."""
    run = cli.ask("enqueue", "command", json.dumps({"argv": ["/bin/echo", "hello"]}), *words)
    assert isinstance(run["id"], str)
    return run["id"]


def test_once_executes_what_is_due_and_ends(cli: Cli) -> None:
    """What is due succeeds with its output kept, what is not due stays."""
    due, later = echo(cli), echo(cli, "--delay", "1h")
    assert cli.ask("worker", "--once") == {"taken": 1}
    shown = cli.ask("run", "show", due, "--output")
    assert (shown["state"], shown["response"]["body"]) == ("succeeded", "hello\n")
    assert cli.ask("run", "show", later)["state"] == "pending"


def test_once_takes_no_more_than_it_is_told(cli: Cli) -> None:
    """A limit on runs leaves the others pending."""
    for _ in range(3):
        echo(cli)
    assert cli.ask("worker", "--once", "--max-runs", "2") == {"taken": 2}
    assert len(cli.ask("run", "list", "--state", "pending")["items"]) == 1


def test_once_leaves_what_has_not_waited_long_enough(cli: Cli) -> None:
    """With an age, a run that just became due is somebody else's."""
    echo(cli)
    assert cli.ask("worker", "--once", "--older-than", "1h") == {"taken": 0}


def test_a_function_runs_with_its_arguments_checked(cli: Cli) -> None:
    """With the app named in the settings, wrong arguments are refused at once and right ones are executed."""
    known = Cli(cli.folder, APP="jobs:app")
    assert known.ask("enqueue", "add", '{"left": 1}', code=2)["error"]["message"]
    run = known.ask("enqueue", "add", '{"left": 1, "right": 2}')
    assert cli.ask("worker", "--app", "jobs:app", "--once") == {"taken": 1}
    assert cli.ask("run", "watch", run["id"])["result"] == 3


def test_a_dead_run_is_listed_put_back_and_discarded(cli: Cli) -> None:
    """Its error is shown harmlessly; replayed it keeps its id; discarded it is out of the list and kept in history."""
    run = Cli(cli.folder, APP="jobs:app").ask("enqueue", "fail")["id"]
    cli.ask("worker", "--app", "jobs:app", "--once")
    shown = cli.run("dead", "list").out
    assert "ValueError: no \\x1b[31mgood" in shown
    assert cli.ask("dead", "replay", run)["answers"] == {run: "replayed"}
    assert cli.ask("run", "show", run)["state"] == "pending"
    cli.ask("worker", "--app", "jobs:app", "--once")
    refused = cli.ask("dead", "discard", "--all", code=2)["error"]
    assert (refused["field"], "1 dead run" in refused["message"]) == ("--yes", True)
    assert cli.ask("dead", "discard", "--task", "fail", "--yes")["answers"] == {run: "discarded"}
    assert cli.ask("dead", "list")["items"] == []
    assert cli.ask("run", "show", run)["discarded_at"] is not None


def test_a_run_that_did_not_succeed_is_replayed_as_it_was_asked(cli: Cli) -> None:
    """A run that succeeded becomes a new one, which says whose replay it is."""
    old = echo(cli)
    cli.ask("worker", "--once")
    new = cli.ask("run", "replay", old)
    assert (new["id"] != old, new["replay_of"], new["origin"]) == (True, old, "replay")


def lose_twice(folder: Path, run: str) -> None:
    """Writes into a pending run that two workers died over it."""
    with sqlite3.connect(folder / "puntual.db") as database:
        database.execute("UPDATE runs SET lost = 2 WHERE id = ?", (run,))
    database.close()


def test_a_worker_of_its_own_takes_the_one_lost_run(cli: Cli) -> None:
    """The process for a run that was lost twice takes that run and nothing else."""
    innocent, lost = echo(cli), echo(cli)
    lose_twice(cli.folder, lost)
    assert cli.ask("worker", "--alone") == {"taken": 1}
    assert cli.ask("run", "show", lost)["state"] == "succeeded"
    assert cli.ask("run", "show", innocent)["state"] == "pending"


def test_many_lost_runs_go_through_one_process_one_after_another(cli: Cli) -> None:
    """A node that died may have left thousands of them; whatever one of them does, no other is under way."""
    lost = [echo(cli) for _ in range(5)]
    for run in lost:
        lose_twice(cli.folder, run)
    assert cli.ask("worker", "--alone") == {"taken": 5}
    attempts = sorted(
        (attempt["started_at"], attempt["finished_at"], attempt["worker"])
        for run in lost
        for attempt in cli.ask("run", "show", run)["attempts"]
    )
    assert len({worker for _, _, worker in attempts}) == 1
    assert all(earlier[1] <= later[0] for earlier, later in pairwise(attempts))


def test_a_worker_starts_a_process_for_a_lost_run(cli: Cli) -> None:
    """A run lost twice succeeds under another worker id than that of the worker which found it."""
    lost = echo(cli)
    lose_twice(cli.folder, lost)
    with cli.process("worker") as process:
        process.line(holding="The worker works on")
        run = eventually(lambda: cli.ask("run", "list", "--state", "succeeded")["items"])[0]
        (worker,) = [item["id"] for item in cli.ask("worker", "list")["items"] if item["pid"] == process.child.pid]
    assert run["id"] == lost
    assert run["attempts"][0]["worker"] != worker


def test_a_scheduler_plans_and_executes_nothing(cli: Cli) -> None:
    """Its ticks become runs that wait for a worker."""
    cli.ask(
        "schedule", "add", "tick", "--when", "every 1s", "--set", "overlap=allow_all", "--command", "--", "/bin/echo"
    )
    with cli.process("scheduler") as process:
        process.line(holding="The scheduler works on")
        runs = eventually(lambda: cli.ask("run", "list")["items"])
    assert {run["state"] for run in runs} == {"pending"}


@pytest.mark.parametrize(
    ("app", "why"),
    [
        ("nowhere:app", "no module 'nowhere'"),
        ("jobs:nothing", "jobs has no 'nothing'"),
        ("jobs:not_an_app", "is a int, not a puntual.App"),
        ("broken:app", "importing broken failed: ZeroDivisionError"),
        ("needs:app", "importing needs failed: ModuleNotFoundError: No module named 'absent'"),
        ("jobs", "MODULE:APP"),
    ],
)
def test_an_app_that_cannot_be_loaded_is_one_sentence(cli: Cli, app: str, why: str) -> None:
    """Whichever part of MODULE:APP is wrong is named, with exit code 2 and no traceback."""
    (cli.folder / "broken.py").write_text("x = 1 / 0\n")
    (cli.folder / "needs.py").write_text("import absent\n")
    answer = cli.run("worker", "--app", app)
    assert (answer.code, answer.out, "Traceback" in answer.err) == (2, "", False)
    assert why in answer.err
