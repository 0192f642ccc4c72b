"""Manifests are applied whole: in one transaction, after every fault of every text was looked for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from puntual.app import App
from puntual.manifest import Manifest, QueueSettings, Text, read_manifests
from puntual.model.errors import InvalidError
from puntual.model.run import COMMAND_TASK
from puntual.model.schedule import Pause, ScheduleSpec
from puntual.operations.contract import Json
from puntual.operations.local.changes import Change, Decision, Wanted, decide, report
from puntual.settings import Settings
from puntual.store.requests import PlanView, ScheduleWrite, Selection

MOST_TEXTS: Final = 10_000


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """How to apply."""

    dry_run: bool
    prune: bool
    take: bool


async def apply(
    app: App, texts: Sequence[Mapping[str, str]], asked: Asked
) -> tuple[Json, dict[str, list[ScheduleSpec]]]:
    """Writes what the texts say, or says what would change.

    Gives the reply, and for each task the schedules that the texts have for it.

    Raises:
        ManifestErrors: every fault of every text.
        InvalidError: ``prune`` was asked of a manifest without an owner.
        ForbiddenError: a schedule belongs to another owner and ``take`` was not given.
    """
    # A megabyte of YAML takes seconds: in a thread of its own it delays nobody's heartbeat, nor any answer.
    manifests = await asyncio.to_thread(read_manifests, _texts(texts), app.context())
    pruned = await _pruned(app, manifests) if asked.prune else {}
    items = {item.spec.name: item for manifest in manifests for item in manifest.schedules}
    ids = {name: app.core.new_id() for name in items}
    wanted = Wanted(items=items, ids=ids, pruned=pruned, take=asked.take)
    queues = [queue for manifest in manifests for queue in manifest.queues]
    limits = await _new_limits(app, queues)
    changes = await (_rehearse(app, wanted) if asked.dry_run else _write(app, wanted, limits))
    specs = [item.spec for item in items.values()]
    reply = await asyncio.to_thread(lambda: report(changes, _warnings(specs, app.settings)))
    tasks: dict[str, list[ScheduleSpec]] = {}
    for spec in specs:
        tasks.setdefault(spec.target.task, []).append(spec)
    return {**reply, "queues": list(limits)}, tasks


def _texts(texts: Sequence[Mapping[str, str]]) -> list[Text]:
    if len(texts) > MOST_TEXTS:
        raise InvalidError(f"texts has {len(texts):,} items; at most {MOST_TEXTS:,} are read at once.", field="texts")
    found = []
    for place, item in enumerate(texts):
        text, source = item.get("text"), item.get("source")
        if not isinstance(text, str) or not isinstance(source, str | None):
            raise InvalidError(f'texts.{place} must be {{"text": ..., "source": ...}}.', field=f"texts.{place}")
        found.append(Text(text, source))
    return found


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


async def _rehearse(app: App, wanted: Wanted) -> tuple[Change, ...]:
    schedules = await app.store.get_schedules((*wanted.items, *wanted.pruned))
    views = [PlanView(schedule=schedule) for schedule in schedules]
    paused_all, now = await app.store.paused_all(), app.clock.now()
    return (await asyncio.to_thread(decide, wanted, views, paused_all, now)).changes


async def _write(app: App, wanted: Wanted, limits: Mapping[str, int | None]) -> tuple[Change, ...]:
    decisions: list[Decision] = []

    def within(views: Sequence[PlanView], paused_all: Pause | None, now: int) -> Sequence[ScheduleWrite]:
        decisions.append(decide(wanted, views, paused_all, now))
        return decisions[-1].writes

    await app.store.change_schedules(Selection(names=(*wanted.items, *wanted.pruned)), within, limits=limits)
    app.wake.hint_planner()
    app.wake.hint(limits)
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
