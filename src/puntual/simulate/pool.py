"""Lives seeds through on all cores, in processes that are all alike: a replay differs by nothing outside its seed.

They start with a fixed seed of string hashes, so that the order of sets is the same in each of them.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import msgspec

from puntual.model.errors import PuntualError
from puntual.simulate.order import Answer, Order, Tried

_CHILD: Final = ("-P", "-m", "puntual.simulate.child")
#: A seed takes a second; whoever says nothing for so long never will, seconds.
_PATIENCE: Final = 300.0
#: How long a process may take to clear up after itself, seconds.
_ENDS: Final = 5.0
#: A whole story is one line.
_LONGEST_LINE: Final = 1 << 28


def cores() -> int:
    """How many processes can work at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


async def carry_out(orders: Iterable[Order], report: Callable[[Answer], None], *, processes: int) -> None:
    """Carries out orders, and reports each answer as it comes, in whatever order.

    Args:
        orders: what is to be done; each is taken when a process is free for it.
        report: told each answer.
        processes: how many may work at once.

    Raises:
        PuntualError: a process has died, or does not answer; its seed is named.
    """
    waiting = iter(orders)
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(processes):
                group.create_task(_work(waiting, report))
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None


async def _work(waiting: Iterator[Order], report: Callable[[Answer], None]) -> None:
    first = next(waiting, None)
    if first is None:
        return
    async with _child() as process:
        await _ask(process, first, report)
        for order in waiting:
            await _ask(process, order, report)


@asynccontextmanager
async def _child() -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that simulates; leaving it ends it. A terminal's Ctrl-C does not reach it: it is ended from here."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *_CHILD,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        limit=_LONGEST_LINE,
        process_group=0,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.communicate(), _ENDS)
        except TimeoutError:
            process.kill()
            await process.communicate()


async def _ask(process: asyncio.subprocess.Process, order: Order, report: Callable[[Answer], None]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(msgspec.json.encode(order) + b"\n")
    while True:
        try:
            line = await asyncio.wait_for(process.stdout.readline(), _PATIENCE)
        except TimeoutError:
            raise _gone(order, f"has said nothing for {_PATIENCE:.0f} seconds") from None
        if not line:
            raise _gone(order, f"ended with {await process.wait()}")
        answer: Answer = msgspec.json.decode(line, type=Answer)
        report(answer)
        if not isinstance(answer, Tried):
            return


def _gone(order: Order, what: str) -> PuntualError:
    return PuntualError(
        f"The process that lived through seed {order.seed} {what}, without an answer.",
        hint="What it had to say stands above, if anything.",
    )
