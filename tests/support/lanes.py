"""A lane that is kept busy for as long as a test needs it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from puntual.store.sqlite.lanes import Lane
from puntual.store.sqlite.transaction import Tx


@asynccontextmanager
async def holding(lane: Lane) -> AsyncIterator[None]:
    """What is put in line inside waits together, and becomes one group afterwards."""
    busy, go_on = threading.Event(), threading.Event()

    def wait(_: Tx) -> None:
        busy.set()
        assert go_on.wait(10), "nobody let the lane go on"

    held = asyncio.create_task(lane.call(wait))
    await asyncio.to_thread(busy.wait, 10)
    try:
        yield
    finally:
        go_on.set()
    await held
