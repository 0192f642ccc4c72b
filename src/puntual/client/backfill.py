"""Backfill in pieces: each is read, decided and inserted for itself, and a repeat goes on where an answer was lost."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

from puntual.client.core import Core
from puntual.engine.backfill import MOST_TICKS, Lane, Sieve, Span, check_span, run_of_tick
from puntual.engine.due import compiled
from puntual.model.errors import ConflictError
from puntual.model.run import NewRun, Priority
from puntual.model.schedule import Fate, Overlap, Pause, Schedule, Tick
from puntual.store.requests import Page, RunFilter, TickFilter

#: How many ticks one transaction takes: few enough to let others in between.
_CHUNK: Final = 1_000
#: How many rows of the tick record are read at once, and how many runs, which may be large.
_ROWS: Final = 5_000
_RUNS: Final = 200
#: How many of the first and of the last ticks are named.
_NAMED: Final = 3


class BackfillOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to backfill.

    Args:
        overlap: what to do if a run of the schedule is live now, as for a trigger; None: it is none of our concern.
        queue: the lane of the runs; None: the schedule's.
        priority: None: the schedule's.
        limit: make at most so many runs, and say where to go on.
    """

    overlap: Overlap | None = None
    queue: str | None = None
    priority: Priority | None = None
    limit: int | None = None


class Backfilled(msgspec.Struct, frozen=True, kw_only=True):
    """What a backfill did, or would do.

    ``ticks`` are all of the time asked for. Of those looked at, ``runs`` were made, ``existing`` had been made by an
    earlier backfill, and ``skipped`` counts the others by reason: ``ran``, ``planned``, ``calendar``, ``blackout``.
    ``first`` and ``last`` name some of the ticks whose runs were made. ``next_since`` is where to go on if the limit
    ended it.
    """

    schedule: Schedule
    span: Span
    ticks: int
    runs: int
    existing: int
    skipped: dict[str, int]
    first: tuple[int, ...]
    last: tuple[int, ...]
    next_since: int | None


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What a backfill decides from; ``now`` was read first, then the pause of everything, then the schedule."""

    now: int
    paused_all: Pause | None
    schedule: Schedule


class Backfill:
    """One backfill under way.

    Args:
        core: the store, and whom to wake.
        seen: the schedule as it stands.
        span: which time.
        options: how.
    """

    def __init__(self, core: Core, seen: Seen, span: Span, options: BackfillOptions) -> None:
        self._core = core
        self._seen = seen
        self._span = span
        self._lane = Lane(queue=options.queue, priority=options.priority)
        self._limit = MOST_TICKS if options.limit is None else options.limit
        self._made: list[int] = []
        self._existing = 0
        self._skipped = Counter[str]()

    async def do(self, *, dry_run: bool) -> Backfilled:
        """All of it, or up to the limit; a dry run makes nothing.

        Raises:
            InvalidError: the span cannot be backfilled.
            ConflictError: the unique key of the run is held by another live run.
        """
        seen, span = self._seen, self._span
        ticks = check_span(seen.schedule.spec, span, seen.now)
        rule = compiled(seen.schedule.spec.timetable)
        after, rest = span.since - 1, None
        while rest is None and (chunk := rule.between(after, span.until - 1, _CHUNK)):
            after = chunk[-1]
            taken, rest = self._sorted(chunk, await self._sieve(chunk))
            runs = [run_of_tick(seen.schedule, tick, self._lane, seen.now) for tick in taken]
            standing = await (self._standing(runs) if dry_run else self._insert(runs))
            self._existing += len(standing)
            self._made += [tick for run, tick in zip(runs, taken, strict=True) if run.id not in standing]
            # Working out what is due is work too: others on this loop get their turn.
            await asyncio.sleep(0)
        return Backfilled(
            schedule=seen.schedule,
            span=span,
            ticks=ticks,
            runs=len(self._made),
            existing=self._existing,
            skipped=dict(self._skipped),
            first=tuple(self._made[:_NAMED]),
            last=tuple(self._made[_NAMED:][-_NAMED:]),
            next_since=rest,
        )

    def _sorted(self, chunk: Sequence[int], sieve: Sieve) -> tuple[list[int], int | None]:
        """The ticks that become runs, and the one to go on with if the limit is reached; others are counted."""
        taken: list[int] = []
        for tick in chunk:
            if (reason := sieve.reason(tick)) is not None:
                self._skipped[reason] += 1
            elif len(self._made) + len(taken) == self._limit:
                return taken, tick
            else:
                taken.append(tick)
        return taken, None

    async def _sieve(self, chunk: Sequence[int]) -> Sieve:
        """Reads what the record says of these ticks."""
        seen = self._seen
        pauses = [pause for pause in (seen.schedule.pause, seen.paused_all) if pause is not None]
        return Sieve(seen.schedule, await self._record(chunk[0], chunk[-1] + 1), pauses, seen.now)

    async def _record(self, since: int, until: int) -> list[Tick]:
        """What ran there, and what is still to run."""
        where = TickFilter(schedule=self._seen.schedule.name, fates=(Fate.RAN, Fate.PLANNED), since=since, until=until)
        rows: list[Tick] = []
        after: str | None = None
        while True:
            part = await self._core.store.list_ticks(where, Page(limit=_ROWS, after=after))
            rows += part.items
            after = part.next
            if after is None:
                return rows

    async def _standing(self, runs: Sequence[NewRun]) -> set[str]:
        """The ids of those that an earlier backfill made."""
        found: set[str] = set()
        for start in range(0, len(runs), _RUNS):
            ids = tuple(run.id for run in runs[start : start + _RUNS])
            part = await self._core.store.list_runs(RunFilter(ids=ids), Page(limit=_RUNS))
            found.update(run.id for run in part.items)
        return found

    async def _insert(self, runs: Sequence[NewRun]) -> set[str]:
        """Makes the runs; gives the ids of those that stood already."""
        if not runs:
            return set()
        answers = await self._core.store.enqueue(runs, repeat=True)
        self._core.wake.hint({runs[0].queue})
        for run, answer in zip(runs, answers, strict=True):
            if answer.id != run.id:
                raise ConflictError(
                    f"Run {answer.id} is live and holds the unique key of {run.schedule}; nothing was started.",
                    hint="Wait for it or cancel it.",
                )
        return {answer.id for answer in answers if answer.existing}
