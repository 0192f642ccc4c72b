"""By hand: pending runs are edited, dead ones put back or discarded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Page, RunEdit, RunFilter

MOST_EDITED: Final = 1_000


async def edit(tx: Tx, where: RunFilter, edit: RunEdit, found: Sequence[str] | None) -> list[str]:
    """Changes pending runs: those named, or those ``found`` that still match."""
    raise NotImplementedError


async def replay(tx: Tx, where: RunFilter, page: Page, found: Sequence[str] | None) -> dict[str, str]:
    """Puts dead runs back."""
    raise NotImplementedError


async def discard(tx: Tx, where: RunFilter, page: Page, found: Sequence[str] | None) -> list[str]:
    """Takes dead runs out of the dead-letter list."""
    raise NotImplementedError
