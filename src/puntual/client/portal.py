"""A background thread with an event loop, so that code which is not async can use an app that is."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, TypeVar

from puntual.model.errors import ConflictError

T = TypeVar("T")


class Portal:
    """Waits, from any thread but its own, for what runs in the loop."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine, run in the background loop.

        Raises:
            ConflictError: no loop is running in the background, or this is its own thread.
        """
        if self._loop is None:
            work.close()
            raise ConflictError("The _sync methods need the app in the background: use `with app.running_sync():`.")
        if threading.current_thread() is self._thread:
            work.close()
            raise ConflictError(
                "A _sync method was called on the app's own event loop: await the method without _sync."
            )
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    @contextmanager
    def open(self, context: AbstractAsyncContextManager[object]) -> Iterator[None]:
        """Runs a loop in the background, inside the context, until left."""
        if self._loop is not None:
            raise ConflictError("This app already runs in the background.")
        loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=loop.run_forever, name="puntual-background")
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(context.__aenter__(), loop).result()
            self._loop = loop
            try:
                yield
            finally:
                self._loop = None
                asyncio.run_coroutine_threadsafe(context.__aexit__(None, None, None), loop).result()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join()
            loop.close()
