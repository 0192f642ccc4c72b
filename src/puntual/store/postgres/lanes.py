"""What a claimer remembers of its lanes: a floor for each, below which nothing that it could take is or will be.

A lane is a queue's shard and priority. Whoever makes a run claimable has a transaction number before it reads the clock
and writes ``claim_at`` not before that time. So a look notes the time, then takes a number of its own: once a later
look sees that every number up to that one is done with, whatever is claimable from before the noted time is visible to
it, and nothing more will come. The floor is the lesser of the first run that such a look finds in the lane and that
time, less a second for clocks that are set. (24 writers, transactions to 5 s, claims that roll back: a floor that
trails by 3 s instead overlooked 81 of 626 runs, this one none of 708.) A long writer holds floors back, a reader does
not. A floor that was right stays right on this server as long as its clock is not set back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from puntual.model.instant import SECOND
from puntual.model.run import Priority, Run
from puntual.store.rows.shares import PATTERN

#: Shards of a queue times priorities: lane ``n`` of all is queue ``n >> 7``, shard ``n >> 2 & 31``, priority ``n & 3``.
PER_QUEUE: Final = 128
LOWEST: Final = -(2**63)
#: How far a floor stays behind the time noted.
TRAIL_US: Final = SECOND
#: A lane whose first run has waited so much longer than another's is nearer, wherever it is.
_OLDER_US: Final = SECOND
#: A clock that has gone back by this, which a floor's trail covers twice, is taken for one that was set.
_SET_BACK_US: Final = SECOND // 2
#: Notes are taken at most this often, and kept at most so many: a writer may hold floors back for hours.
_NOTE_US: Final = SECOND // 5
_MOST_NOTES: Final = 128
#: An idle look takes a number only after so many others were: an idle fleet should not use them up.
_OTHERS: Final = 256


class Sight(msgspec.Struct, frozen=True, array_like=True):
    """What a look at all lanes sees beside them.

    ``noted`` is a time read before ``number``, a transaction number of its own, was taken; all numbers below ``xmin``
    are done with, and ``xmax`` was about to be given. ``news`` are queues not met before, ``rooms`` what limited queues
    may still run.
    """

    noted: int
    number: int | None
    xmin: int
    xmax: int
    news: tuple[str, ...]
    paused: tuple[str, ...]
    rooms: dict[str, int]
    alone_waiting: bool


class Seen(msgspec.Struct, frozen=True, array_like=True):
    """What a claim in order saw: how many due runs it read, whether a lane was ``cut``, and the first run of each.

    Of those ``found``, ``fit`` were chosen: as many as were wanted and their bytes allowed.
    """

    now: int
    alive: bool
    shut: bool
    found: int
    fit: int
    cut: bool
    heads: tuple[tuple[int, int], ...]
    sight: Sight | None


class Lanes:
    """The lanes of one kind of claimer, who knows certain tasks and serves certain queues (None: all)."""

    def __init__(self, queues: Sequence[str] | None = None) -> None:
        self.names: list[str] = []
        self.floors: list[int] = []
        #: The first run of each lane that has any, as far as is known.
        self.heads: dict[int, int] = {}
        self.paused: frozenset[str] = frozenset()
        self.rooms: dict[str, int] = {}
        #: More was due than could be taken.
        self.deep = False
        self.alone_waiting = False
        #: When all lanes were looked at, seconds of a steady clock.
        self.looked_at = float("-inf")
        #: The last time that was heard of the database's clock.
        self.now = LOWEST
        self._notes: list[tuple[int, int]] = []
        self._safe = LOWEST
        self._latest = LOWEST
        self._xmax = 0
        self.meet(queues or ())

    def meet(self, queues: Iterable[str]) -> None:
        """Learns of queues."""
        new = [name for name in dict.fromkeys(queues) if name not in self.names]
        # New lists: those in hand are parameters of a statement under way.
        self.names = self.names + new
        self.floors = self.floors + [LOWEST] * (PER_QUEUE * len(new))

    def of(self, run: Run) -> int:
        """The lane of a run."""
        return self.names.index(run.queue) * PER_QUEUE + (int(run.id[-2:], 16) & 31) * 4 + run.priority

    def wants_number(self) -> bool:
        """Whether the next look should take a transaction number."""
        number, noted = self._notes[-1] if self._notes else (0, LOWEST)
        return self.now - noted >= _NOTE_US and (self.deep or self._xmax - number >= _OTHERS)

    def glance(self, looked: Sequence[int], seen: Seen, *, left: bool) -> None:
        """Takes in what a claim from some lanes saw, and whether anything is left in them."""
        for lane in looked:
            self.heads.pop(lane, None)
        if left:
            self.heads.update(seen.heads)

    def learn(self, seen: Seen, looked: int) -> None:
        """Takes in what a look at all lanes, that many, saw."""
        assert seen.sight is not None
        sight = seen.sight
        if seen.now < self._latest - _SET_BACK_US:
            self.floors = [LOWEST] * len(self.floors)
            self._notes.clear()
            self._safe = LOWEST
        self._latest = seen.now
        self._raise(dict(seen.heads), sight, looked)
        self.heads = dict(seen.heads)
        self.paused, self.rooms = frozenset(sight.paused), sight.rooms
        self.alone_waiting = sight.alone_waiting
        self._xmax = sight.xmax
        self.meet(sight.news)

    def _raise(self, heads: dict[int, int], sight: Sight, looked: int) -> None:
        safe = max((noted for number, noted in self._notes if number < sight.xmin), default=LOWEST)
        if sight.number is not None:
            if len(self._notes) >= _MOST_NOTES:
                del self._notes[-1]
            self._notes.append((sight.number, sight.noted))
        if safe == LOWEST or safe < self._safe:
            return
        self._safe = safe
        self._notes = [note for note in self._notes if note[1] >= safe]
        limit = safe - TRAIL_US
        floors = [limit] * looked + self.floors[looked:]
        for lane, head in heads.items():
            floors[lane] = min(head, limit)
        self.floors = floors

    def due(self, until: int) -> list[int]:
        """The lanes of unlimited queues that had a run due, as far as is known."""
        shut = self._shut()
        return [lane for lane, head in self.heads.items() if head <= until and lane >> 7 not in shut]

    def due_in(self, queue: str, until: int) -> list[int]:
        """The lanes of one queue that had a run due; none where others serve it, or it never had a run."""
        if queue not in self.names:
            return []
        number = self.names.index(queue) if queue in self.names else -1
        return [lane for lane, head in self.heads.items() if head <= until and lane >> 7 == number]

    def next_after(self, until: int) -> int | None:
        """When the next run that is known becomes due, of queues that are not paused."""
        paused = {number for number, name in enumerate(self.names) if name in self.paused}
        return min(
            (head for lane, head in self.heads.items() if head > until and lane >> 7 not in paused), default=None
        )

    def near(self, home: int, until: int) -> list[int]:
        """The lanes that have runs due: from the shard ``home`` round, those a second older before all others."""
        return sorted(self.due(until), key=lambda lane: (self.heads[lane] // _OLDER_US, ((lane >> 2) - home) & 31))

    def took(self, order: Sequence[int], claimed: Sequence[tuple[int, int]], shares: Sequence[int]) -> None:
        """Takes in what a claim near by took, as (lane, ``claim_at``), and how much of each class it had wanted."""
        counts = [0] * len(shares)
        last = {}
        for lane, claim_at in claimed:
            self.heads[lane] = claim_at
            counts[lane & 3] += 1
            last[lane & 3] = lane
        for lane in order:
            wanted, ended = shares[lane & 3], last.get(lane & 3)
            if ended == lane and counts[lane & 3] >= wanted:
                last.pop(lane & 3)
            elif ended is not None or counts[lane & 3] < wanted:
                # It was walked through, and what is in it others have locked.
                self.heads.pop(lane, None)

    def _shut(self) -> set[int]:
        return {number for number, name in enumerate(self.names) if name in self.paused or name in self.rooms}


def cumulative(turn: int, limit: int) -> list[int]:
    """How many of the next ``limit`` turns belong to each class or one above it."""
    rounds, rest = divmod(limit, len(PATTERN))
    turns = [*PATTERN, *PATTERN][turn : turn + rest]
    counts = [rounds * PATTERN.count(priority) + turns.count(priority) for priority in Priority]
    return [sum(counts[: place + 1]) for place in range(len(counts))]


def shared(turn: int, limit: int, present: Iterable[int]) -> list[int]:
    """How many of the next ``limit`` turns go to each class, if those present have plenty and the others nothing."""
    there = sorted(set(present))
    sums = cumulative(turn, limit)
    given = 0
    shares = [0] * len(sums)
    for priority in there:
        shares[priority] = sums[priority] - given
        given = sums[priority]
    if there:
        shares[there[0]] += limit - given
    return shares
