"""A process that calls isolated functions one after the other, and is gone as soon as the worker that started it is.

Requests come on standard input and answers go to standard output; both are moved out of the way first, so that a
function may print and read as it likes. A thread waits for input all the time: its end means that the worker is gone.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable
from typing import IO

import msgspec

from puntual.model.errors import PuntualError
from puntual.model.handle import Run
from puntual.model.outcome import Outcome
from puntual.model.signature import Signature
from puntual.model.task import Task
from puntual.targets.function import capture
from puntual.targets.function.call import call
from puntual.targets.function.processes import LENGTH, Request

_decode = msgspec.msgpack.Decoder(Request).decode
_encode = msgspec.msgpack.Encoder().encode


def main() -> None:
    """Answers requests until the input ends."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What a function prints is seen when it prints it, not when a buffer is full.
        sys.stdout.reconfigure(line_buffering=True)
    # The worker decides when this ends; and a function must not find our handlers in its way.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    waiting: queue.SimpleQueue[Request] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, waiting), name="puntual-parent", daemon=True).start()
    while True:
        answer = _encode(_execute(waiting.get()))
        # What was printed belongs before the answer, and this process may be ended at any moment after it.
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        answers.write(LENGTH.pack(len(answer)) + answer)
        answers.flush()


def _listen(requests: IO[bytes], waiting: queue.SimpleQueue[Request]) -> None:
    while head := requests.read(LENGTH.size):
        waiting.put(_decode(requests.read(LENGTH.unpack(head)[0])))
    # This process leads its group: what the function started goes with it.
    os.killpg(0, signal.SIGKILL)


def _execute(request: Request) -> Outcome:
    run = Run(request.run, collect=True)
    try:
        sys.path[:] = request.path
        function, signature = _resolve(request)
        args, kwargs = signature.read(request.run.args)
    except PuntualError as error:
        return capture.unfit(error)
    except BaseException as error:  # noqa: BLE001 - importing an app's module runs its code
        return capture.raised(error, run)
    if signature.takes_run:
        args = (run, *args)
    return call(function, run, (args, kwargs), request.max_result)


def _resolve(request: Request) -> tuple[Callable[..., object], Signature]:
    """The function behind a module and a qualified name, which the decorator has usually replaced by its task."""
    found: object = importlib.import_module(request.module)
    for name in request.qualname.split("."):
        found = getattr(found, name)
    if isinstance(found, Task):
        return found.function, found.signature
    assert callable(found)
    return found, Signature(request.run.task, found)


if __name__ == "__main__":
    main()
