"""What the calendars of manifests mean is found out before anything is written, and only of those that changed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from puntual.app import App
from puntual.engine.calendars import next_version
from puntual.manifest import Manifest, ManifestErrors
from puntual.manifest.errors import Origin, located
from puntual.model.calendar import CalendarSpec
from puntual.model.errors import ForbiddenError, PuntualError
from puntual.model.instant import Instant
from puntual.operations.local.changes import Asked, Wanted
from puntual.store.calendars import CalendarWrite
from puntual.store.rows.calendars import still_named
from puntual.timing.calendar import Calendar, CalendarDays

#: How many feeds are asked at once.
_AT_ONCE: Final = 8

#: What texts define, by name, with where it stands; None stands for a definition that has a fault.
Declared = Mapping[str, tuple[CalendarSpec | None, Origin]]


class Meant(msgspec.Struct, frozen=True, kw_only=True):
    """What calendars mean: all that are ``known``, and of those what was found out now, because it was written anew.

    ``unasked`` are those whose address was not asked, although it would have to be.
    """

    known: dict[str, CalendarDays]
    fresh: dict[str, CalendarDays]
    unasked: tuple[str, ...] = ()


def check_owner(standing: Calendar | None, name: str, owner: str | None, *, take: bool) -> None:
    """Refuses to write another owner's calendar.

    Raises:
        ForbiddenError: it is somebody else's and ``take`` was not said.
    """
    if standing is not None and standing.owner not in (None, owner) and not take:
        raise ForbiddenError(
            f"The calendar {name} belongs to {standing.owner}, not to {owner or 'nobody'}: nothing was changed.",
            hint="Say --take to take it over.",
            field=f"calendars.{name}",
        )


async def find_out(app: App, declared: Declared, standing: Mapping[str, Calendar], *, fetch: bool) -> Meant:
    """What the calendars mean that texts define: those that stand as they are written are not found out again.

    Args:
        app: whose calendars.
        declared: what the texts define.
        standing: what the store has.
        fetch: whether addresses may be asked.

    Raises:
        ManifestErrors: the definitions of several cannot be used.
        PuntualError: the definition of one cannot be used, or its days cannot be found out now.
    """
    known = {name: each.days for name, each in standing.items()}
    wanted = {
        name: spec
        for name, (spec, _) in declared.items()
        if spec is not None and (name not in standing or standing[name].spec != spec)
    }
    unasked = tuple(name for name, spec in wanted.items() if spec.feed is not None and not fetch)
    asked = [name for name in wanted if name not in unasked]
    turns = asyncio.Semaphore(_AT_ONCE)
    now = await app.store.now()

    async def one(name: str) -> CalendarDays | PuntualError:
        async with turns:
            try:
                return await app.resolve(name, wanted[name], now)
            except PuntualError as error:
                error.field = f"calendars.{name}.{error.field or ''}".rstrip(".")
                return located(error, declared[name][1])

    found = dict(zip(asked, await asyncio.gather(*map(one, asked)), strict=True))
    _raise([error for error in found.values() if isinstance(error, PuntualError)])
    fresh = {
        name: next_version(standing.get(name), days) for name, days in found.items() if isinstance(days, CalendarDays)
    }
    # One that has a fault, or is not asked, closes nothing meanwhile: its own fault is told, and no other for its sake.
    unknown = {name: CalendarDays(name=name, version=0) for name in declared if name not in known}
    return Meant(known={**unknown, **known, **fresh}, fresh=fresh, unasked=unasked)


def calendar_writes(
    manifests: Sequence[Manifest], standing: Mapping[str, Calendar], meant: Meant, asked: Asked, now: Instant
) -> list[CalendarWrite]:
    """What is written of calendars: those that were written anew, changed hands, or are pruned.

    Raises:
        ForbiddenError: one belongs to another owner and ``take`` was not given.
    """
    writes: list[CalendarWrite] = []
    for manifest in manifests:
        for each in manifest.calendars:
            old, days = standing.get(each.name), meant.fresh.get(each.name)
            check_owner(old, each.name, manifest.owner, take=asked.take)
            if days is not None:
                made = Calendar(spec=each.spec, days=days, owner=manifest.owner, updated_at=now, refreshed_at=now)
                writes.append(_write(made, old))
            elif old is not None and old.owner != manifest.owner and old.spec == each.spec:
                writes.append(_write(msgspec.structs.replace(old, owner=manifest.owner), old))
    if asked.prune:
        owners = {manifest.owner for manifest in manifests}
        kept = {each.name for manifest in manifests for each in manifest.calendars}
        gone = [each for each in standing.values() if each.owner in owners and each.name not in kept]
        writes += [CalendarWrite(name=each.name, was=each.version) for each in gone]
    return writes


def calendar_change(write: CalendarWrite) -> dict[str, object]:
    """What becomes of one calendar: ``what`` is created, changed or removed, ``days`` counts its single days."""
    if write.calendar is None:
        return {"name": write.name, "what": "removed", "days": 0}
    return {
        "name": write.name,
        "what": "changed" if write.was else "created",
        "days": len(write.calendar.days.dates),
    }


async def check_removals(app: App, writes: Sequence[CalendarWrite], wanted: Wanted) -> None:
    """Refuses in a dry run what the transaction would refuse: to remove what a schedule goes on naming.

    Raises:
        ConflictError: one does.
    """
    gone = [write.name for write in writes if write.calendar is None]
    uses = await app.store.calendar_uses(gone) if gone else []
    left = [use for use in uses if use.schedule not in wanted.pruned and use.schedule not in wanted.items]
    if left:
        raise still_named(left)


def _write(calendar: Calendar, old: Calendar | None) -> CalendarWrite:
    return CalendarWrite(name=calendar.name, calendar=calendar, was=0 if old is None else old.version)


def _raise(errors: Sequence[PuntualError]) -> None:
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ManifestErrors(errors)
