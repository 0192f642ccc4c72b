"""Waiting until work is done, by what the database holds of it."""

from __future__ import annotations

import asyncio

from puntual import App
from puntual.model.run import LIVE_STATES
from puntual.store.requests import Page, RunFilter

LIVE = RunFilter(states=LIVE_STATES)


async def until_none(app: App, where: RunFilter = LIVE, *, within: float = 60) -> None:
    """Returns when there is no such run; as long as nothing else is said, none that may still be executed.

    Raises:
        TimeoutError: after ``within`` seconds there was one.
    """
    async with asyncio.timeout(within):
        while await app.runs.find(where, Page(limit=1)):  # noqa: ASYNC110 - another process has no event to wait for
            await asyncio.sleep(0.05)
