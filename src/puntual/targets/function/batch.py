"""Turns what a batch handler returned or raised into an outcome for each of its runs.

An error that a handler raises, or an answer that nobody can read, says nothing about the single run: then there are no
outcomes, and each run is tried by itself. By itself it is the run's own error.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence

from puntual.model.answer import Outcome as Said
from puntual.model.attempt import ErrorInfo, OutcomeKind
from puntual.model.handle import Run
from puntual.model.outcome import Outcome, Steer
from puntual.model.payload import safe_text
from puntual.targets.function import capture
from puntual.targets.function.call import end_if_forked

#: Most runs of most batches: one object for all of them.
_SUCCEEDED = Outcome(kind=OutcomeKind.SUCCEEDED)


def call(function: Callable[..., object], runs: list[Run], max_result: int) -> Sequence[Outcome]:
    """Calls a plain function with the list, in a thread; what came of it, whatever it raises."""
    process = os.getpid()
    try:
        return returned(function(runs), runs, max_result)
    except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt are its failure too, not our end
        return raised(error, runs)
    finally:
        end_if_forked(process)


def returned(value: object, runs: list[Run], max_result: int) -> Sequence[Outcome]:
    """The outcomes of runs whose handler came back with this value."""
    if value is None or isinstance(value, Said | Steer):
        return [_one(value, run, max_result) for run in runs]
    if inspect.iscoroutine(value):
        return [capture.returned(value, run, max_result) for run in runs]
    if not isinstance(value, list | tuple) or len(value) != len(runs):
        return raised(TypeError(_wrong(value, len(runs))), runs)
    return [_one(each, run, max_result) for each, run in zip(value, runs, strict=True)]


def raised(error: BaseException, runs: list[Run]) -> Sequence[Outcome]:
    """The outcome of a run that was alone in its call; none for several."""
    return [capture.raised(error, run) for run in runs] if len(runs) == 1 else ()


def _one(answer: object, run: Run, max_result: int) -> Outcome:
    if answer is None:
        return capture.succeeded(None, run, max_result) if run.follow_ups else _SUCCEEDED
    if isinstance(answer, Said):
        return capture.said(answer, run, max_result)
    if isinstance(answer, BaseException):
        return capture.raised(answer, run)
    message = f"The handler gave {_kind(answer)} for this run; it must be a puntual.Outcome, an exception or None."
    return Outcome(kind=OutcomeKind.FAILED, error=ErrorInfo(type="TypeError", message=message))


def _wrong(value: object, runs: int) -> str:
    what = f"a list of {len(value)}" if isinstance(value, list | tuple) else _kind(value)
    return f"The batch handler returned {what}; it must be None, or a list with an outcome for each of its {runs} runs."


def _kind(value: object) -> str:
    return f"a value of type {safe_text(type(value).__name__, limit=200)}"
