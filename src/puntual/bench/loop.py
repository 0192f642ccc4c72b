"""The event loop that measures: uvloop where it exists, as in the product itself."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_loop(work: Coroutine[Any, Any, T]) -> T:
    """Runs to the end and gives the result."""
    try:
        import uvloop  # noqa: PLC0415 - not on every system
    except ImportError:
        return asyncio.run(work)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)
