"""A slot of the executor means the resource: what it starts finds a thread or a process free."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from puntual.engine import execute
from puntual.engine.clock import SystemClock
from puntual.engine.execute import Executor
from puntual.engine.held import Held, Hold, StoreTime
from puntual.model.attempt import OutcomeKind
from puntual.model.outcome import Outcome
from puntual.model.policy import RunPolicy
from puntual.model.run import Run
from puntual.model.task import TaskRegistry
from puntual.targets.function import FunctionTarget
from tests.support import isolated
from tests.support.runs import running

SECOND = 1_000_000


class Worker:
    """An executor over one function target, both with as many slots."""

    def __init__(self, registry: TaskRegistry, slots: int) -> None:
        self.target = FunctionTarget(registry, max_threads=slots, process_workers=slots)
        self.held = Held()
        self.time = StoreTime(SystemClock())
        self.outcomes: asyncio.Queue[Outcome] = asyncio.Queue()
        targets = dict.fromkeys(registry.names(), self.target)
        self.executor = Executor(targets, slots, clock=SystemClock(), time=self.time, held=self.held)
        self.executor.finished = self.took

    def took(self, hold: Hold, outcome: Outcome | None) -> None:
        """Notes an outcome, as the settler would."""
        self.held.drop(hold)
        assert outcome is not None
        self.outcomes.put_nowait(outcome)

    def accept(self, number: int, task: str, timeout_us: int, args: str = "{}") -> None:
        """Takes a run that is due."""
        self.executor.accept((_run(number, task, timeout_us, args),))

    async def close(self) -> None:
        """Ends the timers and the target."""
        await self.target.close()
        await self.executor.close()


def _run(number: int, task: str, timeout_us: int, args: str) -> Run:
    id = f"0198c1f2-7d3a-7b0e-9c55-{number:012d}"
    return running(id=id, task=task, args=args, policy=RunPolicy(timeout_us=timeout_us))


@pytest.fixture
async def closing() -> AsyncIterator[list[Worker]]:
    """Workers to close after the test."""
    workers: list[Worker] = []
    yield workers
    for worker in workers:
        await worker.close()


async def test_a_function_that_overran_its_deadline_keeps_its_slot_with_its_thread(
    closing: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run behind it starts when the thread is free, and its own deadline begins only then."""
    monkeypatch.setattr(execute, "STOP_PATIENCE", 0.01)
    registry, gate = TaskRegistry(), threading.Event()
    registry.task(name="stuck")(lambda: gate.wait(10) and None)
    registry.task(name="good")(lambda: "good")
    worker = Worker(registry, slots=1)
    closing.append(worker)
    worker.accept(1, "stuck", SECOND // 100)
    assert (await worker.outcomes.get()).kind is OutcomeKind.TIMED_OUT
    worker.accept(2, "good", 10 * SECOND)
    # Were it started without a thread, its time would run out here.
    assert worker.executor.running == 1
    (waiting,) = worker.held
    assert waiting.group is None
    gate.set()
    assert (await worker.outcomes.get()).result == '"good"'


async def test_isolated_functions_do_not_stand_in_line_under_their_own_deadline(
    closing: list[Worker], tmp_path: Path
) -> None:
    """Ten in ten slots, each of which waits for the other nine: in fewer processes their time would run out."""
    everybody = asyncio.Barrier(10)

    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await everybody.wait()
        writer.write(b"all here")
        writer.close()
        await writer.wait_closed()

    worker = Worker(isolated.registry, slots=10)
    closing.append(worker)
    args = isolated.registry.get("meet").call(place=str(tmp_path / "door")).args
    async with await asyncio.start_unix_server(greet, tmp_path / "door"):
        for number in range(10):
            worker.accept(number, "meet", 30 * SECOND, args)
        results = [(await worker.outcomes.get()).result for _ in range(10)]
    assert results == ['"all here"'] * 10
