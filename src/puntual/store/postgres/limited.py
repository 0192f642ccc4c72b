"""Limited queues: claimed from in a transaction of their own, by one claimer at a time, never beyond their limit.

The claimer first gets the queue's lock, for its transaction only, and counts in a later statement, which sees whatever
the holder before it has committed. Whoever does not get the lock moves on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Final

import asyncpg
import msgspec

from puntual.store.postgres.session import Session
from puntual.store.postgres.taking import Taking
from puntual.store.postgres.transaction import Tx

#: A claimer that has got nothing else tries again, after a pause of up to so many seconds: the lock is held for a
#: commit.
_TRIES: Final = 3
_PAUSE: Final = 0.005
_Claim = Callable[[Tx, str, int], Awaitable[list[asyncpg.Record]]]
_rooms = msgspec.json.Decoder(dict[str, int])


async def claim_limited(session: Session, taking: Taking, *, fresh: bool) -> None:
    """Takes from limited queues that have runs due; their rooms are read anew unless those remembered are ``fresh``."""
    lanes = taking.lanes
    names = [name for name in lanes.rooms if name not in lanes.paused and lanes.due_in(name, taking.until)]
    if not names or taking.left <= 0:
        return
    if not fresh:
        lanes.rooms = _rooms.decode(await session.single(lambda tx: tx.text("claim_rooms")))
    with_room = [name for name in names if lanes.rooms.get(name, 0) > 0]
    await claim_in_turn(session, taking, with_room, taking.in_order_of)


async def claim_in_turn(session: Session, taking: Taking, queues: Iterable[str], claim: _Claim) -> None:
    """Takes from each queue as far as it has room."""
    names = list(queues)
    for again in range(_TRIES):
        held = []
        for name in names:
            if taking.left <= 0:
                return
            records = await session.write(partial(_claim, queue=name, claim=claim), now=taking.given)
            if records is None:
                held.append(name)
            else:
                taking.keep(records)
        if not held or taking.runs:
            return
        names = held
        await asyncio.sleep(_PAUSE * (again + 1) * session.around.fraction())


async def _claim(tx: Tx, queue: str, claim: _Claim) -> list[asyncpg.Record] | None:
    """What was claimed; None where another claimer has the queue."""
    if not await tx.value("claim_hold", queue):
        return None
    room = await tx.value("claim_room", queue)
    return await claim(tx, queue, room) if room is not None and room > 0 else []
