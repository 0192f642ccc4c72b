"""``puntual simulate`` as a user meets it: what it says where every promise holds, and where an engine breaks one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import psutil
import pytest

from puntual.simulate.order import Order, Outcome, Wish
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
#: A seed in which that breaks a promise.
BREAKS = 4
#: Every number of seeds is judged by what did not happen in it.
STRICT = "from puntual.simulate import summary; summary.JUDGED = 1"
#: The first seed that loses the tail of its database says so, and goes no further.
STOPS = """
import signal, sys
from puntual.simulate.database import SqliteDatabase

keep = SqliteDatabase.keep

def keep_and_stop(self):
    keep(self)
    print("kept", file=sys.stderr, flush=True)
    signal.pause()

SqliteDatabase.keep = keep_and_stop
"""
#: A process that comes to the seed after that, or that is to make one small, ends at once; there is only one.
DIES = """
import os
from puntual.simulate import draw, pool

scenario = draw.scenario
pool.cores = lambda: 1
draw.scenario = lambda seed, **how: os._exit(7) if seed == 5 else scenario(seed, **how)
"""
DIES_SMALL = """
import os
from puntual.simulate import small

small.made_small = lambda *_: os._exit(7)
"""
KEYS = [
    *("first", "nodes", "seeds", "failures", "strikes", "visits", "never", "scant", "operations", "fewest"),
    *("seconds", "seeds_per_second", "story"),
]

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line in an empty folder; ten minutes of three nodes take longer than other commands."""
    monkeypatch.setattr(command_line, "PATIENCE", 150.0)
    return Cli(tmp_path)


def lived(seed: int, *, hashes: str) -> Outcome:
    """A seed's whole story from a process of its own, whose strings hash as they are told to."""
    done = subprocess.run(
        [sys.executable, "-m", "puntual.simulate.child"],
        input=msgspec.json.encode(Order(seed=seed, wish=Wish.STORY)),
        env={**os.environ, "PYTHONHASHSEED": hashes},
        capture_output=True,
        check=True,
    )
    return msgspec.json.decode(done.stdout, type=Outcome)


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
    assert reply["seeds_per_second"] > 0


def test_a_replay_is_the_same_in_every_process(cli: Cli) -> None:
    """Also where strings hash otherwise, so that sets have another order."""
    story = cli.run("--json", "simulate", "--seed", "7", "--story").json["story"]
    assert len(story) > 1000
    assert [lived(7, hashes=hashes).story for hashes in ("1", "2")] == [story, story]


def test_one_seed_that_holds_says_so(cli: Cli) -> None:
    """No tables, one verdict; and another number of nodes is another scenario."""
    answer = cli.run("simulate", "--seed", "1", "--nodes", "1")
    assert answer.code == 0, answer
    assert "Seed 1, 1 node on SQLite in memory" in answer.err
    assert "Every promise held in 1 seed." in answer.out
    assert "In seeds" not in answer.out


def test_without_a_first_seed_it_is_a_fresh_one(cli: Cli) -> None:
    """It is printed before anything else, so that a failure can be repeated."""
    replies = [cli.ask("simulate", "--seeds", "1") for _ in range(2)]
    assert replies[0]["first"] != replies[1]["first"]


def test_a_broken_engine_is_found(cli: Cli) -> None:
    """The promise, the sentence, the command that replays it, then what is left of the seed and its story."""
    answer = changed(cli, BROKEN).run("simulate", "--seeds", "2", "--first", str(BREAKS), "--tries", "1")
    assert answer.code == 1, answer
    assert f"Seed {BREAKS} broke G2 at " in answer.out
    assert f"  again: puntual simulate --seed {BREAKS} (trace " in answer.out
    assert f"The least of seed {BREAKS} that was found to break G2" in answer.out
    assert " BROKEN G2  " in answer.out
    assert answer.out.splitlines()[-1].endswith("of 2 seeds broke a promise.")


def test_a_failure_replays_to_the_same_trace(cli: Cli) -> None:
    """Once made small, once told in full, as JSON: seed, promise and trace are the same."""
    changed(cli, BROKEN)
    small = cli.ask("simulate", "--seed", str(BREAKS), "--tries", "1", code=1)
    told = cli.ask("simulate", "--seed", str(BREAKS), "--story", code=1)
    assert list(small["failures"][0]) == ["seed", "promise", "trace", "at", "what", "more"]
    assert small["failures"] == told["failures"]
    assert (small["shrunk"]["seed"], small["shrunk"]["tries"], small["story"]) == (BREAKS, 1, [])
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
        (("--seeds", "1" + 19 * "0"), "--seeds"),
        (("--seed", "1" + 19 * "0"), "--seed"),
        (("--nodes", "0"), "--nodes"),
        (("--database-url", "sqlite:///x.db"), "--database-url must be like postgresql://"),
    ],
)
def test_options_that_contradict_each_other_are_refused(cli: Cli, words: tuple[str, ...], said: str) -> None:
    """One sentence, exit 2, and nothing is simulated."""
    answer = cli.run("simulate", *words)
    assert answer.code == 2
    assert said in answer.err


def test_a_server_that_cannot_be_reached_is_named_without_a_traceback(cli: Cli) -> None:
    """Where the simulation cannot even begin, the reason stands there in a sentence."""
    ended = cli.run("simulate", "--seed", "1", "--database-url", "postgresql://someone@127.0.0.1:1/none")
    assert ended.code == 1
    assert "PostgreSQL at 127.0.0.1:1 cannot be reached" in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("dies", [DIES, DIES_SMALL], ids=["second seed", "making it small"])
def test_what_was_found_is_not_lost_with_a_process(cli: Cli, dies: str) -> None:
    """The failure and its command stand above the error, also beside JSON."""
    answer = changed(cli, BROKEN + dies).run("--json", "simulate", "--seeds", "2", "--first", str(BREAKS))
    assert answer.code == 1, answer
    assert f"Seed {BREAKS} broke G2 at " in answer.err
    assert f"  again: puntual simulate --seed {BREAKS} (trace " in answer.err
    assert "ended with 7, without an answer" in answer.json["error"]["message"]


def test_what_was_found_stands_there_before_it_is_made_small(cli: Cli) -> None:
    """That takes minutes, and whoever does not wait for it has the command all the same."""
    with changed(cli, BROKEN).process("simulate", "--seed", str(BREAKS), "--tries", "100000") as process:
        process.line("err", holding=f"  again: puntual simulate --seed {BREAKS} (trace ")
        process.signal(signal.SIGINT)
        assert process.ended() == 130


def test_ctrl_c_ends_it_and_leaves_nothing_behind(cli: Cli) -> None:
    """No process and no folder, in the middle of a seed that has one."""
    changed(cli, STOPS)
    places = cli.folder / "places"
    places.mkdir()
    cli.env["TMPDIR"] = str(places)
    with cli.process("simulate", "--seeds", "100000") as process:
        process.line("err", holding="kept")
        children = psutil.Process(process.child.pid).children(recursive=True)
        assert children
        assert list(places.glob("puntual-simulate-*"))
        process.signal(signal.SIGINT)
        assert process.ended() == 130
    assert not any(child.is_running() for child in children)
    assert list(places.iterdir()) == []
