"""Several processes under one supervisor: they share the work, what dies comes back, and all of them drain."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.cli import Cli, Process, eventually
from tests.support.processes import gone

APP = """
import os
import puntual

app = puntual.App()


@app.task(name="leave", max_attempts=1)
def leave() -> None:
    os._exit(0)
"""


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command line where leases are short, and a stop leaves no time for what runs."""
    (tmp_path / "jobs.py").write_text(APP)
    made = Cli(tmp_path, ALLOW_COMMANDS="/bin/sh,/bin/true", PORT="0", LEASE_TTL="1s", SHUTDOWN_GRACE="0s")
    made.ask("migrate")
    return made


def members(process: Process) -> list[psutil.Process]:
    """The processes that a supervisor keeps."""
    return psutil.Process(process.child.pid).children()


def workers(cli: Cli) -> dict[int, dict[str, Any]]:
    """Those that live, by their process."""
    return {item["pid"]: item for item in cli.ask("worker", "list")["items"] if not item["overdue"]}


def all_up(cli: Cli, process: Process, number: int) -> dict[int, dict[str, Any]]:
    """So many workers, once they are the ones that the supervisor keeps."""

    def look() -> dict[int, dict[str, Any]] | None:
        found = workers(cli)
        return found if len(found) == number and found.keys() == {each.pid for each in members(process)} else None

    found = eventually(look)
    assert isinstance(found, dict)
    return found


def gated(cli: Cli) -> str:
    """A run of a command that ends when there is a file ``go``; gives its id."""
    argv = ["/bin/sh", "-c", "until test -e go; do sleep 0.05; done"]
    run = cli.ask("enqueue", "command", json.dumps({"argv": argv}))["id"]
    assert isinstance(run, str)
    return run


def waiting(cli: Cli) -> str:
    """The same, once it runs."""
    run = gated(cli)
    eventually(lambda: cli.ask("run", "show", run)["state"] == "running")
    return run


def test_one_process_serves_the_api_and_all_of_them_work(cli: Cli) -> None:
    """There is one address; every process plans and executes; one SIGTERM ends all of it, cleanly."""
    with cli.process("serve", "--processes", "3", "--json") as process:
        said = json.loads(process.line())
        found = all_up(cli, process, 3)
        assert {tuple(worker["roles"]) for worker in found.values()} == {("scheduler", "worker")}
        over = Cli(cli.folder, SERVER=said["api"], TOKEN_FILE=said["token_file"])
        assert {item["pid"] for item in over.ask("worker", "list")["items"]} == found.keys()
        kept = members(process)
        listening = [each for each in kept if [line for line in each.net_connections("tcp") if line.status == "LISTEN"]]
        assert listening == kept[:1]
        process.signal()
        assert process.ended() == 0
        assert gone(kept)
    assert workers(cli) == {}


def test_the_supervisor_is_small(cli: Cli) -> None:
    """It takes far less memory than what it keeps."""
    with cli.process("serve", "--processes", "1", "--json") as process:
        process.line()
        (server,) = members(process)
        assert psutil.Process(process.child.pid).memory_info().rss < server.memory_info().rss * 0.7


def test_a_process_that_is_killed_comes_back(cli: Cli) -> None:
    """As another one; the others are left alone, and each line of the log says whose it is."""
    with cli.process("worker", "--processes", "2", "--queues", "mail") as process:
        before = all_up(cli, process, 2)
        killed, kept = members(process)
        killed.kill()
        assert "signal=SIGKILL" in process.line("err", holding="supervisor.restarts")
        after = all_up(cli, process, 2)
        assert kept.pid in after
        assert killed.pid not in after
        assert all(worker["queues"] == ["mail"] for worker in after.values())
        (new,) = after.keys() - before.keys()
        assert f"worker={after[new]['id']}" in process.line("err", holding="worker.started")


def test_a_handler_that_ends_its_process_ends_no_worker_for_good(cli: Cli) -> None:
    """Even with the exit code of one that drained."""
    known = Cli(cli.folder, APP="jobs:app")
    with cli.process("worker", "--processes", "1", "--app", "jobs:app") as process:
        all_up(cli, process, 1)
        known.ask("enqueue", "leave")
        assert "code=0" in process.line("err", holding="supervisor.restarts")
        all_up(cli, process, 1)


def test_a_wrong_configuration_is_said_once_and_ends_all(cli: Cli) -> None:
    """Nothing is tried again."""
    answer = cli.run("worker", "--processes", "3", "--app", "nowhere:app")
    assert answer.code == 2
    assert answer.err.count("Error: The app cannot be loaded: there is no module 'nowhere'.") == 1
    assert answer.err.count("supervisor.started") == 1


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("serve", "--processes", "2", "--roles", "api"), "only one process serves the API"),
        (("worker", "--processes", "0"), "not in the range"),
        (("worker", "--processes", "2", "--max-runs", "3"), "need --once"),
        (("worker", "--processes", "2", "--concurrency", "0"), "CONCURRENCY"),
    ],
)
def test_what_makes_no_sense_starts_nothing(cli: Cli, words: tuple[str, ...], why: str) -> None:
    """The supervisor reads the command line and the settings before it starts anything."""
    answer = cli.run(*words)
    assert (answer.code, why in answer.err, "supervisor" in answer.err) == (2, True, False)


def test_manifests_are_applied_once(cli: Cli) -> None:
    """What was changed since is not set back because the process that applied them died."""
    (cli.folder / "jobs.yaml").write_text("schedules: {one: {when: '@daily', timezone: UTC, task: some.task}}\n")
    with cli.process("serve", "--processes", "1", "--apply", "jobs.yaml") as process:
        process.line(holding="is running")
        cli.ask("schedule", "remove", "one")
        members(process)[0].kill()
        process.line("err", holding="supervisor.restarts")
        process.line("err", holding="serve.started")
        assert cli.ask("schedule", "list")["items"] == []


def test_once_in_several_processes_answers_once(cli: Cli) -> None:
    """They end by themselves, and what they took is added up."""
    for _ in range(5):
        cli.ask("enqueue", "command", '{"argv": ["/bin/true"]}')
    assert cli.ask("worker", "--once", "--processes", "2") == {"taken": 5}
    assert len(cli.ask("run", "list", "--state", "succeeded")["items"]) == 5


def test_a_supervisor_that_is_killed_leaves_nothing_behind(cli: Cli) -> None:
    """What it kept drains by itself."""
    with cli.process("serve", "--processes", "2", "--json") as process:
        process.line()
        all_up(cli, process, 2)
        kept = members(process)
        process.signal(signal.SIGKILL)
        assert process.ended() == -signal.SIGKILL
        assert gone(kept)
    # They said goodbye: nobody has to find out.
    assert workers(cli) == {}


def test_a_service_manager_may_signal_every_process(cli: Cli) -> None:
    """One SIGTERM for each, beside what the supervisor passes on, is one wish: what runs is waited for."""
    patient = Cli(cli.folder, ALLOW_COMMANDS="/bin/sh", SHUTDOWN_GRACE="1h")
    with patient.process("worker", "--processes", "2") as process:
        all_up(cli, process, 2)
        run = waiting(cli)
        process.signal()
        process.line("err", holding="Stopping: waiting")
        for each in members(process):
            each.terminate()
        (cli.folder / "go").touch()
        assert process.ended() == 0
    shown = cli.ask("run", "show", run)
    assert (shown["state"], shown["attempt"]) == ("succeeded", 1)


def test_a_second_signal_ends_all_at_once(cli: Cli) -> None:
    """Nobody waits for what runs; the exit code is the one that shells expect."""
    patient = Cli(cli.folder, ALLOW_COMMANDS="/bin/sh", SHUTDOWN_GRACE="1h")
    with patient.process("worker", "--processes", "2") as process:
        all_up(cli, process, 2)
        waiting(cli)
        kept = members(process)
        process.signal(signal.SIGINT)
        process.line("err", holding="Stopping: waiting")
        process.signal(signal.SIGINT)
        assert process.ended() == 130
        assert gone(kept)


def test_a_worker_that_is_drained_finishes_takes_nothing_and_ends(cli: Cli) -> None:
    """However short the grace of a stop is; its supervisor does not start it again, and ends with the last."""
    with cli.process("worker", "--processes", "2", "--concurrency", "1") as process:
        found = all_up(cli, process, 2)
        run = waiting(cli)
        (worker,) = eventually(lambda: [item["id"] for item in workers(cli).values() if item["held"]])
        assert cli.ask("worker", "drain", worker) == {"id": worker, "draining": True}
        listed = {item["id"]: item for item in cli.ask("worker", "list")["items"]}
        assert (listed[worker]["draining"], listed[worker]["held"]) == (True, 1)
        others = [cli.ask("enqueue", "command", '{"argv": ["/bin/true"]}')["id"] for _ in range(2)]
        takers = {cli.ask("run", "watch", each)["attempts"][0]["worker"] for each in others}
        (cli.folder / "go").touch()
        process.line("err", holding="supervisor.drained")
        shown = cli.ask("run", "show", run)
        assert (shown["state"], shown["attempt"]) == ("succeeded", 1)
        (left,) = workers(cli).values()
        assert takers == {left["id"]} == {item["id"] for item in found.values()} - {worker}
        cli.ask("worker", "drain", left["id"])
        assert process.ended() == 0


def test_a_worker_that_is_drained_once_it_began_leaves_the_rest(cli: Cli) -> None:
    """One that would end by itself ends all the same, and says what it took."""
    run = gated(cli)
    with cli.process("worker", "--once", "--concurrency", "1", "--json") as process:
        (worker,) = eventually(lambda: [item for item in workers(cli).values() if item["held"]])
        left = cli.ask("enqueue", "command", '{"argv": ["/bin/true"]}')["id"]
        cli.ask("worker", "drain", worker["id"])
        seen = workers(cli)[worker["pid"]]["seen_at"]
        # A heartbeat from now on brings it the wish.
        eventually(lambda: workers(cli)[worker["pid"]]["seen_at"] != seen)
        (cli.folder / "go").touch()
        assert json.loads(process.line()) == {"taken": 1}
        assert process.ended() == 0
    assert [cli.ask("run", "show", each)["state"] for each in (run, left)] == ["succeeded", "pending"]


def test_a_process_with_the_api_goes_on_serving_when_it_is_drained(cli: Cli) -> None:
    """Only its worker is at rest."""
    with cli.process("serve", "--json") as process:
        said = json.loads(process.line())
        (worker,) = cli.ask("worker", "list")["items"]
        over = Cli(cli.folder, SERVER=said["api"], TOKEN_FILE=said["token_file"])
        assert over.ask("worker", "drain", worker["id"])["draining"] is True
        run = cli.ask("enqueue", "command", '{"argv": ["/bin/true"]}')["id"]
        cli.ask("worker", "--once")
        assert cli.ask("run", "show", run)["attempts"][0]["worker"] != worker["id"]
        assert over.ask("worker", "list")["items"][0]["draining"] is True


def test_a_scheduler_that_is_drained_ends(cli: Cli) -> None:
    """It holds nothing, so that is at once."""
    with cli.process("scheduler") as process:
        process.line(holding="The scheduler works on")
        (worker,) = cli.ask("worker", "list")["items"]
        assert worker["roles"] == ["scheduler"]
        cli.ask("worker", "drain", worker["id"])
        assert process.ended() == 0


def test_an_id_that_is_not_there_names_near_ones(cli: Cli) -> None:
    """An id is long, and anew at each start."""
    with cli.process("worker") as process:
        process.line(holding="The worker works on")
        (worker,) = cli.ask("worker", "list")["items"]
        error = cli.ask("worker", "drain", worker["id"][:-4], code=1)["error"]
        assert error["code"] == "not_found"
        assert error["hint"] == f"Near it is: {worker['id']}."
        assert "hint" not in cli.ask("worker", "drain", "!", code=1)["error"]
        shown = cli.run("worker", "list").out
        assert str(process.child.pid) in shown
