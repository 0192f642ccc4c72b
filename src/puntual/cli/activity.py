"""One line every few seconds in which something happened: a person who watches a server sees that it works."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import structlog

from puntual.app import App
from puntual.model.run import RunState

log = structlog.get_logger("puntual.serve")

_EVERY: Final = 5.0
#: What the states that an attempt can lead to are called in the line.
_WORDS: Final = {
    RunState.SUCCEEDED: "succeeded",
    RunState.DEAD: "dead",
    RunState.CANCELLED: "cancelled",
    RunState.PENDING: "to_be_tried_again",
}


@asynccontextmanager
async def told(app: App) -> AsyncIterator[None]:
    """Tells what became of attempts while inside. One line for all, so that a busy server does not drown in them."""
    task = asyncio.create_task(_tell(app), name="puntual-activity")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _tell(app: App) -> None:
    before: Counter[RunState] = Counter()
    while app.node is not None:
        await asyncio.sleep(_EVERY)
        now = Counter(app.node.settler.by_state)
        if new := now - before:
            log.info("runs", **{word: new[state] for state, word in _WORDS.items() if new[state]})
        before = now
