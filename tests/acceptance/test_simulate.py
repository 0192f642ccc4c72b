"""``puntual simulate`` as a user meets it: what it says where every promise holds, and where an engine breaks one."""

from __future__ import annotations

import signal
import tempfile
from pathlib import Path

import psutil
import pytest

from tests.support import cli as command_line
from tests.support.cli import Cli

#: An engine that forgets to charge what a killed process had started, in each process that is started.
BROKEN = """
from puntual.engine.upkeep import rescue
from puntual.model.transitions import release

def decide(run, outcome, *, cancel_requested, now, random):
    return release(run, cancel_requested=cancel_requested, now=now)

rescue.decide = decide
"""
#: Every number of seeds is judged by what did not happen in it.
STRICT = "from puntual.simulate import summary; summary.JUDGED = 1"
KEYS = ["first", "nodes", "seeds", "failures", "strikes", "visits", "never", "operations", "fewest", "seconds", "story"]

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line in an empty folder; ten minutes of three nodes take longer than other commands."""
    monkeypatch.setattr(command_line, "PATIENCE", 150.0)
    return Cli(tmp_path)


def changed(cli: Cli, code: str) -> Cli:
    """The command line with another engine."""
    folder = cli.folder / "changed"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(code, encoding="utf-8")
    cli.env["PYTHONPATH"] = str(folder)
    return cli


def test_seeds_in_which_every_promise_holds(cli: Cli) -> None:
    """It exits 0, with everything that happened counted, and touches no database."""
    answer = cli.run("simulate", "--seeds", "2", "--first", "1")
    assert answer.code == 0, answer
    assert "2 seeds from 1 on" in answer.err
    assert answer.out.splitlines()[-1] == "Every promise held in 2 seeds."
    assert "running → succeeded (succeeded)" in answer.out
    assert list(cli.folder.iterdir()) == []


def test_its_answer_as_json(cli: Cli) -> None:
    """The shape that programs read; each seed has many operations and at least a few faults."""
    reply = cli.ask("simulate", "--seeds", "1", "--first", "2")
    assert list(reply) == [*KEYS, "shrunk"]
    assert (reply["first"], reply["nodes"], reply["seeds"]) == (2, 3, 1)
    assert (reply["failures"], reply["never"], reply["shrunk"], reply["story"]) == ([], [], None, [])
    assert sum(reply["strikes"].values()) == reply["fewest"]["strikes"] > 0
    assert reply["operations"] == reply["fewest"]["operations"] > 500


def test_a_replay_is_the_same_in_every_process(cli: Cli) -> None:
    """Whatever the environment says of hashes."""
    stories = []
    for hashes in ("1", "2"):
        cli.env["PYTHONHASHSEED"] = hashes
        stories.append(cli.ask("simulate", "--seed", "7", "--story")["story"])
    assert len(stories[0]) > 1000
    assert stories[0] == stories[1]


def test_one_seed_that_holds_says_so(cli: Cli) -> None:
    """No tables, one verdict; and another number of nodes is another scenario."""
    answer = cli.run("simulate", "--seed", "1", "--nodes", "1")
    assert answer.code == 0, answer
    assert "Seed 1, 1 node" in answer.err
    assert "Every promise held in 1 seed." in answer.out
    assert "In seeds" not in answer.out


def test_without_a_first_seed_it_is_a_fresh_one(cli: Cli) -> None:
    """It is printed before anything else, so that a failure can be repeated."""
    replies = [cli.ask("simulate", "--seeds", "1") for _ in range(2)]
    assert replies[0]["first"] != replies[1]["first"]


def test_a_broken_engine_is_found(cli: Cli) -> None:
    """The promise, the sentence, the command that replays it, then what is left of the seed and its story."""
    answer = changed(cli, BROKEN).run("simulate", "--seeds", "2", "--first", "1", "--tries", "1")
    assert answer.code == 1, answer
    assert "Seed 1 broke G2 at " in answer.out
    assert "  again: puntual simulate --seed 1 (trace " in answer.out
    assert "The least of seed 1 that was found to break G2" in answer.out
    assert " BROKEN G2  " in answer.out
    assert answer.out.splitlines()[-1].endswith("of 2 seeds broke a promise.")


def test_a_failure_replays_to_the_same_trace(cli: Cli) -> None:
    """Once made small, once told in full, as JSON: seed, promise and trace are the same."""
    changed(cli, BROKEN)
    small = cli.ask("simulate", "--seed", "1", "--tries", "1", code=1)
    told = cli.ask("simulate", "--seed", "1", "--story", code=1)
    assert list(small["failures"][0]) == ["seed", "promise", "trace", "at", "what", "more"]
    assert small["failures"] == told["failures"]
    assert (small["shrunk"]["seed"], small["shrunk"]["tries"], small["story"]) == (1, 1, [])
    assert any(" BROKEN G2 " in line for line in small["shrunk"]["story"])
    assert told["shrunk"] is None
    assert any(" BROKEN G2 " in line for line in told["story"])
    assert len(told["story"]) > 1000 > len(small["shrunk"]["story"])


def test_what_never_happened_fails_the_command(cli: Cli) -> None:
    """In enough seeds every fault and every transition comes; one that does not is named."""
    answer = changed(cli, STRICT).run("simulate", "--seeds", "1", "--first", "1")
    assert answer.code == 1, answer
    assert answer.out.splitlines()[-1].startswith("Never happened in 1 seed, so nothing is proven of it: ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--seed", "1", "--seeds", "5"), "leave out --seeds and --first"),
        (("--seed", "1", "--first", "5"), "leave out --seeds and --first"),
        (("--story",), "say which with --seed"),
        (("--seeds", "0"), "--seeds"),
        (("--nodes", "0"), "--nodes"),
    ],
)
def test_options_that_contradict_each_other_are_refused(cli: Cli, words: tuple[str, ...], said: str) -> None:
    """One sentence, exit 2, and nothing is simulated."""
    answer = cli.run("simulate", *words)
    assert answer.code == 2
    assert said in answer.err


def test_ctrl_c_ends_it_and_leaves_nothing_behind(cli: Cli) -> None:
    """No process and no folder."""
    cli.env["TMPDIR"] = str(cli.folder)
    before = set(Path(tempfile.gettempdir()).glob("puntual-simulate-*"))
    with cli.process("simulate", "--seeds", "100000") as process:
        process.line("err", holding="100,000 seeds")
        children = psutil.Process(process.child.pid).children(recursive=True)
        process.signal(signal.SIGINT)
        assert process.ended() == 130
    assert not any(child.is_running() for child in children)
    assert set(Path(tempfile.gettempdir()).glob("puntual-simulate-*")) == before
