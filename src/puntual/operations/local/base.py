"""What all local operations share: the app that they work on, and its moment."""

from __future__ import annotations

import msgspec

from puntual.app import App
from puntual.model.run import Run
from puntual.operations.filters import MOST, Moment
from puntual.operations.local.warnings import Warnings
from puntual.store.contract import Store
from puntual.store.requests import Page, RunFilter


class Local:
    """Operations on the database of an app, which is open while they are used."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._warnings = Warnings(app)

    @property
    def _moment(self) -> Moment:
        """Now, and the operator's zone: what filters refer to. What is due is decided by the database alone."""
        return Moment(self._app.clock.now(), self._app.settings.timezone)

    async def _stands(self, run_id: str) -> Run | None:
        """The run that stands under an id, if there is one."""
        return await self._app.store.get_run(run_id)


async def all_runs(store: Store, where: RunFilter, *, most: int | None = None) -> list[Run]:
    """The runs that fit, newest first, over as many parts as it takes; where many may fit, up to ``most``."""
    found: list[Run] = []
    page = Page(limit=MOST)
    while True:
        part = await store.list_runs(where, page)
        found += part.items
        if part.next is None or (most is not None and len(found) >= most):
            return found[:most]
        page = msgspec.structs.replace(page, after=part.next)
