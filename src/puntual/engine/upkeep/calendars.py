"""Calendars: feeds are asked anew, holidays before the known years run out, and schedules follow what changed.

What cannot be found out leaves a calendar as it was, with the reason: an error never empties one. A look costs one
read; what it finds to do goes on beside the upkeep, since a server elsewhere may take its time to answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import structlog

from puntual.engine.calendars import Resolve, next_version, with_days
from puntual.engine.edit import Moment
from puntual.model.clock import Clock
from puntual.model.errors import ChangedError, PuntualError
from puntual.model.instant import DAY, Instant
from puntual.model.payload import safe_text
from puntual.model.schedule import Pause
from puntual.store.calendars import CalendarNote, CalendarRead, CalendarWrite
from puntual.store.contract import Store
from puntual.store.requests import (
    PlanView,
    ScheduleWrite,
    Selection,
)
from puntual.timing.calendar import Calendar, CalendarDays
from puntual.wake.contract import Wake

#: Seconds between two looks, between two looks through every schedule, and before what failed is tried again.
_EVERY: Final = 60.0
_THROUGH_ALL: Final = 600.0
_AGAIN: Final = 900.0
#: Days that end sooner than this are found out anew: whoever plans looks years ahead.
_LOW_US: Final = 5 * 366 * DAY

log = structlog.get_logger("puntual.engine")


class CalendarKeeper:
    """Once a minute looks whether a calendar is due to be found out anew, or a schedule has one that is not current."""

    def __init__(self, store: Store, wake: Wake, resolve: Resolve, *, clock: Clock) -> None:
        self._store = store
        self._wake = wake
        self._resolve = resolve
        self._clock = clock
        self._looked_at: float | None = None
        self._through_at: float | None = None
        self._again: dict[str, float] = {}
        self._work: asyncio.Task[None] | None = None

    async def round(self) -> None:
        """Looks, if it is time, and begins what is to do; what an earlier round began is not waited for.

        Raises:
            Exception: what went wrong in the work of an earlier round.
        """
        if self._work is not None:
            if not self._work.done():
                return
            work, self._work = self._work, None
            await work
        steady = self._clock.steady()
        if self._looked_at is not None and steady - self._looked_at < _EVERY:
            return
        self._looked_at = steady
        calendars = await self._store.list_calendars()
        if not calendars:
            return
        now = await self._store.now()
        due = [each for each in calendars if self._again.get(each.name, steady) <= steady and is_due(each, now)]
        through = self._through_at is None or steady - self._through_at >= _THROUGH_ALL
        if due or through:
            self._work = asyncio.create_task(self._do(due, through=through), name="puntual-calendars")

    async def done(self) -> None:
        """Returns when nothing is under way."""
        if self._work is not None:
            await asyncio.wait([self._work])

    async def close(self) -> None:
        """Ends what is under way: whoever does the upkeep next begins it anew."""
        work, self._work = self._work, None
        if work is not None:
            work.cancel()
            # What went wrong in it was to be told by a round, and there is none to come.
            await asyncio.gather(work, return_exceptions=True)

    async def _do(self, due: Sequence[Calendar], *, through: bool) -> None:
        # First: what is to be asked elsewhere may take long.
        if through:
            await self._follow()
            self._through_at = self._clock.steady()
        failures = []
        for calendar in due:
            try:
                await self._refresh(calendar)
            except Exception as error:  # noqa: BLE001 - one that cannot be written is told of, and holds up no other
                self._again[calendar.name] = self._clock.steady() + _AGAIN
                failures.append(error)
        if failures:
            raise failures[0]

    async def _refresh(self, calendar: Calendar) -> None:
        """Finds out anew what one calendar means, and writes what came of it."""
        now = await self._store.now()
        note = CalendarNote(name=calendar.name, version=calendar.version, refreshed_at=now)
        try:
            days = await self._resolve(calendar.name, calendar.spec, now)
        except Exception as error:  # noqa: BLE001 - whatever it is, the calendar stays, and the others have their turn
            self._again[calendar.name] = self._clock.steady() + _AGAIN
            trouble = safe_text(error, limit=500) or type(error).__name__
            log.warning("calendar.not_refreshed", calendar=calendar.name, error=trouble)
            note = msgspec.structs.replace(note, refreshed_at=calendar.refreshed_at, trouble=trouble)
            await self._store.note_calendar(note)
            return
        self._again.pop(calendar.name, None)
        if msgspec.structs.replace(days, version=calendar.version) == calendar.days:
            await self._store.note_calendar(note)
            return
        newer = msgspec.structs.replace(
            calendar, days=next_version(calendar, days), updated_at=now, refreshed_at=now, trouble=None
        )
        write = CalendarWrite(name=calendar.name, calendar=newer, was=calendar.version)
        try:
            await self._edit(Selection(calendars=(calendar.name,)), {calendar.name: newer.days}, [write])
        except ChangedError:
            # Somebody wrote it meanwhile, and knows better.
            return
        log.info("calendar.changed", calendar=calendar.name, version=newer.version)

    async def _follow(self) -> None:
        """Edits the schedules that have another version of a calendar than the current one."""
        current = {each.name: each.days for each in await self._store.list_calendars()}
        uses = await self._store.calendar_uses()
        stale = {
            use.schedule for use in uses if use.calendar in current and use.version != current[use.calendar].version
        }
        if not stale:
            return
        # An older version than the one that stands by now must not come back.
        reads = [CalendarRead(name=name, was=days.version) for name, days in sorted(current.items())]
        try:
            await self._edit(Selection(names=tuple(sorted(stale))), current, reads)
        except ChangedError:
            # Somebody changed one meanwhile, and its schedules with it; the others are found at the next look.
            return

    async def _edit(
        self, select: Selection, days: Mapping[str, CalendarDays], asked: Sequence[CalendarWrite | CalendarRead]
    ) -> None:
        def decide(views: Sequence[PlanView], paused_all: Pause | None, now: int) -> list[ScheduleWrite]:
            moment = Moment(now=now, paused_all=paused_all)
            return [write for view in views if (write := _edited(view, days, moment)) is not None]

        await self._store.change_schedules(select, decide, calendars=asked)
        self._wake.hint_planner()


def is_due(calendar: Calendar, now: Instant) -> bool:
    """Whether the days of a calendar are to be found out anew."""
    if now < calendar.refreshed_at + calendar.spec.refresh_us:
        return False
    until = calendar.days.until
    return calendar.spec.feed is not None or (until is not None and until * DAY < now + _LOW_US)


def _edited(view: PlanView, days: Mapping[str, CalendarDays], moment: Moment) -> ScheduleWrite | None:
    """As `with_days`; a schedule that cannot take it keeps what it has, and holds up no other."""
    try:
        return with_days(view, days, moment)
    except PuntualError as error:
        log.warning("calendar.schedule_left", schedule=view.schedule.name, error=error.message)
        return None
