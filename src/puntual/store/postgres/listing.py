"""Lists: live runs and history in one, by id, newest first; no page reads more than its share."""

from __future__ import annotations

from puntual.model.run import Run
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Page, Response, RunFilter, RunPage


async def get_run(tx: Tx, run_id: str) -> Run | None:
    """The run, live or in history."""
    raise NotImplementedError


async def list_runs(tx: Tx, where: RunFilter, page: Page) -> RunPage:
    """One page."""
    raise NotImplementedError


async def find_ids(tx: Tx, where: RunFilter, page: Page) -> tuple[list[str], str | None]:
    """The ids of one page, and where to go on."""
    raise NotImplementedError


async def get_response(tx: Tx, run_id: str, attempt: int) -> Response | None:
    """What was kept of one attempt."""
    raise NotImplementedError
