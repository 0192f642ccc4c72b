"""Calls a plain function where it stands, in a thread or in a child process, and says what came of it."""

from __future__ import annotations

from collections.abc import Callable

from puntual.model.handle import CURRENT, Run
from puntual.model.outcome import Outcome
from puntual.targets.function import capture

Arguments = tuple[tuple[object, ...], dict[str, object]]


def call(function: Callable[..., object], run: Run, arguments: Arguments, max_result: int) -> Outcome:
    """The outcome of one call; only KeyboardInterrupt is raised.

    Args:
        function: what to call.
        run: the current run meanwhile.
        arguments: by position, and by name.
        max_result: how long a result may be, in bytes of JSON.
    """
    args, kwargs = arguments
    before = CURRENT.set(run)
    try:
        return capture.returned(function(*args, **kwargs), run, max_result)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a handler may raise anything (SystemExit too): it is its failure, not ours
        return capture.raised(error, run)
    finally:
        CURRENT.reset(before)
