"""Turns whatever a handler returned or raised into an outcome. It cannot itself fail."""

from __future__ import annotations

import inspect
import traceback
from pathlib import Path
from typing import Final

from puntual.model.answer import Outcome as Said
from puntual.model.attempt import ErrorInfo, OutcomeKind
from puntual.model.errors import PuntualError
from puntual.model.handle import Run
from puntual.model.outcome import Dead, Outcome, Retry, Snooze, Steer
from puntual.model.payload import encode_result, safe_text

MAX_TRACE: Final = 8 * 1024
MAX_MESSAGE: Final = 2_000

_OURS: Final = str(Path(__file__).parents[2])


def returned(value: object, run: Run, max_result: int) -> Outcome:
    """The outcome of a handler that came back with this value."""
    if value is None:
        return succeeded(None, run, max_result)
    if isinstance(value, Steer):
        return steered(value)
    if isinstance(value, Said):
        return said(value, run, max_result)
    if inspect.iscoroutine(value):
        value.close()
        message = (
            "The function returned a coroutine that nobody awaited: declare it, and what decorates it, with async def."
        )
        return Outcome(kind=OutcomeKind.FAILED, error=ErrorInfo(type="TypeError", message=message), final=True)
    return succeeded(value, run, max_result)


def succeeded(value: object, run: Run, max_result: int) -> Outcome:
    """The outcome of a run that has this result."""
    result = None if value is None else encode_result(value, max_bytes=max_result)
    return Outcome(kind=OutcomeKind.SUCCEEDED, result=result, follow_ups=run.follow_ups)


def said(word: Said, run: Run, max_result: int) -> Outcome:
    """The outcome that a handler put in words."""
    if word.error is None:
        return succeeded(word.result, run, max_result)
    if isinstance(word.error, BaseException):
        return raised(word.error, run)
    return Outcome(kind=OutcomeKind.FAILED, error=_said("Failed", word.error))


def raised(error: BaseException, run: Run) -> Outcome:
    """The outcome of a handler that raised this.

    A policy that names a class means its subclasses too, which is known only here: the nearest class that it names has
    the word.
    """
    if isinstance(error, Steer):
        return steered(error)
    retry = run.row.policy.retry
    for each in type(error).__mro__ if retry.on or retry.not_on else ():
        if each.__name__ in retry.not_on:
            return Outcome(kind=OutcomeKind.FAILED, error=describe(error), final=True)
        if each.__name__ in retry.on:
            return Outcome(kind=OutcomeKind.FAILED, error=describe(error), again=True)
    return Outcome(kind=OutcomeKind.FAILED, error=describe(error))


def steered(word: Steer) -> Outcome:
    """The outcome that a handler asked for."""
    match word:
        case Retry():
            error = _said("Retry", word.reason)
            return Outcome(kind=OutcomeKind.FAILED, error=error, retry_after_us=word.after_us, again=True)
        case Dead():
            return Outcome(kind=OutcomeKind.FAILED, error=_said("Dead", word.reason), final=True)
        case Snooze():
            return Outcome(kind=OutcomeKind.SNOOZED, retry_after_us=word.after_us)
        case _:
            return Outcome(kind=OutcomeKind.FAILED, error=describe(word))


def unfit(error: PuntualError) -> Outcome:
    """The outcome of a run whose arguments do not fit or whose task cannot be used: no attempt would go better."""
    return Outcome(
        kind=OutcomeKind.FAILED, error=ErrorInfo(type=type(error).__name__, message=error.message), final=True
    )


def describe(error: BaseException) -> ErrorInfo:
    """The error as text: the name of its type, its message and its trace without our own frames."""
    return ErrorInfo(
        type=safe_text(type(error).__name__, limit=200),
        message=safe_text(error, limit=MAX_MESSAGE),
        trace=_trace(error),
    )


def _said(kind: str, reason: object) -> ErrorInfo:
    return ErrorInfo(type=kind, message=safe_text(reason, limit=MAX_MESSAGE))


def _trace(error: BaseException) -> str | None:
    """The trace, without our frames and with its middle cut out if it is long; None when Python cannot write one."""
    try:
        found = traceback.TracebackException.from_exception(error, limit=-50, compact=True)
        _drop_our_frames(found)
        text = "".join(found.format())
    except BaseException:  # noqa: BLE001 - a trace is a comfort: whatever the exception does here is not worth a run
        return None
    if len(text) > MAX_TRACE:
        half = MAX_TRACE // 2
        text = f"{text[:half]}\n... {len(text) - MAX_TRACE:,} characters ...\n{text[-half:]}"
    return safe_text(text, limit=2 * MAX_TRACE)


def _drop_our_frames(found: traceback.TracebackException) -> None:
    waiting = [found]
    while waiting:
        each = waiting.pop()
        each.stack = traceback.StackSummary.from_list(
            [frame for frame in each.stack if not frame.filename.startswith(_OURS)]
        )
        waiting += [
            other for other in (each.__cause__, each.__context__, *(each.exceptions or ())) if other is not None
        ]
