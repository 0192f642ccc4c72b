"""Partitions of history: one for each day on which rows may go, made ahead of time and dropped whole.

What is bounded here is how long others wait. Making a day locks the table of strays, which settles write to only where
no day was made. Dropping one locks all of history; DETACH CONCURRENTLY would not, but PostgreSQL refuses it beside a
table of strays. So that comes last in its transaction, and a lock that is not had soon is given up and asked for anew:
those who queued behind it go first.
"""

from __future__ import annotations

from typing import Final

import asyncpg

from puntual.model.instant import DAY, to_datetime
from puntual.model.run import RunState
from puntual.store.postgres.statements import sql
from puntual.store.postgres.transaction import Tx

#: How many days ahead there are partitions: so long may nobody make any.
AHEAD: Final = 14
#: Strays of a day, at most, that are moved when it is made; a day with more is left where it is.
MOST_MOVED: Final = 10_000
#: For each of the two tables: a settle waits at most twice as long.
_LOCK_TIMEOUT: Final = "50ms"
_DROP_TRIES: Final = 5
#: A day of ten million ticks is folded in less, seconds.
_FOLD_TIMEOUT: Final = 600
_TABLES: Final = ("run_history", "attempt_responses")


async def make_days(tx: Tx, *, most: int = 1_000) -> int:
    """Makes the days on which a run that ends within ``AHEAD`` days may go, the nearest first, and says how many.

    Strays of these days move there. None is made while another process makes or drops some.

    Raises:
        LockNotAvailableError: of asyncpg; somebody reads or writes the strays for long, and nothing was done.
    """
    if not await _missing(tx) or not await _my_turn(tx):
        return 0
    made = 0
    for day in (await _missing(tx))[:most]:
        await tx.change("day_lock_other")
        if await tx.value("day_strays", day, MOST_MOVED + 1) <= MOST_MOVED:
            for table in _TABLES:
                await tx.connection.execute(_text("day_make", day).replace("PARENT", table))
            made += 1
    return made


async def drop_day(tx: Tx, day: int) -> int:
    """Folds the ticks of a day into stretches and drops it; says how many runs it had. Nothing should come after it.

    Raises:
        LockNotAvailableError: of asyncpg; somebody reads that day, or all of history, for long, and nothing was done.
    """
    if not await _my_turn(tx) or day not in await days(tx):
        return 0
    await _try(tx, day)
    # A replay takes a run out of history: none may, between the fold and the end.
    await tx.connection.execute(_text("day_hold", day))
    runs: int = await tx.connection.fetchval(
        _text("fold_day", day), tx.now - tx.retention.ticks_us, timeout=_FOLD_TIMEOUT
    )
    for left in reversed(range(_DROP_TRIES)):
        try:
            async with tx.part():
                await tx.connection.execute(_text("day_drop", day))
            break
        except asyncpg.LockNotAvailableError:
            if not left:
                raise
    return runs


async def days(tx: Tx) -> list[int]:
    """The days that have a partition, counted from 1970."""
    return [day for (day,) in await tx.rows("days")]


def date_of(day: int) -> str:
    """What a day's partitions have in their names."""
    return f"{to_datetime(day * DAY):%Y_%m_%d}"


async def _try(tx: Tx, day: int) -> None:
    """Fails early where somebody reads the day for long, a dump above all: else it would be folded for nothing."""
    part = tx.connection.transaction()
    await part.start()
    try:
        await tx.connection.execute(_text("day_try", day))
    finally:
        await part.rollback()


async def _missing(tx: Tx) -> list[int]:
    there = set(await days(tx))
    first = sorted({tx.retention.expires_on(state, tx.now) for state in (RunState.SUCCEEDED, RunState.DEAD)})
    wanted = (day + ahead for ahead in range(AHEAD + 1) for day in first)
    return [day for day in dict.fromkeys(wanted) if day not in there]


async def _my_turn(tx: Tx) -> bool:
    """Whether nobody else makes or drops days; and from now on we wait for no lock for long."""
    row = await tx.row("days_turn", _LOCK_TIMEOUT)
    assert row is not None
    return bool(row["mine"])


def _text(name: str, day: int) -> str:
    """A statement about one day: names and bounds of tables are no parameters."""
    return sql(name).replace("DATE", date_of(day)).replace("DAY", str(day))
