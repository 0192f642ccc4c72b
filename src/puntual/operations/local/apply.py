"""Manifests are applied whole: in one transaction, after every fault of every text was looked for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeGuard

import msgspec

from puntual.app import App
from puntual.engine.calendars import reads_of
from puntual.manifest import Manifest, QueueSettings, Text, declared_calendars, open_texts, read_manifests
from puntual.model.errors import InvalidError
from puntual.model.run import COMMAND_TASK
from puntual.model.schedule import Pause, ScheduleSpec
from puntual.operations.contract import Json
from puntual.operations.local.changes import Asked, Change, Decision, Wanted, decide, report
from puntual.operations.local.meant import calendar_change, calendar_writes, check_removals, find_out
from puntual.settings import Settings
from puntual.store.calendars import CalendarRead, CalendarWrite
from puntual.store.requests import (
    PlanView,
    ScheduleWrite,
    Selection,
)

MOST_TEXTS: Final = 10_000


class Beside(msgspec.Struct, frozen=True):
    """What is written together with schedules: limits of queues, and calendars; ``reads`` are only gone by."""

    limits: Mapping[str, int | None]
    calendars: Sequence[CalendarWrite]
    reads: Sequence[CalendarRead] = ()


async def apply(
    app: App, texts: Sequence[Mapping[str, Any]], asked: Asked
) -> tuple[Json, dict[str, list[ScheduleSpec]]]:
    """Writes what the texts say, or says what would change.

    Gives the reply, and for each task the schedules that the texts have for it.

    Raises:
        ManifestErrors: every fault of every text.
        InvalidError: ``prune`` was asked of a manifest without an owner.
        ForbiddenError: a schedule or calendar belongs to another owner and ``take`` was not given.
        ChangedError: somebody changed a calendar meanwhile.
        CalendarError: what a calendar means cannot be found out.
    """
    # A megabyte of YAML takes seconds: in a thread of its own it delays nobody's heartbeat, nor any answer.
    opened = await asyncio.to_thread(open_texts, _texts(texts))
    standing = {each.name: each for each in await app.store.list_calendars()}
    declared = await asyncio.to_thread(declared_calendars, opened, app.context())
    meant = await find_out(app, declared, standing, fetch=asked.fetch)
    context = msgspec.structs.replace(app.context(), calendars=meant.known)
    manifests = await asyncio.to_thread(read_manifests, opened, context)
    pruned = await _pruned(app, manifests) if asked.prune else {}
    calendars = calendar_writes(manifests, standing, meant, asked, await app.store.now())
    items = {item.spec.name: item for manifest in manifests for item in manifest.schedules}
    ids = {name: app.core.new_id() for name in items}
    wanted = Wanted(items=items, ids=ids, pruned=pruned, take=asked.take, days=meant.fresh)
    queues = [queue for manifest in manifests for queue in manifest.queues]
    gone_by = await asyncio.to_thread(reads_of, [item.spec for item in items.values()])
    own = {write.name for write in calendars}
    reads = [each for each in gone_by if each.name not in own]
    writes = Beside(await _new_limits(app, queues), calendars, reads)
    changes = await (_rehearse(app, wanted, writes) if asked.dry_run else _write(app, wanted, writes))
    specs = [item.spec for item in items.values()]
    warnings = [*_warnings(specs, app.settings), *map(_unasked, meant.unasked)]
    reply = await asyncio.to_thread(lambda: report(changes, warnings))
    tasks: dict[str, list[ScheduleSpec]] = {}
    for spec in specs:
        tasks.setdefault(spec.target.task, []).append(spec)
    shown = [calendar_change(write) for write in calendars]
    return {**reply, "queues": list(writes.limits), "calendars": shown}, tasks


def _texts(texts: Sequence[Mapping[str, Any]]) -> list[Text]:
    if len(texts) > MOST_TEXTS:
        raise InvalidError(f"texts has {len(texts):,} items; at most {MOST_TEXTS:,} are read at once.", field="texts")
    found = []
    for place, item in enumerate(texts):
        text, source, files = item.get("text"), item.get("source"), item.get("files") or {}
        if not isinstance(text, str) or not isinstance(source, str | None) or not _are_files(files):
            raise InvalidError(
                f'texts.{place} must be {{"text": ..., "source": ..., "files": {{name: text}}}}.',
                field=f"texts.{place}",
            )
        found.append(Text(text, source, files))
    return found


def _are_files(files: object) -> TypeGuard[Mapping[str, str]]:
    return isinstance(files, dict) and all(isinstance(text, str) for text in files.values())


def _unasked(name: str) -> str:
    return f"calendars.{name}: its address was not asked for this dry run, so what it changes is not shown"


async def _pruned(app: App, manifests: Sequence[Manifest]) -> dict[str, str]:
    """The schedules of the manifests' owners that no manifest has, with their owner."""
    kept = {item.spec.name for manifest in manifests for item in manifest.schedules}
    found: dict[str, str] = {}
    for manifest in manifests:
        if manifest.owner is None:
            raise InvalidError(
                "prune removes what an owner no longer has, and this manifest names none: write owner: at its top.",
                field="owner",
            )
        schedules = await app.store.list_schedules(owner=manifest.owner)
        found |= {each.name: manifest.owner for each in schedules if each.name not in kept}
    return found


async def _rehearse(app: App, wanted: Wanted, beside: Beside) -> tuple[Change, ...]:
    users = {use.schedule for use in await app.store.calendar_uses([*wanted.days])} if wanted.days else set()
    schedules = await app.store.get_schedules([*{*wanted.items, *wanted.pruned, *users}])
    await check_removals(app, beside.calendars, wanted)
    views = [PlanView(schedule=schedule) for schedule in schedules]
    paused_all, now = await app.store.paused_all(), app.clock.now()
    return (await asyncio.to_thread(decide, wanted, views, paused_all, now)).changes


async def _write(app: App, wanted: Wanted, beside: Beside) -> tuple[Change, ...]:
    decisions: list[Decision] = []

    def within(views: Sequence[PlanView], paused_all: Pause | None, now: int) -> Sequence[ScheduleWrite]:
        decisions.append(decide(wanted, views, paused_all, now))
        return decisions[-1].writes

    select = Selection(names=(*wanted.items, *wanted.pruned), calendars=tuple(wanted.days))
    await app.store.change_schedules(select, within, limits=beside.limits, calendars=[*beside.calendars, *beside.reads])
    app.wake.hint_planner()
    app.wake.hint(beside.limits)
    return decisions[-1].changes


async def _new_limits(app: App, queues: Sequence[QueueSettings]) -> dict[str, int | None]:
    """The limits that differ from those that stand."""
    if not queues:
        return {}
    standing = {queue.name: queue.concurrency for queue in (await app.store.snapshot()).queues}
    return {queue.name: queue.concurrency for queue in queues if standing.get(queue.name) != queue.concurrency}


def _warnings(specs: Sequence[ScheduleSpec], settings: Settings) -> list[str]:
    found = []
    for spec in specs:
        found += [f"schedules.{spec.name}: {warning}" for warning in spec.warnings]
        if spec.target.task == COMMAND_TASK:
            found += [f"schedules.{spec.name}.command: {why}" for why in _refused(spec, settings)]
    return found


def _refused(spec: ScheduleSpec, settings: Settings) -> list[str]:
    """Why a worker with our settings would refuse the command; a worker elsewhere may have others."""
    allowed = settings.allow_commands
    command = msgspec.json.decode(spec.target.args)
    argv = command.get("argv") if isinstance(command, dict) else None
    if allowed is True:
        return []
    if not argv:
        return ["a shell line runs only with PUNTUAL_ALLOW_COMMANDS=true"]
    program = str(argv[0])
    if allowed is False:
        return [f"commands are off here; to allow this one set PUNTUAL_ALLOW_COMMANDS={program}"]
    if program.startswith("/") and program not in allowed:
        line = ",".join((*allowed, program))
        return [f"{program} is not among the programs allowed here; to add it set PUNTUAL_ALLOW_COMMANDS={line}"]
    return []
