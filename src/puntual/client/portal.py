"""Lets code that is not async wait for what an app does in its event loop, wherever that loop runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, TypeVar

from puntual.model.errors import ConflictError

T = TypeVar("T")


class Portal:
    """Waits, from any thread but that of the loop on which the app is open, for what runs in that loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self._waiting: set[Future[Any]] = set()

    def attach(self) -> None:
        """The app is open on the running loop from now on."""
        with self._lock:
            self._loop = asyncio.get_running_loop()
            self._thread = threading.get_ident()

    def detach(self) -> None:
        """The app is about to close: whoever waits is told so, or it would wait for a loop that may be gone."""
        with self._lock:
            self._loop = None
            waiting = list(self._waiting)
        for future in waiting:
            future.cancel()

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine, run in the app's loop.

        Raises:
            ConflictError: the app is not open, or was closed meanwhile, or this is its loop's own thread.
        """
        try:
            future = self._submit(work)
        except ConflictError:
            work.close()
            raise
        try:
            return future.result()
        except CancelledError:
            raise ConflictError("The app was closed before the answer came.") from None
        finally:
            # Also when the wait was interrupted: nobody wants the result any more.
            future.cancel()
            with self._lock:
                self._waiting.discard(future)

    @contextmanager
    def open(self, context: AbstractAsyncContextManager[object]) -> Iterator[None]:
        """Runs a loop in the background, inside the context, which attaches it, until left."""
        if self._loop is not None:
            raise ConflictError("This app is open already: use the _sync methods from any thread but its loop's own.")
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, name="puntual-background")
        thread.start()
        try:
            asyncio.run_coroutine_threadsafe(context.__aenter__(), loop).result()
            try:
                yield
            finally:
                asyncio.run_coroutine_threadsafe(context.__aexit__(None, None, None), loop).result()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        with self._lock:
            if self._loop is None:
                raise ConflictError("The _sync methods need the app in the background: use `with app.running_sync():`.")
            if threading.get_ident() == self._thread:
                raise ConflictError(
                    "A _sync method was called on the app's own event loop: await the method without _sync."
                )
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
            self._waiting.add(future)
            return future
