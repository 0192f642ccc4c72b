"""Tests of replays: one scenario has one story, whatever process tells it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec

from puntual.simulate.draw import scenario
from puntual.simulate.scenario import Scenario
from puntual.simulate.simulation import simulate
from tests.unit.simulate.worlds import quiet

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = """
import sys
import msgspec, structlog
structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
from tests.unit.simulate.test_replay import minute
from puntual.simulate.simulation import simulate
result = simulate(minute(int(sys.argv[1])))
print(result.trace, result.operations, sorted(result.strikes.items()))
"""


def minute(seed: int) -> Scenario:
    """The first minutes of a seed, strikes and acts and all."""
    drawn = scenario(seed)
    return msgspec.structs.replace(
        drawn,
        seconds=120.0,
        acts=tuple(act for act in drawn.acts if act.at < 120),
        strikes=tuple(strike for strike in drawn.strikes if strike.at < 120),
    )


def told(seed: int, hashes: str) -> str:
    """What a fresh process makes of a seed."""
    environment = {**os.environ, "PYTHONHASHSEED": hashes}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(seed)], capture_output=True, check=True, cwd=ROOT, env=environment, text=True
    )
    return done.stdout


def test_a_replay_in_another_process_gives_the_same_trace() -> None:
    """Even where strings hash otherwise, so that sets have another order."""
    assert told(5, "1") == told(5, "2")


def test_another_seed_gives_another_trace() -> None:
    """The digest is one of what happened."""
    assert simulate(quiet(1)).trace != simulate(quiet(2)).trace


def test_a_seed_says_the_same_each_time() -> None:
    """A scenario is a function of its number and of how many nodes it has."""
    assert scenario(7) == scenario(7)
    assert len(scenario(7, nodes=5).machines) == 5
    assert scenario(7) != scenario(8)


def test_a_quiet_world_breaks_nothing() -> None:
    """Nothing strikes, and every promise holds."""
    result = simulate(quiet())
    assert result.problems == []
    assert result.strikes == {}
    assert result.operations > 100
