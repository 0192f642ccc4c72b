"""Claim: a worker takes due runs, priorities sharing 8 : 4 : 2 : 1, and no statement reads more than it may take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from puntual.model.run import Priority, Run
from puntual.model.schedule import Pause
from puntual.store.requests import Claimed, ClaimRequest
from puntual.store.sqlite.codec import decode_runs, encode
from puntual.store.sqlite.transaction import Tx

#: Rows of a lane looked at beyond those wanted, before a lane headed by unknown tasks is left; a sweep looks further.
_LOOK = 1_000
_SWEEP_LOOK = 20_000
#: With more lanes than this a claim reads a share of each: 1,000 lanes to 100 runs each took 140 ms, in shares 15 ms.
_FEW_LANES = 8
_WEIGHTS = {Priority.CRITICAL: 8, Priority.HIGH: 4, Priority.NORMAL: 2, Priority.LOW: 1}


#: When it can be claimed, its place, the size of its arguments.
_Candidate = tuple[int, int, int]


class _Lane(msgspec.Struct, frozen=True, array_like=True):
    """The runs of one queue and priority that could be taken, and how many of its queue still may run."""

    priority: Priority
    queue: str
    room: int | None
    due: tuple[_Candidate, ...]
    next_claim_at: int | None


class _Worker(msgspec.Struct, frozen=True, array_like=True):
    ended: int
    draining: int


class _Offer(msgspec.Struct, frozen=True, array_like=True):
    """What there is for a worker: its own lease, the pause of everything, whether a lone run waits, and lanes."""

    worker: _Worker | None
    pause: Pause | None
    alone_waiting: int
    lanes: tuple[_Lane, ...]


_offer = msgspec.json.Decoder(_Offer)


def _pattern() -> tuple[Priority, ...]:
    """The 15 slots of one round of shares, each class spread evenly over it."""
    places = [(turn / weight, -weight, priority) for priority, weight in _WEIGHTS.items() for turn in range(weight)]
    return tuple(priority for _, _, priority in sorted(places))


_PATTERN = _pattern()


class Shares:
    """Whose turn it is: the round goes on from one claim to the next, so that claims of one run starve nobody."""

    def __init__(self) -> None:
        self._turn = 0
        self._lanes = 1

    def per_lane(self, limit: int) -> int:
        """How much of each lane to read: all that may be wanted of it, unless there were many lanes the last time."""
        return limit if self._lanes <= _FEW_LANES else min(limit, max(4 * limit // self._lanes, _FEW_LANES))

    def order(self, lanes: Sequence[_Lane], limit: int) -> Sequence[_Candidate]:
        """The candidates in the order in which to take them; an unused turn passes to the next lower class."""
        room = {lane.queue: lane.room for lane in lanes if lane.room is not None}
        filled = [lane for lane in lanes if lane.due]
        self._lanes = len(filled)
        if len(filled) == 1 and not room:
            return filled[0].due[:limit]
        classes = [_in_time(filled, priority, room) for priority in Priority]
        order: list[_Candidate] = []
        while len(order) < limit:
            wanted = _PATTERN[self._turn % len(_PATTERN)]
            turns = (classes[(wanted + step) % len(classes)] for step in range(len(classes)))
            candidate = next((found for turn in turns if (found := next(turn, None)) is not None), None)
            if candidate is None:
                break
            self._turn += 1
            order.append(candidate)
        return order


def claim(tx: Tx, request: ClaimRequest, shares: Shares) -> Claimed:
    """Takes what is due, of tasks and lanes asked for, as far as pauses, limits and bytes allow."""
    share = shares.per_lane(request.limit)
    offer = _read(tx, request, share)
    if offer.worker is None or offer.worker.ended:
        return Claimed(runs=(), now=tx.now, lost_lease=True)
    if offer.worker.draining or (offer.pause is not None and offer.pause.active(tx.now)):
        return Claimed(runs=(), now=tx.now)
    order = shares.order(offer.lanes, request.limit)
    if len(order) < request.limit and any(len(lane.due) == share < request.limit for lane in offer.lanes):
        offer = _read(tx, request, request.limit)
        order = shares.order(offer.lanes, request.limit)
    picked = _within(order, request.max_bytes)
    return Claimed(
        runs=_take(tx, request.worker, picked) if picked else (),
        now=tx.now,
        next_claim_at=min((lane.next_claim_at for lane in offer.lanes if lane.next_claim_at is not None), default=None),
        alone_waiting=bool(offer.alone_waiting),
    )


def _read(tx: Tx, request: ClaimRequest, share: int) -> _Offer:
    look = _SWEEP_LOOK if request.sweep else request.limit + _LOOK
    queues = None if request.queues is None else encode(request.queues)
    text = tx.text(
        "claim_alone" if request.alone else "claim_lanes",
        request.worker,
        tx.now + request.ahead_us,
        look,
        share,
        encode(request.tasks),
        queues,
    )
    return _offer.decode(text)


def _take(tx: Tx, worker: str, picked: Sequence[int]) -> tuple[Run, ...]:
    places = encode(picked)
    tx.change("claim_runs", places, worker, tx.now)
    return decode_runs(tx.text("claim_read", places))


def _in_time(lanes: Sequence[_Lane], priority: Priority, room: dict[str, int]) -> Iterator[_Candidate]:
    """The candidates of one class from all queues, the earliest first, while their queue may still run one."""
    mine = sorted((run, lane.queue) for lane in lanes if lane.priority is priority for run in lane.due)
    for run, queue in mine:
        left = room.get(queue, 1)
        if left > 0:
            if queue in room:
                room[queue] = left - 1
            yield run


def _within(candidates: Sequence[_Candidate], max_bytes: int) -> list[int]:
    """The first candidates whose arguments fit, and one in any case."""
    picked: list[int] = []
    for _, seq, size in candidates:
        max_bytes -= size
        if picked and max_bytes < 0:
            break
        picked.append(seq)
    return picked
