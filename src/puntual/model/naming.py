"""What a function that is to be a task says of itself: its module, its name, and whether it is a coroutine function."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Final

from puntual.model.errors import InvalidError
from puntual.model.run import COMMAND_TASK, HTTP_TASK

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,199}", re.ASCII)
_RESERVED: Final = (HTTP_TASK, COMMAND_TASK)


def is_async(function: Callable[..., object]) -> bool:
    """Whether calling it makes a coroutine."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004 - it is asked what kind of function it is


def check_task_name(name: str) -> str:
    """The name, if a task may have it.

    Raises:
        InvalidError: it has other characters than a name, or is puntual's own.
    """
    if not _NAME.fullmatch(name):
        own = "names that begin with _ are puntual's own"
        what = own if name.startswith("_") else "a name has letters, digits and . _ : / - only"
        raise InvalidError(f"{name!r} cannot be a task's name: {what}. Give one with name=.", field="name")
    if name in _RESERVED:
        raise InvalidError(f"The name {name!r} is puntual's own: give the task another name=.", field="name")
    return name


def module_of(function: Callable[..., object]) -> str:
    """The module of a function; for one of the program itself, the name under which others would import it."""
    module: str = getattr(function, "__module__", None) or ""
    if module != "__main__":
        return module
    code = getattr(inspect.unwrap(function), "__code__", None)
    file: str = getattr(code, "co_filename", "main")
    return re.split(r"[/\\]", file)[-1].removesuffix(".py")


def name_of(function: Callable[..., object]) -> str:
    """What a task is called that was given no name."""
    return f"{module_of(function)}.{getattr(function, '__name__', type(function).__name__)}"
