"""A schedule's overlap policy decides what its ticks may do while a run of it is live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from puntual.model.run import RunState
from puntual.model.schedule import Cursor, FateReason, Overlap, Schedule
from puntual.simulate.clocks import SimClock
from puntual.simulate.promises.judge import Done, Eye, Judge, written
from puntual.simulate.record import Record
from puntual.store.requests import Planned, PlanWrite, ScheduleWrite


class _Watched(msgspec.Struct):
    """A schedule: what it does on overlaps, its live runs, its cursor, and when its last tick that waited ran."""

    overlap: Overlap
    keyed: bool
    live: dict[str, None] = {}
    cursor: Cursor = Cursor(last_tick_at=0)
    handed_at: int = 0


class _Known(msgspec.Struct):
    schedules: dict[str, _Watched] = {}
    held: set[str] = set()
    owners: dict[str, str] = {}


class Overlaps(Judge[_Known]):
    """Looks at what planners decide for each schedule, knowing which of its runs are live."""

    def __init__(self, record: Record, clock: SimClock) -> None:
        super().__init__(record, clock, _Known())

    def eyes(self) -> Mapping[str, Eye]:
        """As ``Judge.eyes``."""
        return {
            "plan": self._planned,
            "change_schedules": self._changed,
            "claim": self._claimed,
            "settle": self._wrote,
            "rescue": self._wrote,
            "cancel": self._cancelled,
            "replay": self._replayed,
        }

    def _planned(self, done: Done) -> None:
        planned: Planned = done.answer
        if planned.schedules == len(done.decided):
            for write in done.decided:
                self._decided(write, planned.now, closing=False)

    def _changed(self, done: Done) -> None:
        writes: Sequence[ScheduleWrite] = done.decided
        for write in writes:
            if write.plan is not None:
                self._decided(write.plan, self._clock.now(), closing=True)
            for run_id in write.withdraw:
                self._over(run_id)
            if write.schedule is not None:
                self._stands(write.schedule)
                self._born(write.schedule.id, [run.id for run in write.insert])
            self._stopped(write.cancel)

    def _stands(self, schedule: Schedule) -> None:
        spec = schedule.spec
        one = self.known.schedules.setdefault(schedule.id, _Watched(spec.overlap, keyed=False))
        one.overlap, one.keyed, one.cursor = spec.overlap, spec.unique_key is not None, schedule.cursor

    def _decided(self, write: PlanWrite, now: int, *, closing: bool) -> None:
        one = self.known.schedules.get(write.schedule_id)
        if one is None:
            return
        if not one.keyed and one.overlap is not Overlap.ALLOW_ALL:
            self._judge(one, write, closing=closing)
        if write.runs and one.cursor.seen_at is not None:
            one.handed_at = now
        one.cursor = write.cursor
        # One whose unique key was taken in the same transaction is no run.
        self._born(write.schedule_id, [run.id for run in write.runs if run.unique_key is None])
        self._stopped(write.cancel)

    def _stopped(self, ids: Sequence[str]) -> None:
        """Of those that are asked to stop, whoever nobody holds is over at once."""
        for run_id in ids:
            if run_id not in self.known.held:
                self._over(run_id)

    def _judge(self, one: _Watched, write: PlanWrite, *, closing: bool) -> None:
        told = f"a schedule of overlap {one.overlap}, {write.schedule_id},"
        waits = write.cursor.seen_at is not None
        if write.runs and (one.live or len(write.runs) > 1):
            live = next(iter(one.live), write.runs[0].id)
            self._record.broken("overlap", f"{told} was given {write.runs[-1].id} while {live} was live")
        if one.overlap is Overlap.CANCEL_OTHER and waits and one.live and not write.cancel:
            self._record.broken("overlap", f"{told} waits, and asks nobody to stop")
        if one.overlap is Overlap.BUFFER_ONE and any((run.due_at or 0) <= one.handed_at for run in write.runs):
            self._record.broken("overlap", f"{told} was given {write.runs[0].id} from behind one that had waited")
        if one.overlap is Overlap.BUFFER_ALL and not closing:
            passed = write.cursor.stretch
            before = one.cursor.last_tick_at
            if passed is not None and passed.last_tick_at > before and passed.reason is FateReason.OVERLAP:
                self._record.broken("overlap", f"{told} skipped a tick")

    def _born(self, schedule_id: str, ids: Sequence[str]) -> None:
        """Runs that are new; one that was asked for twice is live, or over, as it was."""
        one = self.known.schedules.get(schedule_id)
        if one is not None:
            new = dict.fromkeys(run_id for run_id in ids if run_id not in self.known.owners)
            one.live.update(new)
            self.known.owners.update(dict.fromkeys(new, schedule_id))

    def _over(self, run_id: str) -> None:
        one = self.known.schedules.get(self.known.owners.get(run_id, ""))
        if one is not None:
            one.live.pop(run_id, None)

    def _claimed(self, done: Done) -> None:
        self.known.held.update(run.id for run in done.answer.runs)

    def _wrote(self, done: Done) -> None:
        for settlement in written(done):
            self.known.held.discard(settlement.id)
            if settlement.transition.state is not RunState.PENDING:
                self._over(settlement.id)

    def _cancelled(self, done: Done) -> None:
        for run_id, word in done.answer.items():
            if word == "cancelled":
                self._over(run_id)

    def _replayed(self, done: Done) -> None:
        for run_id, word in done.answer.items():
            one = self.known.schedules.get(self.known.owners.get(run_id, ""))
            if one is not None and word == "replayed":
                one.live[run_id] = None
