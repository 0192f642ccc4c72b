"""Schedules and ticks on the database of an app."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from puntual.app import App
from puntual.client.schedules import PutOptions
from puntual.manifest import ManifestContext, to_manifest
from puntual.manifest.closures import CALENDARS
from puntual.manifest.keys import ARGS, LANG, RULES, TARGETS
from puntual.manifest.names import check_name
from puntual.manifest.schedules import ManifestSchedule, read_schedule
from puntual.model.errors import ConflictError, InvalidError
from puntual.model.ids import check_run_id
from puntual.model.run import LIVE_STATES, NewRun, Origin, RunState
from puntual.model.schedule import Schedule, ScheduleSpec, Tick
from puntual.operations import filters
from puntual.operations.bodies import SelectBody, TriggerBody, overlap_of, read_body
from puntual.operations.contract import Filter, Json
from puntual.operations.local.apply import apply
from puntual.operations.local.base import Local, all_runs
from puntual.operations.local.changes import Asked
from puntual.operations.local.enqueue import check_args, refuse_another
from puntual.operations.shapes import pause_shape, run_shape, schedule_shape, tick_shape, written
from puntual.operations.shapes.schedules import next_due
from puntual.operations.shapes.units import time
from puntual.operations.shapes.upcoming import upcoming_shape
from puntual.store.requests import Page, RunFilter, Selection, TickFilter
from puntual.timing.preview import PreviewRequest, preview

_OWNER: Final = "owner"
#: As `OWN_OPTIONS`, by the keys of a manifest.
_OWN_KEYS: Final = ("queue", "retry.max_attempts", "timeout")
#: How many parts of the tick record one request reads at most.
_PARTS: Final = 12
_PLACE: Final = re.compile(r"-?\d{1,18}:\d{1,18}:.*", re.ASCII)


class LocalSchedules(Local):
    """``ScheduleOperations``."""

    def __init__(self, app: App) -> None:
        super().__init__(app)
        # One after the other: many at once would share the processor with the engine of this process.
        self._applying = asyncio.Lock()

    async def apply(
        self,
        texts: Sequence[Mapping[str, Any]],
        *,
        dry_run: bool,
        prune: bool,
        take: bool,
        fetch: bool = True,
    ) -> Json:
        """Writes the manifests, all or nothing; a dry run only says what would change."""
        async with self._applying:
            asked = Asked(dry_run=dry_run, prune=prune, take=take, fetch=fetch)
            reply, tasks = await apply(self._app, texts, asked)
        said = await self._warnings.of_fleet() if tasks else []
        for task, specs in tasks.items():
            others = f" and {len(specs) - 1:,} more" if len(specs) > 1 else ""
            said += [f"schedules.{specs[0].name}{others}: {text}" for text in await self._of_target(task, specs)]
        return {**reply, "warnings": [*said, *reply["warnings"]]}

    async def list_schedules(self, where: Filter) -> Json:
        """Schedules by name."""
        filters.check_keys(where, (*filters.SCHEDULE_KEYS, *filters.PAGE_KEYS))
        page = filters.page(where)
        rows = await self._app.store.list_schedules(
            owner=filters.one_text(where, _OWNER),
            tags=filters.texts(where, "tag"),
            page=msgspec.structs.replace(page, limit=page.limit + 1),
        )
        shown = rows[: page.limit]
        cursor = filters.cursor(shown[-1].name) if len(rows) > page.limit else None
        return {"items": self._shapes(shown), "next_cursor": cursor}

    async def get_schedule(self, name: str) -> Json:
        """One schedule with its policies."""
        return self._shape(await self._app.schedules.get(name))

    async def put_schedule(self, name: str, body: Json, *, revision: int | None = None, take: bool = False) -> Json:
        """Creates or replaces one."""
        return await self._put(name, body, PutOptions(take=take, revision=revision))

    async def patch_schedule(self, name: str, body: Json, *, revision: int | None = None, take: bool = False) -> Json:
        """Changes the keys given; the others stay as they were written."""
        standing = await self._app.schedules.get(name)
        merged = _patched(_base(standing), body)
        # What was read must still stand when it is written back, or an edit in between would be lost.
        seen = standing.revision if revision is None else revision
        return await self._put(name, merged, PutOptions(take=take, revision=seen))

    async def remove_schedule(self, name: str, *, revision: int | None = None) -> Json:
        """Removes one; the runs in flight go on."""
        asked_at = self._app.clock.now()
        await self._app.schedules.remove(Selection(names=(name,)), revision=revision)
        live = RunFilter(schedules=(name,), states=LIVE_STATES)
        rows = await all_runs(self._app.store, live, most=filters.MOST)
        ahead = await self._claimed_ahead((name,), asked_at)
        return {"removed": name, "live": [run.id for run in rows], "claimed_ahead": ahead}

    async def pause_schedules(self, select: Json, *, until: str | None = None, reason: str | None = None) -> Json:
        """Pauses schedules, or everything."""
        moment = self._moment
        end = None if until is None else filters.later(until, "until", moment)
        chosen = _selection(select)
        if chosen.everything:
            await self._app.schedules.pause_all(until=end, reason=reason)
            self._warnings.forget()
            return {**await self._all(), "claimed_ahead": await self._claimed_ahead((), moment.now)}
        paused = await self._app.schedules.pause(chosen, until=end, reason=reason)
        names = tuple(schedule.name for schedule in paused)
        ahead = await self._claimed_ahead(names, moment.now) if names else []
        return {"items": self._shapes(paused), "claimed_ahead": ahead}

    async def resume_schedules(self, select: Json) -> Json:
        """Resumes schedules, or everything."""
        chosen = _selection(select)
        if chosen.everything:
            await self._app.schedules.resume_all()
            self._warnings.forget()
            return await self._all()
        return {"items": self._shapes(await self._app.schedules.resume(chosen))}

    async def trigger_schedule(self, name: str, body: Json) -> Json:
        """One run by hand."""
        asked = read_body(body, TriggerBody)
        target = (await self._app.schedules.get(name)).spec.target
        args = None if asked.args is None else check_args(self._app, target.task, asked.args)
        overlap = None if asked.overlap is None else overlap_of(asked.overlap)
        if asked.id is None:
            run_id = await self._app.schedules.trigger(name, args=args, overlap=overlap)
            return await self._triggered(run_id)
        new = NewRun(
            id=check_run_id(asked.id), task=target.task, args=args or target.args, origin=Origin.TRIGGER, schedule=name
        )
        if (stands := await self._stands(new.id)) is None:
            try:
                await self._app.schedules.trigger(name, args=args, overlap=overlap, new_id=new.id)
            except ConflictError:
                # What is in the way may be the run of the same request, sent twice at once.
                if (stands := await self._stands(new.id)) is None:
                    raise
            else:
                return await self._triggered(new.id)
        refuse_another(stands, new)
        return {**await self._triggered(new.id), "existing": True}

    async def next_ticks(self, name: str, count: int) -> Json:
        """The next ticks of one schedule."""
        most = filters.whole(count, "count", most=filters.MOST)
        schedule, now = await self._app.schedules.get(name), await self._app.store.now()
        return {**await asyncio.to_thread(upcoming_shape, schedule, now, most)}

    async def list_ticks(self, where: Filter) -> Json:
        """The tick record, newest first."""
        page = filters.page(where)
        if page.after is not None and not _PLACE.fullmatch(page.after):
            raise InvalidError("cursor is none that the tick record gave.", field="cursor")
        asked = filters.tick_filter(where, self._moment)
        shown: list[Tick] = []
        after = page.after
        for _ in range(_PARTS):
            part = await self._app.store.list_ticks(asked, Page(limit=page.limit - len(shown), after=after))
            shown += part.items
            after = part.next
            if after is None or len(shown) >= page.limit:
                break
        if asked.schedule is not None and not shown and page.after is None and after is None:
            return await self._none_yet(asked.schedule)
        cursor = None if after is None else filters.cursor(after)
        return {"items": [tick_shape(tick) for tick in shown], "next_cursor": cursor}

    async def parse(self, body: Json) -> Json:
        """How a rule is read."""
        request, settings = read_body(body, PreviewRequest), self._app.settings
        now, zone, language = self._app.clock.now(), settings.timezone, settings.language
        # Some rules take a moment to be found out about.
        return await asyncio.to_thread(preview, request, now=now, default_timezone=zone, language=language)

    async def export(self) -> Json:
        """All schedules and the limits of queues, as a manifest."""
        schedules = await self._app.store.list_schedules()
        queues = (await self._app.store.snapshot()).queues
        return {"manifest": to_manifest(schedules, queues, await self._app.store.list_calendars())}

    async def _put(self, name: str, body: Json, options: PutOptions) -> Json:
        asked_at = self._app.clock.now()

        async def write(context: ManifestContext) -> list[Schedule]:
            read = await asyncio.to_thread(_read, name, body, context)
            return await self._app.schedules.put_many([read], options)

        (schedule,) = await self._app.core.write_against_calendars(write, named=CALENDARS in body)
        shape = self._shape(schedule)
        said = [*await self._warnings.of_fleet(), *await self._of_target(schedule.spec.target.task, [schedule.spec])]
        ahead = await self._claimed_ahead((name,), asked_at)
        return {**shape, "warnings": [*said, *shape["warnings"]], "claimed_ahead": ahead}

    async def _of_target(self, task: str, specs: Sequence[ScheduleSpec]) -> list[str]:
        """What to know of the task of these schedules: who has it, and that what they leave to it is not known here."""
        text = await self._warnings.of_task(task)
        left = any(name in spec.defaulted for spec in specs for name in _OWN_KEYS)
        return [*([] if text is None else [text]), *(self._warnings.of_policy(task) if left else [])]

    async def _triggered(self, run_id: str) -> Json:
        row = await self._app.runs.row(run_id)
        return {**run_shape(row), "warnings": await self._warnings.of_tasks([row.task])}

    async def _none_yet(self, name: str) -> Json:
        """The answer for a schedule without a tick in the record: when its next is due.

        Raises:
            NotFoundError: there is no such schedule, nor was there one that left a tick.
        """
        schedule = await self._app.store.get_schedule(name)
        left = schedule or (await self._app.store.list_ticks(TickFilter(schedule=name), Page(limit=1))).items
        if not left:
            schedule = await self._app.schedules.get(name)
        due_at = None if schedule is None else next_due(schedule, self._app.clock.now())
        return {"items": [], "next_cursor": None, "next_due_at": time(due_at)}

    async def _claimed_ahead(self, names: tuple[str, ...], asked_at: int) -> list[str]:
        """The runs of these schedules, or of all, that were held when they were not due yet: no edit reaches them."""
        held = RunFilter(schedules=names, states=(RunState.RUNNING,), origins=(Origin.TICK,))
        return [run.id for run in await all_runs(self._app.store, held) if run.due_at > asked_at]

    async def _all(self) -> Json:
        return {"all": pause_shape(await self._app.store.paused_all(), self._app.clock.now())}

    def _shape(self, schedule: Schedule) -> Json:
        return {**schedule_shape(schedule, self._app.clock.now())}

    def _shapes(self, schedules: Sequence[Schedule]) -> list[Json]:
        return [self._shape(schedule) for schedule in schedules]


def _read(name: str, body: Json, context: ManifestContext) -> ManifestSchedule:
    """The body of a schedule, with the owner that it may name."""
    keys = dict(body)
    owner = keys.pop(_OWNER, None)
    if owner is not None:
        if not isinstance(owner, str):
            raise InvalidError("owner must be a name.", field=_OWNER)
        context = msgspec.structs.replace(context, code_owner=check_name(owner, field=_OWNER, what="owner"))
    return read_schedule(name, keys, context)


def _base(standing: Schedule) -> Json:
    """What was written, without a pause made by hand, which stays as it is unless ``paused`` is given."""
    base = written(standing)
    if standing.pause is None or standing.pause.by_hand:
        base.pop("paused", None)
    return base


def _patched(base: Json, patch: Json) -> Json:
    """RFC 7396 over what was written; one rule takes the place of another, and so does one target."""
    for group, along in ((RULES, (LANG,)), (TARGETS, (ARGS,))):
        given = [key for key in group if patch.get(key) is not None]
        if given and given[0] not in base:
            base = {key: value for key, value in base.items() if key not in (*group, *along)}
    merged: dict[str, Any] = _merge(base, patch)
    return {key: value for key, value in merged.items() if value is not None}


def _merge(base: object, patch: object) -> Any:  # noqa: ANN401 - any JSON value
    if not isinstance(patch, dict):
        return patch
    merged = dict(base) if isinstance(base, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merge(merged.get(key), value)
    return merged


def _selection(select: Json) -> Selection:
    asked = read_body(select, SelectBody, field="select")
    if sum((asked.names is not None, asked.tag is not None, asked.all)) != 1:
        raise InvalidError("select must be one of names, tag and all: true.", field="select")
    if asked.all:
        return Selection(everything=True)
    if asked.names is not None:
        if not asked.names:
            raise InvalidError("select.names is empty; it must name at least one schedule.", field="select.names")
        return Selection(names=tuple(dict.fromkeys(asked.names)))
    return Selection(tag=asked.tag)
