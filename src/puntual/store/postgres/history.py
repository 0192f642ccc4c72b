"""Prune: a day of history is folded into stretches and dropped, with its partition; strays go in bounded pieces."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from puntual.model.errors import StoreBusyError
from puntual.model.instant import DAY
from puntual.store.postgres.partitions import days, drop_day, make_days
from puntual.store.postgres.session import Session
from puntual.store.postgres.transaction import Tx

#: Days made in one transaction, so that it is short: one for each retention is what a day needs.
_MADE_AT_ONCE: Final = 2


async def prune(session: Session, limit: int, *, now: int | None) -> int:
    """Removes what has expired, each day in a transaction of its own; says how many rows those were."""
    await _unless_busy(session, partial(make_days, most=_MADE_AT_ONCE), now)
    removed = 0
    for day in await session.read(_expired, now=now):
        removed += await _unless_busy(session, partial(drop_day, day=day), now)
        if removed >= limit:
            return removed
    return removed + await session.write(partial(_prune, limit=limit - removed), now=now)


async def _unless_busy(session: Session, work: Callable[[Tx], Awaitable[int]], now: int | None) -> int:
    """What cannot be done now, because somebody has the tables for long, is left to a later round."""
    try:
        return await session.write(work, now=now)
    except StoreBusyError:
        return 0


async def _expired(tx: Tx) -> list[int]:
    return [day for day in await days(tx) if day < tx.now // DAY]


async def _prune(tx: Tx, *, limit: int) -> int:
    """Strays, old stretches and workers; and the names of queues are made whole."""
    today, oldest_tick = tx.now // DAY, tx.now - tx.retention.ticks_us
    runs: int = await tx.value("prune_other", oldest_tick, today, limit)
    responses = await tx.change("prune_other_responses", today, limit)
    stretches = await tx.change("prune_stretches", oldest_tick, limit - runs)
    # A worker that comes back late must still hear that its lease is over.
    await tx.change("prune_workers", tx.now - DAY)
    # Who writes the names remembers those it has written: of a database that lost its tail, or was restored, too much.
    await tx.change("mend_lanes")
    return max(runs + stretches, responses)
