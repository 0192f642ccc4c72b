"""Claim: takes what is due, lane by lane from a floor, as far as pauses, limits and shares allow.

Two statements do it. ``claim_lanes`` looks at the lanes and claims in order, the earliest of all first; it is all that
an idle poll sends, and finding something costs no second round trip. ``claim_near`` is for a backlog deeper than a
claim: each claimer walks the shards from its own, so that many of them do not meet at the same rows. One claim in eight
ignores that, and any claim does once another lane's first run is a second older than that of its own. (On one index
range 47,000 claims/s of 4 claimers fall to 9,000 of 64.) Everything that a claim depends on is checked in its own
statement, whatever is remembered.
"""

from __future__ import annotations

from asyncio import sleep
from typing import Final
from zlib import crc32

from puntual.store.postgres.bury import bury
from puntual.store.postgres.lanes import Lanes, Seen
from puntual.store.postgres.limited import claim_in_turn, claim_limited
from puntual.store.postgres.session import Session
from puntual.store.postgres.taking import Taking, Turns
from puntual.store.requests import Claimed, ClaimRequest

#: Of all lanes together twice what is wanted is read, and of each at least a few.
_PLENTY: Final = 2
_LEAST: Final = 8
_UNSEEN: Final = 32
#: Fewer due runs than this are no deep backlog: they are taken in order.
_DEEP: Final = 50
#: Seconds for which what a look saw is relied on.
_FRESH: Final = 1.0
_IGNORE_SHARD_EVERY: Final = 8
#: How often a claim looks again when others were quicker, and how much longer it lets them finish each time, seconds.
_MOST_LOOKS: Final = 8
_LET_OTHERS: Final = 0.002
#: Kinds of claimers that one process remembers: its tasks change while it starts.
_MOST_KINDS: Final = 16


class Claims:
    """What the claimers of one process remember: the floors of their lanes, and whose turn it is."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._steady = session.around.steady
        self._kinds: dict[tuple[tuple[str, ...], tuple[str, ...] | None], Lanes] = {}
        self._turns = Turns()
        self._count = 0

    async def claim(self, request: ClaimRequest, *, now: int | None) -> Claimed:
        """As ``RunStore.claim``."""
        lanes = Lanes(request.queues) if now is not None or request.alone else self._lanes(request)
        taking = Taking(request, now, lanes, self._turns)
        if request.alone:
            await self._alone(taking)
        else:
            await self._take(taking)
        if taking.unreadable:
            await self._session.write(lambda tx: bury(tx, taking.unreadable), now=now)
        return taking.answer()

    def forget(self) -> None:
        """Forgets every floor: they may not hold for the server that is reached next."""
        # A claim under way goes on with the lanes that it began with, and nobody looks at those again.
        self._kinds = {}

    def _lanes(self, request: ClaimRequest) -> Lanes:
        kind = (request.tasks, request.queues)
        if kind not in self._kinds:
            if len(self._kinds) >= _MOST_KINDS:
                self._kinds.pop(next(iter(self._kinds)))
            self._kinds[kind] = Lanes(request.queues)
        return self._kinds[kind]

    async def _take(self, taking: Taking) -> None:
        self._count += 1
        remembered = taking.given is None and not taking.request.sweep and self._is_fresh(taking.lanes)
        if remembered and self._count % 2:
            # The limited queues and all others go first in turn: neither keeps the other waiting.
            await claim_limited(self._session, taking, fresh=False)
        if remembered and self._count % _IGNORE_SHARD_EVERY:
            await self._near(taking)
        if taking.left > 0:
            fresh = await self._in_order(taking, remembered=remembered)
            await claim_limited(self._session, taking, fresh=fresh)

    async def _near(self, taking: Taking) -> None:
        lanes = taking.lanes
        order = lanes.near(crc32(taking.request.worker.encode()) & 31, taking.until) if lanes.deep else None
        if order and taking.left > 0:
            lanes.deep = await self._session.single(lambda tx: taking.near(tx, order))

    async def _in_order(self, taking: Taking, *, remembered: bool) -> bool:
        """Says whether all lanes were looked at."""
        lanes, wanted = taking.lanes, taking.left
        whole = not (remembered and lanes.deep and lanes.due(taking.until))
        share = min(wanted, max(_PLENTY * wanted // (len(lanes.due(taking.until)) or _UNSEEN), _LEAST))
        seen = await self._look(taking, share, whole=whole)
        while seen.sight is not None and seen.sight.news and taking.left > 0:
            seen = await self._look(taking, share, whole=True)
        lanes.deep = 2 * seen.found >= 3 * max(wanted, _DEEP)
        for looks in range(_MOST_LOOKS):
            if taking.contested and taking.given is None:
                await self._near(taking)  # Where the first runs are, many claimers meet.
            if taking.left <= 0 or not (taking.contested or (seen.cut and share < taking.left)):
                break
            # Others were quicker, or a few lanes are deep among many: what is left is read from each in full.
            share = taking.left
            if taking.contested:
                await sleep(looks * _LET_OTHERS)
            seen = await self._look(taking, share, whole=False)
        if not whole and taking.left == wanted:
            # Others of this process took what the lanes were remembered by.
            await self._look(taking, share, whole=True)
            return True
        return whole

    async def _look(self, taking: Taking, share: int, *, whole: bool) -> Seen:
        if whole:
            taking.lanes.looked_at = self._steady()
        return await self._session.single(lambda tx: taking.in_order(tx, share, whole=whole), now=taking.given)

    async def _alone(self, taking: Taking) -> None:
        limited = await self._session.single(taking.alone, now=taking.given)
        if limited and taking.left > 0:
            await claim_in_turn(self._session, taking, limited, taking.alone_of)

    def _is_fresh(self, lanes: Lanes) -> bool:
        return self._steady() - lanes.looked_at < _FRESH
