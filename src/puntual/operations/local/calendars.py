"""Calendars on the database of an app: found out when they are written, and with them the schedules that name them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

from puntual.engine.calendars import next_version, with_days
from puntual.engine.edit import Moment
from puntual.manifest import calendar_of
from puntual.manifest.names import check_name
from puntual.model.calendar import CalendarSpec
from puntual.model.errors import InvalidError, NotFoundError
from puntual.model.instant import DAY, SECOND
from puntual.model.schedule import Pause
from puntual.operations.contract import Json
from puntual.operations.local.base import Local
from puntual.operations.local.meant import check_owner
from puntual.operations.shapes.calendars import calendar_shape
from puntual.store.calendars import CalendarNote, CalendarWrite
from puntual.store.requests import (
    PlanView,
    ScheduleWrite,
    Selection,
)
from puntual.timing.calendar import Calendar, CalendarDays
from puntual.timing.zone import load_zone

_OWNER: Final = "owner"


class LocalCalendars(Local):
    """The operations on calendars."""

    async def list_calendars(self) -> Json:
        """Calendars by name."""
        store = self._app.store
        calendars, uses = await store.list_calendars(), await store.calendar_uses()
        used, today = Counter(use.calendar for use in uses), self._today
        return {"items": [{**calendar_shape(each, today), "schedules": used[each.name]} for each in calendars]}

    async def get_calendar(self, name: str, year: int | None = None) -> Json:
        """One calendar with its days, all of them or those of a year, and who names it."""
        calendar = await self._standing(name)
        if calendar is None:
            raise await self._missing(name)
        return await self._whole(calendar, year)

    async def put_calendar(self, name: str, body: Json, *, version: int | None = None, take: bool = False) -> Json:
        """Creates or replaces one; its days are found out now, and the schedules that name it follow.

        What is the same in every way stays at its version: a repeat edits no schedule.
        """
        check_name(name, field="name")
        keys = dict(body)
        owner = keys.pop(_OWNER, None)
        if owner is not None and not isinstance(owner, str):
            raise InvalidError("owner must be a name.", field=_OWNER)
        spec = calendar_of(keys, self._app.context())
        standing = await self._standing(name)
        check_owner(standing, name, owner, take=take)
        now = await self._app.store.now()
        found = await self._app.resolve(name, spec, now)
        was = version if version is not None else 0 if standing is None else standing.version
        if standing is not None and was == standing.version and _same(standing, spec, owner, found):
            note = CalendarNote(name=name, version=was, refreshed_at=now)
            if await self._app.store.note_calendar(note):
                looked_at = msgspec.structs.replace(standing, refreshed_at=now, trouble=None)
                return {**await self._whole(looked_at, None), "changed": []}
        days = next_version(standing, found)
        made = Calendar(spec=spec, days=days, owner=owner, updated_at=now, refreshed_at=now)
        write = CalendarWrite(name=name, calendar=made, was=was)
        changed: list[str] = []

        def decide(views: Sequence[PlanView], paused_all: Pause | None, now: int) -> list[ScheduleWrite]:
            moment = Moment(now=now, paused_all=paused_all)
            writes = [write for view in views if (write := with_days(view, {name: days}, moment)) is not None]
            changed[:] = [write.name for write in writes]
            return writes

        await self._app.store.change_schedules(Selection(calendars=(name,)), decide, calendars=[write])
        self._app.wake.hint_planner()
        return {**await self._whole(made, None), "changed": sorted(changed)}

    async def remove_calendar(self, name: str, *, version: int | None = None) -> Json:
        """Removes one that no schedule names."""
        if await self._standing(name) is None:
            raise await self._missing(name)
        gone = CalendarWrite(name=name, was=version)
        await self._app.store.change_schedules(Selection(names=()), _nothing, calendars=[gone])
        return {"removed": name}

    @property
    def _today(self) -> int:
        moment = self._moment
        return (moment.now + load_zone(moment.timezone).offset(moment.now) * SECOND) // DAY

    async def _standing(self, name: str) -> Calendar | None:
        return next(iter(await self._app.store.list_calendars([name])), None)

    async def _missing(self, name: str) -> NotFoundError:
        names = [each.name for each in await self._app.store.list_calendars()]
        hint = f"There are {', '.join(names[:10])}." if names else None
        return NotFoundError(f"There is no calendar {name[:100]!r}.", hint=hint, field="name")

    async def _whole(self, calendar: Calendar, year: int | None) -> Json:
        users = sorted({use.schedule for use in await self._app.store.calendar_uses([calendar.name])})
        return {**calendar_shape(calendar, self._today, year=year, whole=True), "schedules": users}


def _same(standing: Calendar, spec: CalendarSpec, owner: str | None, found: CalendarDays) -> bool:
    days = msgspec.structs.replace(found, version=standing.version)
    return (standing.spec, standing.owner, standing.days) == (spec, owner, days)


def _nothing(_views: Sequence[PlanView], _paused_all: Pause | None, _now: int) -> list[ScheduleWrite]:
    return []
