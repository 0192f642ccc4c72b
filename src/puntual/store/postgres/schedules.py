"""Schedules: read, decided and written in one transaction, the cursor with the runs that it hands out."""

from __future__ import annotations

from collections.abc import Sequence

from puntual.model.schedule import Pause, Schedule
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import DecideChange, DecidePlan, Page, Planned, Selection


async def plan(tx: Tx, decide: DecidePlan, limit: int) -> Planned:
    """Plans the schedules whose time has come."""
    raise NotImplementedError


async def change(tx: Tx, select: Selection, decide: DecideChange) -> list[Schedule]:
    """Writes what ``decide`` makes of the schedules selected; the answer holds those that stand."""
    raise NotImplementedError


async def named(tx: Tx, names: Sequence[str]) -> list[Schedule]:
    """The schedules of these names."""
    raise NotImplementedError


async def list_all(tx: Tx, owner: str | None, tags: Sequence[str], page: Page | None) -> list[Schedule]:
    """Schedules by name."""
    raise NotImplementedError


async def pause_all(tx: Tx, pause: Pause) -> None:
    """Writes the pause of everything; once it is over, every schedule is looked at."""
    raise NotImplementedError


async def paused_all(tx: Tx) -> Pause | None:
    """The last pause of everything."""
    raise NotImplementedError
