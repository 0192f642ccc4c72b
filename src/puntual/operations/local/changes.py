"""What writing manifests changes, decided purely: the same for a dry run and for the transaction that does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from puntual.client.schedules import PutOptions, put_one
from puntual.engine import edit
from puntual.engine.edit import Moment
from puntual.engine.plan import compiled, due
from puntual.manifest import ManifestSchedule
from puntual.manifest.keys import POLICY_KEYS, RETRY, RETRY_KEYS
from puntual.model.instant import format_instant
from puntual.model.run import HTTP_TASK
from puntual.model.schedule import Pause, Schedule, ScheduleSpec
from puntual.store.requests import PlanView, ScheduleWrite
from puntual.timing.rule import Timetable

_FIRES: Final = 3


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What manifests ask for.

    ``ids`` are fresh ids for schedules that do not exist yet, by name. ``pruned`` names schedules that an owner had
    and may have no more; whether they still are that owner's is decided in the transaction.
    """

    items: Mapping[str, ManifestSchedule]
    ids: Mapping[str, str]
    pruned: Mapping[str, str] = {}
    take: bool = False


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of one schedule: ``what`` is created, changed, unchanged or removed.

    ``next`` are its next fires, ``next_before`` those that it had if they are others. Instants are texts.
    """

    name: str
    what: str
    fields: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    next_before: tuple[str, ...] | None = None
    spec: ScheduleSpec


class Decision(msgspec.Struct, frozen=True):
    """The writes, and what they change."""

    writes: tuple[ScheduleWrite, ...]
    changes: tuple[Change, ...]


def decide(wanted: Wanted, views: Sequence[PlanView], paused_all: Pause | None, now: int) -> Decision:
    """What to write, from the schedules as they stand.

    Raises:
        ForbiddenError: one belongs to another owner and ``take`` was not given.
    """
    moment = Moment(now=now, paused_all=paused_all)
    standing = {view.schedule.name: view for view in views}
    options = PutOptions(take=wanted.take)
    writes: list[ScheduleWrite] = []
    changes: list[Change] = []
    for name, item in wanted.items.items():
        view = standing.get(name)
        write = put_one(item, view, wanted.ids[name], moment, options)
        changes.append(_change(item, view, write, now))
        if write is not None:
            writes.append(write)
    for name, owner in wanted.pruned.items():
        view = standing.get(name)
        if view is not None and view.schedule.spec.owner == owner:
            writes.append(edit.remove(view, moment))
            before = _fires(view.schedule, now)
            changes.append(Change(name=name, what="removed", next_before=before, spec=view.schedule.spec))
    return Decision(tuple(writes), tuple(changes))


def report(changes: Sequence[Change], warnings: Sequence[str]) -> dict[str, Any]:
    """The reply of ``apply``."""
    names: dict[str, list[str]] = {"created": [], "changed": [], "unchanged": [], "removed": []}
    for change in changes:
        names[change.what].append(change.name)
    differing = [change for change in changes if change.what != "unchanged"]
    return {
        **names,
        "changes": [_shown(change) for change in differing],
        "warnings": list(warnings),
        "requests": [
            {"schedule": change.name, **msgspec.json.decode(change.spec.target.args)}
            for change in differing
            if change.what != "removed" and change.spec.target.task == HTTP_TASK
        ],
    }


def _shown(change: Change) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "name": change.name,
        "what": change.what,
        "fields": list(change.fields),
        "next": list(change.next),
    }
    if change.next_before is not None:
        shown["next_before"] = list(change.next_before)
    return shown


def _change(item: ManifestSchedule, view: PlanView | None, write: ScheduleWrite | None, now: int) -> Change:
    if write is None or write.schedule is None:
        return Change(name=item.spec.name, what="unchanged", spec=item.spec)
    after = _fires(write.schedule, now)
    if view is None:
        return Change(name=item.spec.name, what="created", next=after, spec=write.schedule.spec)
    before = _fires(view.schedule, now)
    return Change(
        name=item.spec.name,
        what="changed",
        fields=_fields(view.schedule, write.schedule),
        next=after,
        next_before=None if before == after else before,
        spec=write.schedule.spec,
    )


def _fires(schedule: Schedule, now: int) -> tuple[str, ...]:
    """Its next due times; none while a pause without end holds."""
    pause = schedule.pause
    if pause is not None and pause.active(now):
        if pause.until is None:
            return ()
        now = pause.until
    rule = compiled(schedule.spec.timetable)
    found: list[str] = []
    tick = rule.next(now)
    while tick is not None and len(found) < _FIRES:
        found.append(format_instant(due(schedule.spec, tick)))
        tick = rule.next(tick)
    return tuple(found)


def _fields(old: Schedule, new: Schedule) -> tuple[str, ...]:
    """The keys, as a manifest has them, whose value differs; where only who chose it does, those."""
    found: list[str] = []
    was = msgspec.json.decode(old.spec.timetable, type=Timetable)
    is_ = msgspec.json.decode(new.spec.timetable, type=Timetable)
    if was.timezone != is_.timezone:
        found.append("timezone")
    if msgspec.structs.replace(was, timezone="") != msgspec.structs.replace(is_, timezone=""):
        found.append("when")
    if old.spec.owner != new.spec.owner:
        found.append("owner")
    if old.spec.target != new.spec.target:
        found.append("target")
    found += [key.name for key in POLICY_KEYS if getattr(old.spec, key.attribute) != getattr(new.spec, key.attribute)]
    found += [
        f"{RETRY}.{key.name}"
        for key in RETRY_KEYS
        if getattr(old.spec.retry, key.attribute) != getattr(new.spec.retry, key.attribute)
    ]
    if (old.pause is None) != (new.pause is None):
        found.append("paused")
    return tuple(found or sorted(set(old.spec.defaulted) ^ set(new.spec.defaulted)) or ["source"])
