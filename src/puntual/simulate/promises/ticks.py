"""Promise G1: every tick that came due is covered once, by its run or in a stretch, with the fate that was its own.

The record of ticks is read as users read it, and beside it the rules as they were asked for are counted out anew. What
decided each tick, and when, is known from the writes that were seen; that they were right is what is found out here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from uuid import UUID

import msgspec

from puntual.model.instant import SECOND
from puntual.model.run import LIVE_STATES
from puntual.model.schedule import Tick
from puntual.simulate.clocks import START
from puntual.simulate.database import Database
from puntual.simulate.promises.fates import Decided, undecided, waits, wrong_fate
from puntual.simulate.promises.grid import GAP, Grid
from puntual.simulate.promises.history import Decision, Life, Past
from puntual.simulate.world import World
from puntual.store.requests import Page, RunFilter, TickFilter

_PAGE = 1_000
#: Spread and jitter are drawn below this together: no tick from longer before is due after an instant.
_MOVED = 10 * SECOND


def check_ticks(world: World) -> None:
    """Holds the record of ticks of a world at rest to what was asked of every schedule."""
    live = world.database.do(lambda store: store.list_runs(RunFilter(states=LIVE_STATES), Page(limit=_PAGE)))
    busy = {run.schedule for run in live.items if run.schedule is not None}
    for sentence in wrong_ticks(world.watch.history.past(), all_ticks(world.database), busy):
        world.record.broken("G1", sentence)


def all_ticks(database: Database) -> list[Tick]:
    """The whole record, of all schedules that there ever were."""
    found: list[Tick] = []
    after: str | None = None
    while True:
        page = Page(limit=_PAGE, after=after)
        read = database.do(lambda store: store.list_ticks(TickFilter(), page))  # noqa: B023 - done at once
        found += read.items
        after = read.next
        if after is None:
            return found


def wrong_ticks(past: Past, record: Sequence[Tick], busy: Collection[str] = ()) -> Iterator[str]:
    """What does not hold, a sentence each; of each schedule the first thing.

    Args:
        past: what happened to all schedules.
        record: the record of their ticks.
        busy: the names of schedules with a live run, which ticks may wait for.
    """
    by_name = sorted(record, key=lambda tick: (tick.schedule, tick.number, tick.tick_at))
    ticks = {name: list(group) for name, group in groupby(by_name, key=lambda tick: tick.schedule)}
    for life in past.lives:
        wrong = next(_Reading(life, past, busy=life.name in busy).wrong(ticks.pop(life.name, [])), None)
        if wrong is not None:
            yield f"{life.name}: {wrong}"
    for name in ticks:
        yield f"{name}: there are ticks of a schedule that nobody made"


def run_id_of(schedule_id: str, tick: int) -> str:
    """The id that the run of a tick has, whoever plans it: a UUIDv8 of its milliseconds and a hash."""
    digest = hashlib.sha256(f"tick\0{schedule_id}\0{tick}".encode()).digest()
    octets = bytearray((tick // 1_000).to_bytes(6, "big") + digest[:10])
    octets[6] = octets[6] & 0x0F | 0x80
    octets[8] = octets[8] & 0x3F | 0x80
    return str(UUID(bytes=bytes(octets)))


class _Piece(msgspec.Struct, frozen=True):
    """A part of a row of the record: what one write decided under one rule."""

    row: Tick
    reign: int
    decision: int
    count: int
    first: bool
    last: bool


class _Reading:
    """One schedule's record, read from its first number on beside the ticks that its rules gave."""

    def __init__(self, life: Life, past: Past, *, busy: bool) -> None:
        self._life = life
        self._past = past
        self._busy = busy
        self._number = 1
        self._last_tick = life.reigns[0].start  # A tick from before it was made is not owed, wherever spread moves it.
        self._reign = 0
        self._decision = 0
        self._begin()

    def wrong(self, rows: Sequence[Tick]) -> Iterator[str]:
        """What does not hold; after the first thing the rest means nothing."""
        for row in rows:
            if row.number != self._number:
                yield from self._hole(row)
            for piece in self._pieces(row):
                if isinstance(piece, str):
                    yield piece
                    return
                yield from self._until(piece.reign)
                yield from self._read(piece)
        yield from self._until(len(self._life.reigns) - 1)
        yield from self._end()
        yield from self._runs(rows)

    # The rule in force

    def _begin(self) -> None:
        """The rule in force gives its first tick: the first that is due after it came into force."""
        reign = self._life.reigns[self._reign]
        self._grid = Grid(reign.spec)
        first = max(self._last_tick + 1, reign.start - _MOVED)
        self._ticks = self._grid.between(first, self._past.highest + GAP)
        self._at = self._grid.due_by(self._ticks, reign.start)

    def _until(self, reign: int) -> Iterator[str]:
        """The rules before this one are over: nothing of them is left undecided."""
        while self._reign < reign:
            yield from self._left(self._life.reigns[self._reign].until, "an edit")
            self._reign += 1
            self._begin()

    def _left(self, until: int, what: str) -> Iterator[str]:
        if self._at < len(self._ticks) and self._grid.due(self._ticks[self._at]) <= until:
            yield f"the tick {_at(self._ticks[self._at])}, due before {what} at {_at(until)}, is not in the record"

    def _end(self) -> Iterator[str]:
        if self._life.removed_at is not None:
            yield from self._left(self._life.removed_at, "its removal")
            return
        reign = self._life.reigns[-1]
        decisions = self._life.decisions
        if not (self._busy and waits(reign.spec)):
            yield from self._left(undecided(reign, decisions[-1] if decisions else None, self._past), "the last look")

    # The record

    def _hole(self, row: Tick) -> Iterator[str]:
        """A removed schedule's runs that were planned ahead went with it, those already claimed did not."""
        if row.number < self._number:
            yield f"the tick {_at(row.tick_at)} has the number {row.number} of another"
        while self._number < row.number and self._at < len(self._ticks):
            tick = self._ticks[self._at]
            removed = self._life.removed_at
            if removed is None or self._grid.due(tick) <= removed or self._id(tick) not in self._life.withdrawn:
                break
            self._step(1)
        if self._number < row.number:
            yield f"number {self._number}, before the tick {_at(row.tick_at)}, is not in the record"

    def _pieces(self, row: Tick) -> Iterator[_Piece | str]:
        """The parts of a row."""
        reigns, decisions = self._life.reigns, self._life.decisions
        reign = self._reign
        number, end = row.number, row.number + row.count - 1
        while number <= end:
            while reign + 1 < len(reigns) and reigns[reign + 1].after < number:
                reign += 1
            while self._decision < len(decisions) and decisions[self._decision].last < number:
                self._decision += 1
            if self._decision == len(decisions):
                yield f"nobody decided the tick {_at(row.tick_at)}, number {number}"
                return
            until = min(end, decisions[self._decision].last)
            if reign + 1 < len(reigns):
                until = min(until, reigns[reign + 1].after)
            count = until - number + 1
            yield _Piece(row, reign, self._decision, count, number == row.number, until == end)
            number = until + 1

    def _read(self, piece: _Piece) -> Iterator[str]:
        row = piece.row
        ticks = self._ticks[self._at : self._at + piece.count]
        if len(ticks) < piece.count or row.at_least:
            yield f"{row.count} ticks from {_at(row.tick_at)} are more than the rule gives"
        elif piece.first and ticks[0] != row.tick_at:
            yield f"the tick {_at(ticks[0])} is not in the record, which has {_at(row.tick_at)} as number {row.number}"
        elif piece.last and ticks[-1] != row.last_tick_at:
            yield f"{row.count} ticks from {_at(row.tick_at)} end at {_at(ticks[-1])}, not at {_at(row.last_tick_at)}"
        elif row.run_id is not None and (row.count != 1 or row.run_id != self._id(row.tick_at)):
            yield f"{row.run_id} is not the run of the tick {_at(row.tick_at)}"
        else:
            wrong = wrong_fate(self._decided(piece, ticks), self._past)
            self._step(piece.count)
            if wrong is not None:
                what = f"{row.fate} ({row.reason})" if row.reason else str(row.fate)
                yield f"the tick {_at(ticks[0])}, number {self._number - piece.count}, is {what}, but {wrong}"

    def _decided(self, piece: _Piece, ticks: Sequence[int]) -> Decided:
        following = self._at + piece.count
        while following < len(self._ticks) and self._grid.shut(self._ticks[following]):
            following += 1
        before: Decision | None = None
        if piece.decision and self._life.decisions[piece.decision - 1].last > self._life.reigns[self._reign].after:
            before = self._life.decisions[piece.decision - 1]
        return Decided(
            grid=self._grid,
            reign=self._life.reigns[self._reign],
            decision=self._life.decisions[piece.decision],
            before=before,
            ticks=ticks,
            following=self._ticks[following] if following < len(self._ticks) else None,
            fate=piece.row.fate,
            reason=piece.row.reason,
            ran=piece.row.run_id is not None,
        )

    def _step(self, count: int) -> None:
        self._at += count
        self._number += count
        self._last_tick = self._ticks[self._at - 1]

    def _id(self, tick: int) -> str:
        return run_id_of(self._life.id, tick)

    def _runs(self, rows: Sequence[Tick]) -> Iterator[str]:
        """The runs that ticks were given and those in the record are the same, but for those whose key was taken."""
        recorded = {row.run_id for row in rows if row.run_id is not None}
        for row in rows:
            if row.run_id is not None and row.run_id not in self._life.planned:
                yield f"{row.run_id} is in the record and was never planned"
        if all(reign.spec.unique_key is None for reign in self._life.reigns):
            for run_id in self._life.planned:
                if run_id not in recorded:
                    yield f"{run_id} was planned and its tick is not in the record"


def _at(instant: int) -> str:
    """An instant as seconds since the beginning, as stories count them."""
    return f"{(instant - START) / SECOND:.3f} s"
