"""Plan: schedules whose time has come, read, decided and written in one transaction; planners share them.

A planner's own floor keeps it from walking over the entries of the past, which stay in the index for as long as
somebody holds a snapshot open: a dump of an hour is ten thousand of them for each second.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import asyncpg

from puntual.model.errors import StoreBusyError
from puntual.model.run import NewRun
from puntual.store.postgres.errors import translate
from puntual.store.postgres.schedules import apply
from puntual.store.postgres.session import Session
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import DecidePlan, Planned, PlanView, PlanWrite
from puntual.store.rows.views import Look, read_look

#: A schedule that cannot be read is looked at again after this.
_SET_BACK_US: Final = 60_000_000
#: When what is due is in the hands of other planners: soon, in case they die, and not in a busy loop until they end.
_HELD_US: Final = 20_000
#: Milliseconds to wait for a unique key, since all schedules of a round wait with it, and microseconds until a schedule
#: whose key an open transaction holds is looked at again.
_PATIENCE_MS: Final = 500
_HELD_KEY_US: Final = 1_000_000
_HELD: Final = (StoreBusyError, asyncpg.LockNotAvailableError)
#: Nobody writes a ``look_at`` further before now than the horizon of planning; a transaction takes its time besides.
_TRAIL_US: Final = 10_000_000
#: A floor is forgotten after this, seconds: whatever came to lie below it is found.
_FLOOR_HOLDS: Final = 10.0
_NO_FLOOR: Final = -(2**62)


class Planning:
    """What the planners of one process remember: below which ``look_at`` there is nothing."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._steady = session.around.steady
        self._floor = _NO_FLOOR
        self._until = 0.0

    async def plan(self, decide: DecidePlan, limit: int, *, now: int | None) -> Planned:
        """As ``ScheduleStore.plan``; where nothing is due, one statement says so."""
        if now is not None or self._steady() >= self._until:
            self.forget()
        floor = self._floor
        at, look_at = await self._session.single(partial(_peek, floor=floor), now=now)
        if now is None and floor == _NO_FLOOR:
            self._floor = (at if look_at is None else min(look_at, at)) - _TRAIL_US
            self._until = self._steady() + _FLOOR_HOLDS
        if look_at is None or look_at > at:
            return Planned(now=at, next_look_at=look_at)
        return await self._session.write(partial(_round, decide=decide, limit=limit, floor=floor), now=now)

    def forget(self) -> None:
        """Forgets the floor: it may not hold for the server that is reached next."""
        self._floor = _NO_FLOOR


async def _peek(tx: Tx, *, floor: int) -> tuple[int, int | None]:
    """The time, and when the next schedule wants to be looked at."""
    row = await tx.row("plan_peek", tx.given, floor)
    assert row is not None
    return row["now"], row["look_at"]


async def _round(tx: Tx, *, decide: DecidePlan, limit: int, floor: int) -> Planned:
    ids = [id for (id,) in await tx.rows("plan_lock", tx.now, limit, floor)]
    look = read_look(await tx.text("plan_read", ids)) if ids else Look(None, ())
    if look.unreadable:
        set_back = [[one.id for one in look.unreadable], tx.now + _SET_BACK_US, [one.why for one in look.unreadable]]
        await tx.change("plan_set_back", *set_back)
    writes = list(decide(look.views, look.pause, tx.now)) if look.views else []
    moved, runs = await _apply(tx, look.views, writes)
    full = len(ids) == limit
    return Planned(
        schedules=moved,
        runs=len(runs),
        queues=tuple(sorted({run.queue for run in runs})),
        now=tx.now,
        next_look_at=tx.now if full else await _next_look(tx, floor),
        full=full,
    )


async def _apply(tx: Tx, views: Sequence[PlanView], writes: Sequence[PlanWrite]) -> tuple[int, list[NewRun]]:
    """Makes the writes. A unique key that an open transaction holds stops its own schedule and no other."""
    plain: list[PlanWrite] = []
    keyed: list[PlanWrite] = []
    for write in writes:
        (keyed if any(run.unique_key is not None for run in write.runs) else plain).append(write)
    moved, runs = await apply(tx, views, plain)
    waiting = [keyed] if keyed else []
    while waiting:
        part = waiting.pop()
        try:
            async with tx.part():
                one, made = await apply(tx, views, part, patience_ms=_PATIENCE_MS)
        except _HELD as error:
            if len(part) > 1:
                waiting += [[write] for write in part]
                continue
            why = translate(error).message
            await tx.change("plan_set_back", [part[0].schedule_id], tx.now + _HELD_KEY_US, [why])
        else:
            moved, runs = moved + one, runs + made
    return moved, runs


async def _next_look(tx: Tx, floor: int) -> int | None:
    """When the next schedule wants to be looked at; what is due by now is in other hands."""
    _, look_at = await _peek(tx, floor=floor)
    return tx.now + _HELD_US if look_at is not None and look_at <= tx.now else look_at
