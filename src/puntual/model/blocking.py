"""Every awaitable that users call has a ``_sync`` twin, made from it here: one implementation, one place that waits.

``enqueue_sync = blocking(enqueue)`` keeps the parameters and the result for type checkers.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")


class Blocks(Protocol):
    """What has twins: it can wait for a coroutine from another thread."""

    def _block(self, work: Coroutine[Any, Any, T]) -> T: ...


S = TypeVar("S", bound=Blocks)


def blocking(
    method: Callable[Concatenate[S, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[S, P], T]:
    """The same method for code that is not async; usable while the app runs in a background thread."""

    @wraps(method)
    def twin(self: S, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._block(method(self, *args, **kwargs))

    twin.__name__ = f"{method.__name__}_sync"
    return cast("Callable[Concatenate[S, P], T]", twin)
