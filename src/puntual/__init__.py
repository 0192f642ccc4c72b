"""puntual: a durable scheduler and task runner. These are its public names."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from puntual.model.answer import Outcome
from puntual.model.backoff import exponential, fixed, linear
from puntual.model.errors import PuntualError, WaitTimeoutError
from puntual.model.errors import RunDeadError as RunDead
from puntual.model.handle import Run, RunHandle, current_run
from puntual.model.outcome import Dead, Retry, Snooze
from puntual.model.task import Task

if TYPE_CHECKING:
    from puntual import testing
    from puntual.app import App

__all__ = [
    "App",
    "Dead",
    "Outcome",
    "PuntualError",
    "Retry",
    "Run",
    "RunDead",
    "RunHandle",
    "Snooze",
    "Task",
    "WaitTimeoutError",
    "current_run",
    "exponential",
    "fixed",
    "linear",
    "testing",
]


def __getattr__(name: str) -> object:
    """Loads the app and the test tools when asked for: the command line's help and ``puntual next`` need neither."""
    if name == "App":
        return import_module("puntual.app").App
    if name == "testing":
        return import_module("puntual.testing")
    raise AttributeError(f"module 'puntual' has no attribute {name!r}")
