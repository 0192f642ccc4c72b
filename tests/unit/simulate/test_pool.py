"""Tests of `puntual.simulate.pool`: every seed is answered once, and no process fails or stays behind unseen."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from puntual.model.errors import PuntualError
from puntual.simulate import pool
from puntual.simulate.order import Answer, Order, Outcome, Tried
from puntual.simulate.pool import carry_out

#: A child that answers without living anything through; with its own pid as the number of operations.
ANSWERS = """
import json, os, sys
for line in sys.stdin:
    seed = json.loads(line)["seed"]
    if seed == 13:
        sys.exit(7)
    print(json.dumps({"type": "Tried", "tries": 1}))
    print(json.dumps({
        "type": "Outcome", "seed": seed, "problems": [], "trace": os.environ["PYTHONHASHSEED"],
        "strikes": {}, "visits": {}, "operations": os.getpid(),
    }), flush=True)
"""


@pytest.fixture(autouse=True)
def _child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_CHILD", ("-c", ANSWERS))


def alive(pid: int) -> bool:
    """Whether there is such a process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def outcomes(*seeds: int, processes: int = 2) -> list[Outcome]:
    """What came of these seeds."""
    answers: list[Answer] = []
    await carry_out([Order(seed=seed) for seed in seeds], answers.append, processes=processes)
    return [answer for answer in answers if isinstance(answer, Outcome)]


async def test_every_seed_is_answered_once() -> None:
    """However they are shared out among the processes."""
    found = await outcomes(*range(20, 40))
    assert sorted(one.seed for one in found) == list(range(20, 40))
    assert len({one.operations for one in found}) <= 2


async def test_hashes_are_fixed_whatever_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of a set of strings is the same in each process and in each replay."""
    monkeypatch.setenv("PYTHONHASHSEED", "1234")
    assert {one.trace for one in await outcomes(1, 2, 3)} == {"0"}


async def test_progress_is_reported_before_the_answer() -> None:
    """Making a seed small takes minutes, and says how far it is."""
    answers: list[Answer] = []
    await carry_out([Order(seed=1)], answers.append, processes=2)
    assert [type(answer) for answer in answers] == [Tried, Outcome]


async def test_a_process_that_dies_names_its_seed() -> None:
    """Its exit code too; nothing is said to hold that nobody lived through."""
    with pytest.raises(PuntualError, match="seed 13 ended with 7, without an answer"):
        await outcomes(*range(20))


async def test_a_process_that_says_nothing_names_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop of the engine that never ends does not hang the command."""
    monkeypatch.setattr(pool, "_CHILD", ("-c", "import sys; sys.stdin.readline(); sys.stdin.readline()"))
    monkeypatch.setattr(pool, "_PATIENCE", 0.1)
    with pytest.raises(PuntualError, match="seed 5 has said nothing for"):
        await outcomes(5)


async def test_processes_end_with_the_work() -> None:
    """Whatever a process did last, it is gone when the answers are there."""
    found = await outcomes(1, 2)
    assert not any(alive(one.operations) for one in found)


async def test_being_interrupted_ends_them() -> None:
    """Ctrl-C leaves no process behind."""
    found: list[Outcome] = []
    begun = asyncio.Event()

    def report(answer: Answer) -> None:
        if isinstance(answer, Outcome):
            found.append(answer)
            begun.set()

    endless = (Order(seed=seed) for seed in range(100, 10_000_000))
    task = asyncio.ensure_future(carry_out(endless, report, processes=2))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(alive(one.operations) for one in found)


async def test_a_child_that_will_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It had its time to clear up."""
    ignores = f"import signal\nsignal.signal({signal.SIGTERM:d}, signal.SIG_IGN)\n{ANSWERS}\nwhile True: signal.pause()"
    monkeypatch.setattr(pool, "_CHILD", ("-c", ignores))
    monkeypatch.setattr(pool, "_ENDS", 0.2)
    found = await outcomes(1)
    assert not alive(found[0].operations)
