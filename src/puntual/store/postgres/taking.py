"""One claim under way: what was asked for, and what of it was taken so far, statement by statement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from puntual.model.run import Run
from puntual.store.postgres.lanes import LOWEST, Lanes, Seen, cumulative, shared
from puntual.store.postgres.records import claimed_runs
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Claimed, ClaimRequest
from puntual.store.rows.codec import decode, encode
from puntual.store.rows.readable import Unreadable
from puntual.store.rows.shares import PATTERN

if TYPE_CHECKING:
    from asyncpg import Record

_seen = msgspec.json.Decoder(Seen)


class _Lone(msgspec.Struct, frozen=True, array_like=True):
    """What a claim of lone runs saw: its time, the lease, when the next is due, limited queues that have one."""

    now: int
    alive: bool
    next_claim_at: int | None
    limited: tuple[str, ...]


_lone = msgspec.json.Decoder(_Lone)


class _Look(NamedTuple):
    """Lanes to look at, how much of each to read, how much to take; of a limited queue, or as a look at everything."""

    lanes: Sequence[int]
    share: int
    limit: int
    queue: str | None = None
    whole: bool = False


class Turns:
    """Whose turn it is: the round goes on from one claim to the next, so that claims of one run starve nobody."""

    def __init__(self) -> None:
        self.at = 0

    def use(self, count: int) -> None:
        """So many turns were taken."""
        self.at = (self.at + count) % len(PATTERN)


class Taking:
    """A request, what is remembered of its lanes, and the runs that it has got.

    Args:
        request: what is asked for.
        given: the time to go by; None for the database's clock.
        lanes: what is remembered.
        turns: whose turn it is among the priorities.
    """

    def __init__(self, request: ClaimRequest, given: int | None, lanes: Lanes, turns: Turns) -> None:
        self.request = request
        self.given = given
        self.lanes = lanes
        self.runs: list[Run] = []
        self.unreadable: list[Unreadable] = []
        #: Some of what was chosen was taken by others meanwhile.
        self.contested = False
        self._turns = turns
        self._bytes_left = request.max_bytes
        self._full = False
        self._now = 0
        self._lost_lease = False
        self._shut = False
        self._overlooked = 0
        self._next_lone: int | None = None

    @property
    def left(self) -> int:
        """How many runs may still be taken."""
        return 0 if self._full or self._shut or self._lost_lease else self.request.limit - len(self.runs)

    @property
    def until(self) -> int:
        """Up to when what becomes claimable is taken, by the last time that was heard."""
        return self.lanes.now + self.request.ahead_us

    def answer(self) -> Claimed:
        """What came of it."""
        if self._lost_lease or self._shut:
            return Claimed(runs=tuple(self.runs), now=self._now, lost_lease=self._lost_lease)
        until = self._now + self.request.ahead_us
        return Claimed(
            runs=tuple(self.runs),
            now=self._now,
            next_claim_at=self._next_lone if self.request.alone else self.lanes.next_after(until),
            alone_waiting=self.lanes.alone_waiting,
            overlooked=self._overlooked,
        )

    async def in_order(self, tx: Tx, share: int, *, whole: bool) -> Seen:
        """Looks at lanes, all of them if ``whole``, and takes the earliest; ``share`` is how much of each is read."""
        looked = range(len(self.lanes.floors)) if whole else self.lanes.due(self.until)
        limit, floors = self.left, self.lanes.floors
        records, seen = await self._claim_lanes(tx, _Look(looked, share, limit, whole=whole))
        self._hear(seen.now)
        self._lost_lease, self._shut = not seen.alive, seen.shut
        self._full = seen.fit < min(limit, seen.found)
        runs = self.keep(records)
        self.contested = seen.fit > _count(records)
        if whole:
            self.lanes.learn(seen, len(looked))
        else:
            self.lanes.glance(looked, seen, left=seen.cut or seen.found > _count(records))
        if self.request.sweep:
            self._overlooked += sum(run.claim_at < floors[self.lanes.of(run)] for run in runs)
        return seen

    async def in_order_of(self, tx: Tx, queue: str, room: int) -> list[Record]:
        """The same for a limited queue, which the caller has for itself; what comes of it is to be kept."""
        limit = min(room, self.left)
        looked = self.lanes.due_in(queue, self.until)
        records, seen = await self._claim_lanes(tx, _Look(looked, limit, limit, queue=queue))
        # Where this is all that is wanted, nothing else says what time it is.
        self._hear(seen.now)
        self.lanes.glance(looked, seen, left=seen.cut or seen.found > _count(records))
        return records

    async def near(self, tx: Tx, order: Sequence[int]) -> bool:
        """Takes from lanes one after the other; says whether they had all that was wanted."""
        limit, lanes = self.left, self.lanes
        shares = shared(self._turns.at, limit, {lane & 3 for lane in order})
        floors = [lanes.floors[lane] for lane in order]
        request = self.request
        records = await tx.rows(
            "claim_near", request.worker, request.ahead_us, request.tasks, encode(lanes.names), order, floors, shares,
            self._bytes_left,
        )  # fmt: skip
        if not records:
            lanes.took(order, (), shares)
            return False
        self._hear(records[0]["claimed_at"])
        self._full = len(records) < records[0]["found"]
        taken = [(record["number"], record["claim_at"]) for record in records]
        lanes.took(order, taken, [0] * len(shares) if self._full else shares)
        runs = self.keep(records)
        if len({run.priority for run in runs}) > 1:
            self.runs[-len(runs) :] = mixed(runs)
        return self._full or len(records) == limit

    async def alone(self, tx: Tx) -> tuple[str, ...]:
        """Takes lone runs of unlimited queues; gives back the limited ones that have any."""
        records, seen = await self._claim_alone(tx, self.left, None)
        self._hear(seen.now)
        self._lost_lease = not seen.alive
        self._next_lone = seen.next_claim_at
        self.keep(records)
        return seen.limited

    async def alone_of(self, tx: Tx, queue: str, room: int) -> list[Record]:
        """The lone runs of a limited queue, which the caller has for itself; what comes of it is to be kept."""
        records, _ = await self._claim_alone(tx, min(room, self.left), queue)
        return records

    async def _claim_alone(self, tx: Tx, limit: int, queue: str | None) -> tuple[list[Record], _Lone]:
        request = self.request
        records = await tx.rows(
            "claim_alone", request.worker, self.given, request.ahead_us, limit, request.tasks, request.queues, queue,
            self._bytes_left,
        )  # fmt: skip
        return records, decode(_lone, records[0]["seen"])

    async def _claim_lanes(self, tx: Tx, look: _Look) -> tuple[list[Record], Seen]:
        request, lanes = self.request, self.lanes
        floors = [LOWEST] * len(look.lanes) if request.sweep else [lanes.floors[lane] for lane in look.lanes]
        number = look.whole and self.given is None and lanes.wants_number()
        records = await tx.rows(
            "claim_lanes", request.worker, self.given, request.ahead_us, look.limit, request.tasks, encode(lanes.names),
            look.lanes, floors, look.share, cumulative(self._turns.at, look.limit), self._bytes_left, look.queue,
            look.whole, request.queues, number,
        )  # fmt: skip
        return records, decode(_seen, records[0]["seen"])

    def keep(self, records: Sequence[Record]) -> list[Run]:
        """Takes up what a statement gave; what cannot be read is no run for anybody."""
        runs, unreadable = claimed_runs(records if records and records[0]["id"] is not None else ())
        self.runs += runs
        self.unreadable += unreadable
        self._bytes_left -= sum(len(run.args) for run in runs)
        self._turns.use(len(runs))
        return runs

    def _hear(self, now: int) -> None:
        self._now = now
        self.lanes.now = now


def _count(records: Sequence[Record]) -> int:
    """How many runs there are: a statement that claimed none has one record, which says what it saw."""
    return 0 if records[0]["id"] is None else len(records)


def mixed(runs: Sequence[Run]) -> list[Run]:
    """Runs of several classes in the order in which to start them: each class spread evenly, the upper one first."""
    of_class = Counter(run.priority for run in runs)
    rank: Counter[int] = Counter()
    places = []
    for run in runs:
        rank[run.priority] += 1
        places.append(((rank[run.priority] - 0.5) / of_class[run.priority], run.priority))
    return [run for _, run in sorted(zip(places, runs, strict=True), key=lambda pair: pair[0])]
