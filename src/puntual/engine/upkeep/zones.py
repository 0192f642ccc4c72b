"""Zones: a newer tz database finds the next ticks anew; which schedules moved is told, and none moves unseen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import structlog

from puntual.engine.edit import Moment, retime
from puntual.model.clock import Clock
from puntual.model.instant import format_instant
from puntual.model.schedule import Pause
from puntual.store.contract import Store
from puntual.store.requests import PlanView, ScheduleWrite, Selection
from puntual.timing.zone import tz_version

#: Seconds between two looks, and how many schedules one transaction takes.
_EVERY: Final = 3_600.0
_CHUNK: Final = 200

log = structlog.get_logger("puntual.engine")


class Zones:
    """At its first round and hourly looks for schedules whose next tick an older tz database found.

    What a newer one found stays: this process knows less. It goes on each round while there is more, for ``budget``
    seconds; ``moved`` counts the schedules that have another next tick now.
    """

    def __init__(self, store: Store, *, clock: Clock, budget: float) -> None:
        self._store = store
        self._clock = clock
        self._budget = budget
        self._done_at: float | None = None
        self._after = ""
        self.moved = 0

    async def round(self) -> None:
        """Finds next ticks anew, if it is time."""
        began = self._clock.steady()
        if self._done_at is not None and began - self._done_at < _EVERY:
            return
        if not self._after:
            await self._warn()
        self._done_at = None
        while self._clock.steady() - began <= self._budget:
            names = await self._store.stale_schedules(tz_version(), after=self._after, limit=_CHUNK)
            if names:
                await self._find(names)
                self._after = names[-1]
            if len(names) < _CHUNK:
                self._done_at, self._after = self._clock.steady(), ""
                return

    async def _warn(self) -> None:
        newer = [version for version in await self._store.zone_stamps() if version > tz_version()]
        if newer:
            log.warning("zones.older", here=tz_version(), elsewhere=max(newer))

    async def _find(self, names: Sequence[str]) -> None:
        """Finds the next ticks of these anew, and tells what has moved once that is written."""
        moved: dict[str, tuple[int | None, int | None]] = {}

        def decide(views: Sequence[PlanView], paused_all: Pause | None, now: int) -> list[ScheduleWrite]:
            moved.clear()
            moment = Moment(now=now, paused_all=paused_all)
            writes = []
            for view in views:
                # A selection by name may have raced with a process that knows more.
                if (view.schedule.cursor.tzdata or "") >= tz_version():
                    continue
                write = retime(view, moment)
                if write is None or write.schedule is None:
                    continue
                writes.append(write)
                was, is_ = view.schedule.cursor.next_tick_at, write.schedule.cursor.next_tick_at
                if was != is_:
                    moved[view.schedule.name] = (was, is_)
            return writes

        await self._store.change_schedules(Selection(names=tuple(names)), decide)
        self.moved += len(moved)
        for name, ticks in moved.items():
            was, is_ = (None if tick is None else format_instant(tick) for tick in ticks)
            log.warning("schedule.moved", schedule=name, was=was, now=is_)
