"""Backfill: which ticks of a stretch of the past become runs, decided purely, so that none of them runs a second time.

A tick is left alone if the record says that it ran, if its run is still to come, or if nothing runs at its time (a
calendar or a blackout). Any other tick of the rule as it is now becomes a run: what was missed, skipped or coalesced,
and what lies before the schedule was made or further back than the record goes.

The runs stand beside the schedule: they take part neither in its overlap policy nor in its record of ticks, so that a
thousand of them delay no tick to come. That is why they carry its name and not its id.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from puntual.engine.due import compiled, due
from puntual.engine.walk import run_of
from puntual.model.errors import InvalidError
from puntual.model.ids import backfill_run_id
from puntual.model.instant import format_instant
from puntual.model.run import NewRun, Origin, Priority
from puntual.model.schedule import Fate, Pause, Schedule, ScheduleSpec, Tick

#: A request covers at most so many ticks.
MOST_TICKS: Final = 100_000
#: Why a tick is left alone: one of these, or why it is closed (``calendar``, ``blackout``).
RAN: Final = "ran"
PLANNED: Final = "planned"


class Span(msgspec.Struct, frozen=True):
    """A stretch of time, ``until`` excluded."""

    since: int
    until: int


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """Where the runs wait, if not where those of the schedule do."""

    queue: str | None = None
    priority: Priority | None = None


def check_span(spec: ScheduleSpec, span: Span, now: int) -> int:
    """How many ticks there are to look at.

    Raises:
        InvalidError: the span is empty, reaches beyond now or has too many ticks, or a unique key lets only one of
            their runs live.
    """
    since, until = format_instant(span.since), format_instant(span.until)
    for field, text, instant in (("since", since, span.since), ("until", until, span.until)):
        if instant > now:
            raise InvalidError(
                f"{field} is {text}, which is still to come: only ticks that have passed can be made up for.",
                field=field,
            )
    if span.since >= span.until:
        raise InvalidError(f"since is {since}, which is not before until, {until}.", field="since")
    count = compiled(spec.timetable).count(span.since - 1, span.until - 1, MOST_TICKS + 1)
    if count > MOST_TICKS:
        raise InvalidError(
            f"{spec.name} has more than {MOST_TICKS:,} ticks from {since} to {until}, and that is the most at once.",
            hint="Split the time into several requests.",
            field="since",
        )
    if count > 1 and spec.unique_key is not None:
        raise InvalidError(
            f"{spec.name} has a unique key, so only one run of it can be live, and there are {count:,} ticks from"
            f" {since} to {until}.",
            hint="Backfill one tick at a time.",
            field="since",
        )
    return count


class Sieve:
    """Says of each tick of a schedule whether it becomes a run.

    Args:
        schedule: as it was read before ``record``, so that what was decided in between counts as still to come.
        record: the rows of its tick record with the fates ran and planned, in any order.
        pauses: the schedule's and that of everything, active or over.
        now: the store's time.
    """

    def __init__(self, schedule: Schedule, record: Iterable[Tick], pauses: Sequence[Pause], now: int) -> None:
        self._spec = schedule.spec
        self._closed = compiled(schedule.spec.timetable).closed
        self._undecided = schedule.cursor.next_tick_at
        self._pauses = [(pause.since, now if pause.until is None else min(pause.until, now)) for pause in pauses]
        rows = list(record)
        self._planned = {row.tick_at for row in rows if row.fate is Fate.PLANNED}
        self._ran = _merged((row.tick_at, row.last_tick_at) for row in rows if row.fate is Fate.RAN)
        self._firsts = [first for first, _ in self._ran]

    def reason(self, tick: int) -> str | None:
        """Why it makes no run; None where it makes one."""
        place = bisect_right(self._firsts, tick) - 1
        if place >= 0 and tick <= self._ran[place][1]:
            return RAN
        if tick in self._planned or (
            self._undecided is not None and tick >= self._undecided and not self._paused(due(self._spec, tick))
        ):
            return PLANNED
        return None if self._closed is None else self._closed.reason(tick)

    def _paused(self, tick_due: int) -> bool:
        """What came due under a pause will never run, although nobody has written that down yet."""
        return any(since < tick_due <= until for since, until in self._pauses)


def run_of_tick(schedule: Schedule, tick: int, lane: Lane, now: int) -> NewRun:
    """The run that makes up for a tick: due now, with every option of the schedule."""
    run = run_of(schedule, backfill_run_id(schedule.id, tick), Origin.BACKFILL, now)
    return msgspec.structs.replace(
        run,
        schedule_id=None,
        tick_at=tick,
        queue=run.queue if lane.queue is None else lane.queue,
        priority=run.priority if lane.priority is None else lane.priority,
    )


def _merged(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same stretches of time in ascending order, none touching another.

    Between its first and last tick a stretch says only how many ran; where the rule has been changed since, a tick of
    the new one in there counts as one of them: rather one run too few than one effect twice.
    """
    merged: list[tuple[int, int]] = []
    for first, last in sorted(stretches):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged
