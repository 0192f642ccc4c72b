from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import psutil
import pytest
import uvloop

from puntual.model.attempt import OutcomeKind
from puntual.targets.command import CommandSettings, CommandTarget
from puntual.targets.function import FunctionTarget
from tests.support import isolated
from tests.support.runs import running

Runner = Callable[[Coroutine[Any, Any, None]], None]


async def commands(folder: Path) -> None:
    """Ends a command by itself, one by cancelling it, and one as it starts; nothing stays open."""
    target = CommandTarget(CommandSettings(allow=True, cwd=str(folder), grace_us=10_000))
    tails = json.dumps({"argv": ["cat"], "stdin": "x" * 100_000})
    for _ in range(2):
        before = psutil.Process().num_fds()
        outcome = await target.execute(running(args=tails))
        assert outcome.evidence is not None
        assert (outcome.kind, outcome.evidence.truncated) == (OutcomeKind.SUCCEEDED, 100_000 - 64 * 1024)
        for turns in (1, 3, 50):
            attempt = asyncio.create_task(target.execute(running(args='{"argv":["sleep","60"]}')))
            for _ in range(turns):
                await asyncio.sleep(0)
            attempt.cancel()
            await asyncio.wait((attempt,))
            # Cancelled before it began it is a cancelled task; later the target has its word.
            assert attempt.cancelled() or attempt.result().kind is OutcomeKind.FAILED
    assert psutil.Process().num_fds() <= before


async def functions(folder: Path) -> None:
    """Has a plain function and an isolated one do something, and kills one as it starts."""
    target = FunctionTarget(isolated.registry)
    try:
        double = running(task="double", args='{"number":2}')
        assert (await target.execute(double)).kind is OutcomeKind.SUCCEEDED
        for turns in (1, 3, 50):
            attempt = asyncio.create_task(target.execute(running(task="hang", args=f'{{"note":"{folder / "note"}"}}')))
            for _ in range(turns):
                await asyncio.sleep(0)
            attempt.cancel()
            with pytest.raises(asyncio.CancelledError):
                await attempt
        assert (await target.execute(double)).kind is OutcomeKind.SUCCEEDED
    finally:
        await target.close()


def beside(work: Coroutine[Any, Any, None], run: Runner) -> None:
    """Runs it in a loop of a background thread, as ``app.running_sync()`` does."""
    failures: list[BaseException] = []

    def main() -> None:
        try:
            run(work)
        except BaseException as error:  # noqa: BLE001 - shown by the test
            failures.append(error)

    thread = threading.Thread(target=main)
    thread.start()
    thread.join()
    assert failures == []


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
@pytest.mark.parametrize("what", [commands, functions])
@pytest.mark.parametrize("thread", [False, True])
def test_processes_start_and_end_in_every_loop(
    tmp_path: Path,
    run: Runner,
    what: Callable[[Path], Coroutine[Any, Any, None]],
    thread: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """Asyncio's own loop or uvloop, in the main thread or in another."""
    if thread:
        beside(what(tmp_path), run)
    else:
        run(what(tmp_path))
