"""A process that is ours alone: its event loop, and what it asks of the interpreter meanwhile.

A program that embeds an app has a loop and settings of its own, and keeps them.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, NoReturn, TypeVar

import structlog

from puntual.model.payload import safe_text

T = TypeVar("T")
log = structlog.get_logger("puntual.engine")

#: The thread that owns the database lets go of the GIL at each statement. With Python's own 5 ms it gets it back that
#: late while handlers keep the loop busy: of 10,000 schedules of one instant the last then started after 0.9 s instead
#: of 0.45 s.
_SWITCH_SECONDS: Final = 0.0005
#: How many objects are made before the youngest are looked through. Each run makes a task, a coroutine and a claim,
#: which live until its outcome is written: with Python's own 700 a drain took a tenth more of the processor.
_YOUNG: Final = 5_000
#: What is left of the loop's tasks at the end has this long to go, seconds.
_LEAVE: Final = 1.0


def run_loop(work: Coroutine[Any, Any, T]) -> T:
    """Runs to the end and gives the result, on uvloop where it exists.

    Nothing outlives it: a handler that ignores its cancellation has had its run given back by then, and another worker
    may start it at any moment, so this process ends there and then.
    """
    with _tuned():
        try:
            import uvloop  # noqa: PLC0415 - not on every system
        except ImportError:
            return asyncio.run(_alone(work))
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_alone(work))


async def _alone(work: Coroutine[Any, Any, T]) -> T:
    try:
        result = await work
    except BaseException as error:
        if await _stubborn():
            told = safe_text(error, limit=500) or type(error).__name__
            log.error("process.failed", error=told)  # noqa: TRY400 - one sentence, as the command line would say it
            leave(1)
        raise
    if await _stubborn():
        leave(0)
    return result


async def _stubborn() -> bool:
    """Whether something goes on although it was told to stop."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if not left:
        return False
    _, stubborn = await asyncio.wait(left, timeout=_LEAVE)
    return bool(stubborn)


def leave(code: int) -> NoReturn:
    """Ends the process there and then, with what was said until now; no thread is waited for."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # Nobody reads it any more.
            stream.flush()
    os._exit(code)


@contextmanager
def _tuned() -> Iterator[None]:
    """What was imported is here to stay, threads take shorter turns, and garbage is looked for less often."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    gc.freeze()
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.set_threshold(_YOUNG, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        sys.setswitchinterval(interval)
        gc.unfreeze()
