"""Claim: a worker takes due runs, priorities sharing 8 : 4 : 2 : 1, and no statement reads more than it may take."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence

import msgspec

from puntual.model.run import Priority, Run
from puntual.model.schedule import Pause
from puntual.store.requests import Claimed, ClaimRequest
from puntual.store.rows.codec import decode, encode
from puntual.store.rows.readable import readable_runs
from puntual.store.rows.shares import PATTERN
from puntual.store.sqlite.bury import bury
from puntual.store.sqlite.transaction import Tx

#: With more lanes than this a claim reads a share of each: 1,000 lanes to 100 runs each took 140 ms, in shares 15 ms.
_FEW_LANES = 8


#: When it can be claimed, its place, the size of its arguments.
_Candidate = tuple[int, int, int]


class _Lane(msgspec.Struct, frozen=True, array_like=True):
    """The first runs of one queue, priority and task that are due, and when the next one will be."""

    priority: Priority
    queue: str
    task: str
    due: tuple[_Candidate, ...]
    next_claim_at: int | None


class _Worker(msgspec.Struct, frozen=True, array_like=True):
    ended: int
    draining: int


class _Offer(msgspec.Struct, frozen=True, array_like=True):
    """What there is for a worker: its own lease, pauses, rooms of limited queues, whether a lone run waits, lanes."""

    worker: _Worker | None
    pause: Pause | None
    rooms: dict[str, int]
    alone_waiting: int
    lanes: tuple[_Lane, ...]


_offer = msgspec.json.Decoder(_Offer)
_candidates = msgspec.json.Decoder(tuple[_Candidate, ...])
#: Gives all of a lane that may be wanted, where a share of it was not enough.
_Again = Callable[[_Lane], Sequence[_Candidate]]


class Shares:
    """Whose turn it is: the round goes on from one claim to the next, so that claims of one run starve nobody."""

    def __init__(self) -> None:
        self._turn = 0
        self._lanes = 1

    def per_lane(self, limit: int) -> int:
        """How much of each lane to read at first: all that may be wanted, unless there were many the last time."""
        return limit if self._lanes <= _FEW_LANES else min(limit, max(4 * limit // self._lanes, _FEW_LANES))

    def order(self, limit: int, lanes: Sequence[_Lane], rooms: dict[str, int], again: _Again) -> Sequence[_Candidate]:
        """The candidates in the order in which to take them; an unused turn passes to the next lower class.

        The turns are shared among the classes first, and within a class the earliest goes first, over all its lanes.
        ``again`` is asked for a lane of which more is wanted than was read.
        """
        share = self.per_lane(limit)
        filled = [lane for lane in lanes if lane.due]
        self._lanes = len(filled)
        if not filled:
            return ()
        if len(filled) == 1 and not rooms and (share == limit or len(filled[0].due) < share):
            return filled[0].due[:limit]
        left = dict(rooms)
        more = again if share < limit else None
        classes = [
            _in_time([lane for lane in filled if lane.priority is priority], left, share, more) for priority in Priority
        ]
        order: list[_Candidate] = []
        while len(order) < limit:
            wanted = PATTERN[self._turn % len(PATTERN)]
            turns = (classes[(wanted + step) % len(classes)] for step in range(len(classes)))
            candidate = next((found for turn in turns if (found := next(turn, None)) is not None), None)
            if candidate is None:
                break
            self._turn += 1
            order.append(candidate)
        return order


def claim(tx: Tx, request: ClaimRequest, shares: Shares) -> Claimed:
    """Takes what is due, of tasks and lanes asked for, as far as pauses, limits and bytes allow."""
    until = tx.now + request.ahead_us
    offer = _read(tx, request, request.limit if request.alone else shares.per_lane(request.limit))
    if offer.worker is None or offer.worker.ended:
        return Claimed(runs=(), now=tx.now, lost_lease=True)
    if offer.worker.draining or (offer.pause is not None and offer.pause.active(tx.now)):
        return Claimed(runs=(), now=tx.now)

    def again(lane: _Lane) -> Sequence[_Candidate]:
        text = tx.text("claim_lane", lane.queue, int(lane.priority), lane.task, until, request.limit)
        return decode(_candidates, text)

    order = shares.order(request.limit, offer.lanes, offer.rooms, again)
    picked = _within(order, request.max_bytes)
    return Claimed(
        runs=_take(tx, request.worker, picked) if picked else (),
        now=tx.now,
        next_claim_at=min((lane.next_claim_at for lane in offer.lanes if lane.next_claim_at is not None), default=None),
        alone_waiting=bool(offer.alone_waiting),
    )


def _read(tx: Tx, request: ClaimRequest, share: int) -> _Offer:
    queues = None if request.queues is None else encode(request.queues)
    name = "claim_alone" if request.alone else "claim_lanes"
    until = tx.now + request.ahead_us
    return decode(_offer, tx.text(name, request.worker, until, share, encode(request.tasks), queues))


def _take(tx: Tx, worker: str, picked: Sequence[int]) -> tuple[Run, ...]:
    """Claims runs; what cannot be read is no run for anybody, and dies here instead of blocking its lane."""
    places = encode(picked)
    tx.change("claim_runs", places, worker, tx.now)
    runs, unreadable = readable_runs(tx.text("claim_read", places))
    bury(tx, unreadable)
    return runs


def _in_time(lanes: Sequence[_Lane], rooms: dict[str, int], share: int, again: _Again | None) -> Iterator[_Candidate]:
    """The candidates of one class from all queues, the earliest first, while their queue may still run one."""
    for candidate, queue in heapq.merge(*(_of_lane(lane, rooms, share, again) for lane in lanes)):
        left = rooms.get(queue, 1)
        if left > 0:
            if queue in rooms:
                rooms[queue] = left - 1
            yield candidate


def _of_lane(lane: _Lane, rooms: dict[str, int], share: int, again: _Again | None) -> Iterator[tuple[_Candidate, str]]:
    """The candidates of one lane, read again in full when its class still has turns after those that were read."""
    for candidate in lane.due:
        yield candidate, lane.queue
    if again is not None and len(lane.due) >= share and rooms.get(lane.queue, 1) > 0:
        for candidate in again(lane)[len(lane.due) :]:
            yield candidate, lane.queue


def _within(candidates: Sequence[_Candidate], max_bytes: int) -> list[int]:
    """The first candidates whose arguments fit, and one in any case."""
    picked: list[int] = []
    for _, seq, size in candidates:
        max_bytes -= size
        if picked and max_bytes < 0:
            break
        picked.append(seq)
    return picked
