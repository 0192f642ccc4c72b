from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import psutil
import pytest

from puntual.model.attempt import OutcomeKind
from puntual.model.ids import follow_up_id
from puntual.model.outcome import Outcome
from puntual.model.task import TaskRegistry
from puntual.targets.function import FunctionTarget
from puntual.targets.function.processes import KEPT, Processes
from tests.support import isolated
from tests.support.flaky import until
from tests.support.processes import Note, gone, python
from tests.support.runs import running

# A worker that starts one isolated function and waits for it: what the test kills.
WORKER = """
import asyncio, sys
from puntual.targets.function import FunctionTarget
from tests.support.isolated import hang, registry
from tests.support.runs import running
asyncio.run(FunctionTarget(registry).execute(running(task="hang", args=hang.call(sys.argv[1]).args)))
"""


@pytest.fixture
async def target() -> AsyncIterator[FunctionTarget]:
    """A target with the isolated tasks, closed after the test."""
    one = FunctionTarget(isolated.registry, process_workers=2)
    yield one
    await one.close()


async def execute(target: FunctionTarget, task: str, **args: object) -> Outcome:
    """The outcome of one attempt."""
    text = isolated.registry.get(task).call(**args).args
    return await target.execute(running(task=task, args=text))


async def test_an_isolated_function_runs_in_another_process_and_its_result_comes_back(target: FunctionTarget) -> None:
    """Arguments are decoded there by annotation, and the process is used again."""
    outcomes = [await execute(target, "double", number=n, when="2026-01-01T00:00:00Z") for n in (1, 2)]
    (first, kind, pid), (second, _, again) = (msgspec.json.decode(outcome.result or "") for outcome in outcomes)
    assert (first, second, kind) == (2, 4, "datetime")
    assert pid == again != os.getpid()


async def test_it_knows_its_run_and_may_ask_for_follow_ups(target: FunctionTarget) -> None:
    """What it collects comes back with its outcome."""
    outcome = await execute(target, "follow", number=3)
    assert outcome.result == f'"{running().id}"'
    assert [(new.id, new.args) for new in outcome.follow_ups] == [(follow_up_id(running().id, 0), '{"number":3}')]


async def test_it_may_use_the_standard_streams(target: FunctionTarget, capfd: pytest.CaptureFixture[str]) -> None:
    """They are not the pipes to the worker: what it prints goes to the worker's standard error."""
    assert (await execute(target, "noisy")).result == '""'
    assert capfd.readouterr().err == "said\nwritten\n"


@pytest.mark.parametrize(
    ("how", "kind", "says"),
    [
        ("lambda", "Local", "cannot be pickled"),
        ("exit", "SystemExit", "3"),
        ("killed", "ProcessDied", "was killed by SIGKILL"),
        ("crash", "ProcessDied", "was killed by SIGSEGV"),
        ("gone", "ProcessDied", "ended with exit code 7"),
    ],
)
async def test_however_it_fails_the_error_is_text(target: FunctionTarget, how: str, kind: str, says: str) -> None:
    """An exception that cannot be pickled, an exit, a crash: each is a failed attempt that says what happened."""
    outcome = await execute(target, "fail", how=how)
    assert (outcome.kind, outcome.final) == (OutcomeKind.FAILED, False)
    assert outcome.error is not None
    assert outcome.error.type == kind
    assert says in outcome.error.message
    assert (await execute(target, "double", number=1)).kind is OutcomeKind.SUCCEEDED


async def test_a_cancelled_function_is_gone_with_what_it_started(target: FunctionTarget, tmp_path: Path) -> None:
    """Before the cancellation passes: also what ignores SIGTERM."""
    note = Note(tmp_path)
    attempt = asyncio.create_task(execute(target, "hang", note=str(note.path)))
    processes = await note.processes()
    attempt.cancel()
    with pytest.raises(asyncio.CancelledError):
        await attempt
    assert gone(processes)


async def test_a_worker_that_is_killed_takes_its_functions_along(tmp_path: Path) -> None:
    """SIGKILL leaves it no time for anything, and yet nothing runs on."""
    note = Note(tmp_path)
    with python(WORKER, str(note.path)) as worker:
        processes = await note.processes()
        worker.kill()
        assert gone(processes)


async def test_no_more_run_at_once_than_there_are_processes(target: FunctionTarget) -> None:
    """The third waits for one of the two to be free."""
    outcomes = await asyncio.gather(*(execute(target, "double", number=n) for n in range(6)))
    assert len({msgspec.json.decode(outcome.result or "")[2] for outcome in outcomes}) == 2


async def doubles(processes: Processes, count: int) -> set[int]:
    """The processes in which that many functions ran at once."""
    task = isolated.registry.get("double")
    run = running(task="double", args=task.call(number=1).args)
    outcomes = await asyncio.gather(*(processes.run(task, run, 1000) for _ in range(count)))
    return {msgspec.json.decode(outcome.result or "")[2] for outcome in outcomes}


async def test_idle_processes_beyond_a_few_end_by_themselves() -> None:
    """A burst leaves no more behind than are worth keeping."""
    processes = Processes(5, idle_seconds=0.01)
    started = await doubles(processes, 5)
    assert len(started) == 5
    await until(lambda: len(started & {child.pid for child in psutil.Process().children()}) <= KEPT)
    (kept,) = await doubles(processes, 1)
    assert kept in started
    await processes.close()


async def test_idle_processes_are_kept_for_a_while() -> None:
    """A burst that comes again soon finds them; closing ends them all, and the timer."""
    processes = Processes(4)
    assert await doubles(processes, 4) == await doubles(processes, 4)
    await processes.close()


async def test_a_function_that_cannot_be_imported_is_refused_with_a_sentence() -> None:
    """A child finds it by module and name, so it has to have one."""
    registry = TaskRegistry()

    def local() -> None: ...

    task = registry.task(name="local", isolation="process")(local)
    target = FunctionTarget(registry)
    outcome = await target.execute(running(task=task.name))
    assert outcome.final
    assert outcome.error is not None
    assert "define it at the top of a module" in outcome.error.message
    await target.close()
