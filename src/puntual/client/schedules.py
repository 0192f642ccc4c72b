"""Schedules as a client sees them: put, looked up, paused, triggered, removed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

import msgspec

from puntual.client.backfill import Backfill, Backfilled, BackfillOptions, Seen
from puntual.client.core import Core
from puntual.engine import edit
from puntual.engine.backfill import Span
from puntual.engine.calendars import reads_of
from puntual.engine.due import compiled
from puntual.engine.edit import Moment
from puntual.manifest import ManifestContext, ManifestSchedule, begin_now, keep_rule, keys_of, read_schedule
from puntual.manifest.closures import CALENDARS
from puntual.model.blocking import blocking
from puntual.model.errors import ChangedError, ConflictError, ForbiddenError, NotFoundError
from puntual.model.payload import check_text
from puntual.model.schedule import Overlap, Pause, Schedule, ScheduleSpec, Tick
from puntual.store.requests import Page, PlanView, ScheduleWrite, Selection, TickFilter

#: Decides for one view at one moment; None writes nothing.
_Change = Callable[[PlanView, Moment], ScheduleWrite | None]

T = TypeVar("T")
_STOP_LOOK = 0.1
_STOP_LOOKS = 300


class PutOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to write schedules.

    Args:
        take: also those of another owner.
        revision: the one that must stand (``If-Match``); None: any.
    """

    take: bool = False
    revision: int | None = None


class Schedules:
    """``app.schedules``."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def get(self, name: str) -> Schedule:
        """The schedule.

        Raises:
            NotFoundError: there is none.
        """
        schedule = await self._core.store.get_schedule(name)
        if schedule is None:
            raise _missing(name)
        return schedule

    async def find(
        self, *, owner: str | None = None, tags: Sequence[str] = (), page: Page | None = None
    ) -> list[Schedule]:
        """Schedules by name."""
        return await self._core.store.list_schedules(owner=owner, tags=tags, page=page)

    async def put(self, name: str, /, **fields: object) -> Schedule:
        """Creates or replaces a schedule; the fields are those of a manifest (``when=``, ``http=``, ``task=``, ...).

        Raises:
            InvalidManifestError: a field is unknown or cannot be used.
            ForbiddenError: it belongs to another owner.
        """

        async def write(context: ManifestContext) -> list[Schedule]:
            return await self.put_many([read_schedule(name, keys_of(fields), context)])

        (schedule,) = await self._core.write_against_calendars(write, named=CALENDARS in fields)
        return schedule

    async def put_many(self, items: Sequence[ManifestSchedule], options: PutOptions | None = None) -> list[Schedule]:
        """Creates or changes all of them, or none; what is as it was stays untouched.

        Raises:
            ForbiddenError: one belongs to another owner and ``take`` was not given.
            ChangedError: the revision is not the one that stands, or a calendar means something else by now.
        """
        options = options or PutOptions()
        by_name = {item.spec.name: item for item in items}
        ids = {name: self._core.new_id() for name in by_name}

        stood: dict[str, Schedule] = {}

        def decide(views: Sequence[PlanView], paused_all: Pause | None, now: int) -> list[ScheduleWrite]:
            nonlocal stood
            standing = {view.schedule.name: view for view in views}
            stood = {name: view.schedule for name, view in standing.items()}
            moment = Moment(now=now, paused_all=paused_all)
            made = (put_one(item, standing.get(name), ids[name], moment, options) for name, item in by_name.items())
            return [write for write in made if write is not None]

        store = self._core.store
        reads = reads_of(item.spec for item in by_name.values())
        written = await store.change_schedules(Selection(names=tuple(by_name)), decide, calendars=reads)
        self._core.wake.hint_planner()
        found = {schedule.name: schedule for schedule in written}
        if untouched := [name for name in by_name if name not in found]:
            found |= {schedule.name: schedule for schedule in await store.get_schedules(untouched)}
        # Who removed one since then did so after this: it stood as it was asked for.
        return [found.get(name) or stood[name] for name in by_name]

    async def pause(self, select: Selection, *, until: int | None = None, reason: str | None = None) -> list[Schedule]:
        """Pauses schedules until resumed, or until an instant."""

        def one(view: PlanView, moment: Moment) -> ScheduleWrite | None:
            return edit.pause(view, Pause(since=moment.now, until=until, reason=reason), moment)

        return await self._each(select, one)

    async def resume(self, select: Selection) -> list[Schedule]:
        """Resumes schedules: their next tick is the first one after now."""
        return await self._each(select, edit.resume)

    async def remove(self, select: Selection, *, revision: int | None = None) -> list[str]:
        """Removes schedules and returns their names; runs in flight go on.

        Raises:
            NotFoundError: one that is named does not exist.
            ChangedError: ``revision`` is given and is not the one that stands.
        """
        removed: list[str] = []

        def decide(views: Sequence[PlanView], paused_all: Pause | None, now: int) -> list[ScheduleWrite]:
            nonlocal removed
            _check_found(select, views)
            for view in views:
                _check_revision(view.schedule.name, view.schedule.revision, revision)
            removed = [view.schedule.name for view in views]
            moment = Moment(now=now, paused_all=paused_all)
            return [edit.remove(view, moment) for view in views]

        await self._core.store.change_schedules(select, decide)
        self._core.wake.hint_planner()
        return removed

    async def trigger(
        self, name: str, *, args: str | None = None, overlap: Overlap | None = None, new_id: str | None = None
    ) -> str:
        """One run by hand, now; returns its id. Under a ``new_id`` of the caller's own a repeat makes no other run.

        Raises:
            NotFoundError: there is no such schedule.
            ConflictError: a run is live and the overlap policy allows no other; or, under ``cancel_other``, it was
                asked to stop and has not ended within half a minute.
        """
        run_id = new_id or self._core.new_run_id()
        args = None if args is None else check_text(args, field="args")

        def one(view: PlanView, moment: Moment) -> ScheduleWrite | None:
            return edit.trigger(view, run_id, moment, args=args, overlap=overlap)

        for _ in range(_STOP_LOOKS):
            await self._each(Selection(names=(name,), withdrawable=False), one)
            if await self._core.store.get_run(run_id) is not None:
                self._core.wake.hint(["*"])
                return run_id
            self._core.wake.hint_cancels()
            await asyncio.sleep(_STOP_LOOK)
        raise _still_live(name)

    async def backfill(
        self,
        name: str,
        *,
        since: int,
        until: int | None = None,
        dry_run: bool = False,
        options: BackfillOptions | None = None,
    ) -> Backfilled:
        """Makes up for ticks of the past: a run for each that has not run and will not by itself.

        A repeat makes nothing twice as long as the runs are kept, so that one that failed half-way is simply repeated.

        Args:
            name: of the schedule.
            since: from this instant on.
            until: before this instant; None: now.
            dry_run: only say what would be done.
            options: how, if not as the schedule says.

        Raises:
            NotFoundError: there is no such schedule.
            InvalidError: the time lies ahead or is empty, or has more than 100,000 ticks.
            ConflictError: a live run is in the way, as for a trigger.
        """
        how = options or BackfillOptions()
        if how.overlap is not None and not dry_run:
            await self._make_way(name, how.overlap)
        now = await self._now()
        paused_all = await self._core.store.paused_all()
        seen = Seen(now=now, paused_all=paused_all, schedule=await self.get(name))
        span = Span(since=since, until=now if until is None else until)
        return await Backfill(self._core, seen, span, how).do(dry_run=dry_run)

    async def pause_all(self, *, until: int | None = None, reason: str | None = None) -> None:
        """Pauses everything: nothing is planned or claimed; what runs goes on."""
        now = await self._now()
        standing = await self._core.store.paused_all()
        # Paused again while paused: it began when it began, or ticks that were skipped would be owed after all.
        since = standing.since if standing is not None and standing.active(now) else now
        await self._core.store.pause_all(Pause(since=since, until=until, reason=reason))

    async def resume_all(self) -> bool:
        """Resumes everything; False when it was not paused."""
        now = await self._now()
        pause = await self._core.store.paused_all()
        if pause is None or not pause.active(now):
            return False
        await self._core.store.pause_all(msgspec.structs.replace(pause, until=now))
        self._core.wake.hint_planner()
        self._core.wake.hint(["*"])
        return True

    async def next(self, name: str, count: int = 5) -> list[int]:
        """The next ticks that make a run, from now."""
        schedule = await self.get(name)
        rule = compiled(schedule.spec.timetable)
        ticks: list[int] = []
        tick = rule.open_next(await self._now())
        while tick is not None and len(ticks) < count:
            ticks.append(tick)
            tick = rule.open_next(tick)
        return ticks

    async def ticks(self, where: TickFilter, page: Page) -> list[Tick]:
        """The tick record, newest first."""
        asked, found = page, list[Tick]()
        while True:
            part = await self._core.store.list_ticks(where, asked)
            found += part.items
            if part.next is None or len(part.items) == asked.limit:
                return found
            asked = Page(limit=asked.limit - len(part.items), after=part.next)

    get_sync = blocking(get)
    find_sync = blocking(find)
    put_sync = blocking(put)
    pause_sync = blocking(pause)
    resume_sync = blocking(resume)
    remove_sync = blocking(remove)
    trigger_sync = blocking(trigger)
    backfill_sync = blocking(backfill)
    next_sync = blocking(next)

    def _block(self, work: Coroutine[Any, Any, T]) -> T:
        return self._core.block(work)

    async def _each(self, select: Selection, change: _Change) -> list[Schedule]:
        def decide(views: Sequence[PlanView], paused_all: Pause | None, now: int) -> list[ScheduleWrite]:
            _check_found(select, views)
            moment = Moment(now=now, paused_all=paused_all)
            return [write for view in views if (write := change(view, moment)) is not None]

        schedules = await self._core.store.change_schedules(select, decide)
        self._core.wake.hint_planner()
        return schedules

    async def _make_way(self, name: str, overlap: Overlap) -> None:
        """Returns once no live run is in the way of those that are to be made."""

        def one(view: PlanView, _moment: Moment) -> ScheduleWrite | None:
            stop = edit.to_stop(view, overlap)
            return ScheduleWrite(name=name, schedule=view.schedule, cancel=stop) if stop else None

        for _ in range(_STOP_LOOKS):
            if not await self._each(Selection(names=(name,), withdrawable=False), one):
                return
            self._core.wake.hint_cancels()
            await asyncio.sleep(_STOP_LOOK)
        raise _still_live(name)

    async def _now(self) -> int:
        return await self._core.store.now()


def put_one(
    item: ManifestSchedule, view: PlanView | None, new_id: str, moment: Moment, options: PutOptions
) -> ScheduleWrite | None:
    """What writing one schedule writes; None when it stands already as it was written.

    Raises:
        ForbiddenError: it belongs to another owner and ``take`` was not given.
        ChangedError: the revision is not the one that stands.
    """
    _check_revision(item.spec.name, None if view is None else view.schedule.revision, options.revision)
    if view is None:
        return edit.create(begin_now(item.spec, moment.now), new_id, moment, paused=bool(item.paused))
    old = view.schedule.spec
    check_owner(view.schedule, item.spec, take=options.take)
    spec = keep_rule(item.spec, old)
    if spec is item.spec:
        spec = begin_now(spec, moment.now)
    # Warnings speak of the days ahead, so they change by themselves; that alone is no edit.
    if msgspec.structs.replace(spec, warnings=old.warnings) == old:
        spec = old
    return edit.change(view, spec, moment, paused=item.paused)


def _check_revision(name: str, standing: int | None, wanted: int | None) -> None:
    if wanted is None or wanted == (standing or 0):
        return
    if standing is None:
        raise ChangedError(f"{name} does not exist, so it is not at revision {wanted}.", field="revision")
    if wanted == 0:
        raise ChangedError(f"There is a schedule {name!r} already; nothing was changed.", field="name")
    raise ChangedError(
        f"{name} is at revision {standing}, not {wanted}: somebody changed it first; nothing was changed.",
        field="revision",
    )


def check_owner(standing: Schedule, spec: ScheduleSpec, *, take: bool) -> None:
    """Refuses to write another owner's schedule.

    Raises:
        ForbiddenError: it is somebody else's and ``take`` was not said.
    """
    owner = standing.spec.owner
    if owner not in (None, spec.owner) and not take:
        raise ForbiddenError(
            f"{spec.name} belongs to {owner}, not to {spec.owner or 'nobody'}: nothing was changed.",
            hint="Say --take to take it over.",
            field=f"schedules.{spec.name}",
        )


def _check_found(select: Selection, views: Sequence[PlanView]) -> None:
    """Refuses a selection that names what is not there.

    Raises:
        NotFoundError: there is no schedule of one of the names.
    """
    found = {view.schedule.name for view in views}
    for name in select.names or ():
        if name not in found:
            raise _missing(name)


def _still_live(name: str) -> ConflictError:
    return ConflictError(
        f"The live run of {name} was asked to stop and has not ended yet; nothing else was started.",
        hint="Ask again once `puntual run list` shows that it has ended.",
    )


def _missing(name: str) -> NotFoundError:
    return NotFoundError(f"There is no schedule {name!r}.", field="name")
