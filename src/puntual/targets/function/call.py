"""Calls a plain function where it stands, in a thread or in a child process, and says what came of it."""

from __future__ import annotations

import os
from collections.abc import Callable

from puntual.model.handle import CURRENT, Run
from puntual.model.outcome import Outcome
from puntual.targets.function import capture

Arguments = tuple[tuple[object, ...], dict[str, object]]


def call(function: Callable[..., object], run: Run, arguments: Arguments, max_result: int) -> Outcome:
    """The outcome of one call, whatever it raises; a child that the function forked ends here.

    Args:
        function: what to call.
        run: the current run meanwhile.
        arguments: by position, and by name.
        max_result: how long a result may be, in bytes of JSON.
    """
    args, kwargs = arguments
    process = os.getpid()
    before = CURRENT.set(run)
    try:
        return capture.returned(function(*args, **kwargs), run, max_result)
    except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt are its failure too, not our end
        return capture.raised(error, run)
    finally:
        CURRENT.reset(before)
        end_if_forked(process)


def end_if_forked(process: int) -> None:
    """Ends a child that a handler forked and returned in: it would go on as a second copy of the whole worker."""
    if os.getpid() != process:
        os._exit(0)
