"""What somebody sees who looks: pauses, empty lists, waits and local times."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command line in a folder with one schedule."""
    cli = Cli(tmp_path)
    words = ("schedule", "add", "report", "--when", "0 7 * * *", "--timezone", "Europe/Madrid")
    cli.ask(*words, "--url", "https://example.com/")
    return cli


@pytest.mark.parametrize(
    "words", ["schedule list", "schedule show report", "schedule next report", "schedule resume report", "status"]
)
def test_the_pause_of_everything_is_seen(cli: Cli, words: str) -> None:
    """Wherever schedules are looked at, with its reason."""
    cli.ask("schedule", "pause", "--all", "--for", "1h", "--reason", "moving house")
    shown = cli.run(*words.split()).out.lower()
    assert "everything is paused since" in shown
    assert "moving house" in shown
    if words != "status":
        assert "puntual schedule resume --all" in shown
    cli.ask("schedule", "resume", "--all")
    assert "everything is paused" not in cli.run(*words.split()).out.lower()


def test_rules_are_described_in_the_language_of_the_settings(cli: Cli) -> None:
    """In the list and on the page of a schedule."""
    for words in ("schedule list", "schedule show report"):
        shown = cli.run(*words.split(), env={"PUNTUAL_LANGUAGE": "es", "COLUMNS": "200"}).out
        assert "A las 07:00 todos los días (Europe/Madrid)" in shown, words


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("dead list", "Nothing is dead."),
        ("dead list --task x", "Nothing among these is dead."),
        ("run list", "No run yet. Try: puntual enqueue TASK"),
        ("run list --state dead", "There is no such run. Try: puntual run list"),
        ("ticks report", "No tick yet; the first is in "),
        ("ticks", "No tick yet: puntual schedule list shows what is to come."),
        ("ticks report --fate missed", "There is no such tick."),
        ("schedule list --owner nobody", "There is no such schedule. Try: puntual schedule list"),
    ],
)
def test_an_empty_list_says_what_it_means(cli: Cli, words: str, said: str) -> None:
    """And where there is one, the command that goes on."""
    answer = cli.run(*words.split())
    assert (answer.code, answer.out.startswith(said)) == (0, True), answer


def test_ticks_of_a_schedule_that_never_was(cli: Cli) -> None:
    """A misspelt name is no empty list."""
    answer = cli.run("ticks", "repport")
    assert (answer.code, answer.err.startswith("Error: There is no schedule 'repport'.")) == (1, True)


@pytest.mark.parametrize(
    "words", ["schedule list", "schedule show report", "schedule next report", "next @daily --timezone Europe/Madrid"]
)
def test_local_times_stand_beside_utc(cli: Cli, words: str) -> None:
    """On the clock of the schedule's zone, with its offset."""
    shown = cli.run(*words.split()).out
    hour = "00:00" if words.startswith("next") else "07:00"
    assert f" {hour} +0" in shown
    assert ":00 Europe/Madrid" in shown


def test_waiting_for_a_run_says_why_and_has_an_end(cli: Cli) -> None:
    """Without a worker nothing happens, and that is said."""
    answer = cli.run("schedule", "trigger", "report", "--wait", "--timeout", "1500ms")
    assert answer.code == 1
    assert "waiting: no worker is alive" in answer.err
    assert "had not ended after 1.5 s" in answer.err


def test_several_schedules_are_removed_or_none(cli: Cli) -> None:
    """A name that is wrong leaves the others as they are."""
    cli.ask("schedule", "add", "two", "--when", "@daily", "--url", "https://example.com/")
    assert cli.ask("schedule", "remove", "two", "nope", code=1)["error"]["code"] == "not_found"
    assert len(cli.ask("schedule", "list")["items"]) == 2
    assert [item["removed"] for item in cli.ask("schedule", "remove", "two", "report")["items"]] == ["two", "report"]
    assert cli.ask("schedule", "list")["items"] == []


def test_a_run_without_output_is_shown_with_a_line(cli: Cli) -> None:
    """`--output` of what kept nothing is no error."""
    run = cli.ask("enqueue", "t")["id"]
    answer = cli.run("run", "show", run, "--output")
    assert (answer.code, answer.out.endswith("No answer or output of it is kept.\n")) == (0, True)
    assert cli.ask("run", "show", run, "--output")["response"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["next", "*/5", "*", "*", "*", "*"], "quote it"),
        (["schedule", "add", "x", "--when", "0", "2", "*", "*", "*", "--url", "https://example.com/"], "is quoted"),
        (["token", "create"], "Choose from: read, operate, admin."),
    ],
)
def test_a_command_line_that_was_mistyped_says_how_it_is_typed(cli: Cli, words: list[str], said: str) -> None:
    """In one sentence."""
    answer = cli.run(*words)
    assert (answer.code, said in answer.err, "\\n" in answer.err) == (2, True, False)


def test_small_words_are_right(cli: Cli) -> None:
    """A run that nobody knows, a queue that is new, a run that is not due yet."""
    unknown = "0198c1f2-7d3a-7b0e-9c55-3f1d2a4b6c8d"
    assert cli.run("run", "cancel", unknown).out == f"There is no run '{unknown}'.\n"
    assert "It is a new queue" in cli.run("queue", "pause", "nope").out
    assert "It is a new queue" not in cli.run("queue", "pause", "nope").out
    assert "due in 1 second." in cli.run("enqueue", "t", "--delay", "1s").out
