"""What writing manifests changes, decided purely: the same for a dry run and for the transaction that does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from puntual.client.schedules import PutOptions, put_one
from puntual.engine import edit
from puntual.engine.calendars import with_days
from puntual.engine.due import compiled, due
from puntual.engine.edit import Moment
from puntual.manifest import ManifestSchedule
from puntual.manifest.keys import POLICY_KEYS, RETRY, RETRY_KEYS
from puntual.model.instant import format_instant
from puntual.model.run import HTTP_TASK
from puntual.model.schedule import Pause, Schedule, ScheduleSpec
from puntual.store.requests import PlanView, ScheduleWrite
from puntual.timing.calendar import CalendarDays
from puntual.timing.rule import Closures, read_timetable

_FIRES: Final = 3


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """How to apply. ``fetch`` allows to ask the addresses of calendars that were written anew."""

    dry_run: bool
    prune: bool
    take: bool
    fetch: bool = True


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What manifests ask for.

    ``ids`` are fresh ids for schedules that do not exist yet, by name. ``pruned`` names schedules that an owner had
    and may have no more; whether they still are that owner's is decided in the transaction. ``days`` are those of
    calendars that mean something else from now on.
    """

    items: Mapping[str, ManifestSchedule]
    ids: Mapping[str, str]
    pruned: Mapping[str, str] = {}
    take: bool = False
    days: Mapping[str, CalendarDays] = {}


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
    for name, view in standing.items():
        if name in wanted.items or name in wanted.pruned:
            continue
        write = with_days(view, wanted.days, moment)
        if write is not None and write.schedule is not None:
            writes.append(write)
            changes.append(_changed(view.schedule, write.schedule, now))
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
    if view is None:
        return Change(name=item.spec.name, what="created", next=_fires(write.schedule, now), spec=write.schedule.spec)
    return _changed(view.schedule, write.schedule, now)


def _changed(old: Schedule, new: Schedule, now: int) -> Change:
    before, after = _fires(old, now), _fires(new, now)
    return Change(
        name=new.name,
        what="changed",
        fields=_fields(old, new),
        next=after,
        next_before=None if before == after else before,
        spec=new.spec,
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
    tick = rule.open_next(now)
    while tick is not None and len(found) < _FIRES:
        found.append(format_instant(due(schedule.spec, tick)))
        tick = rule.open_next(tick)
    return tuple(found)


def _closing(was: Closures, is_: Closures) -> list[str]:
    """Which of the keys that close ticks differ, or mean something else."""
    found = []
    if msgspec.structs.replace(was, blackouts=()) != msgspec.structs.replace(is_, blackouts=()):
        found.append("calendars")
    if was.blackouts != is_.blackouts:
        found.append("blackouts")
    return found


def _fields(old: Schedule, new: Schedule) -> tuple[str, ...]:
    """The keys, as a manifest has them, whose value differs; where only who chose it does, those."""
    found: list[str] = []
    was = read_timetable(old.spec.timetable)
    is_ = read_timetable(new.spec.timetable)
    if was.timezone != is_.timezone:
        found.append("timezone")
    if msgspec.structs.replace(was, timezone="", closures=None) != msgspec.structs.replace(
        is_, timezone="", closures=None
    ):
        found.append("when")
    found += _closing(was.closures or Closures(), is_.closures or Closures())
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
