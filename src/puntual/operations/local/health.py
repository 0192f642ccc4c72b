"""Whether every part does its work: the database, the loops of this process, workers, planning, and the disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from puntual.app import App
from puntual.engine.offset import Offset, offset
from puntual.model.calendar import date_of
from puntual.model.errors import PuntualError
from puntual.model.fleet import COUNTED_TO
from puntual.model.instant import DAY, MILLISECOND, SECOND, format_instant
from puntual.operations.local import living
from puntual.store.requests import Snapshot
from puntual.timing.calendar import Calendar

#: SQLite needs room for its log beside what is written.
LEAST_FREE: Final = 256 << 20
#: Whoever reads that a calendar ends has time to do something.
_SOON_US: Final = 60 * DAY


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at, and a sentence."""

    name: str
    ok: bool
    text: str


async def checks(app: App) -> list[Check]:
    """Everything, the database first; without it the rest that needs it is left out."""
    found = [*loops(app), *_hints(app)]
    snapshot = await _snapshot(app)
    if isinstance(snapshot, Check):
        return [snapshot, *found]
    found += [_waiting(snapshot), _workers(snapshot), _scheduler(snapshot), await _planning(app, snapshot)]
    found += _calendars(await app.store.list_calendars(), snapshot.now)
    found.append(_clock(await clock_offset(app)))
    if not app.settings.on_postgres:
        found.append(_disk(app))
    return [Check(name="store", ok=True, text=f"The database answers; its schema is {snapshot.schema}."), *found]


async def ready(app: App) -> list[Check]:
    """What this process needs to be of use: the database, and its own loops. Its texts tell nothing of the inside."""
    reached = await _reached(app)
    text = "The database answers." if reached else "The database does not answer."
    found = [Check(name="store", ok=reached, text=text)]
    for loop in loops(app):
        text = f"The loop {loop.name.removeprefix('loop ')} {'works' if loop.ok else 'fails'}."
        found.append(Check(name=loop.name, ok=loop.ok, text=text))
    return found


def loops(app: App) -> Iterator[Check]:
    """The loops that run in this process."""
    for health in app.node.health() if app.node is not None else ():
        bad = f"It failed {health.failures} times in a row: {health.error}"
        text = "Its last step succeeded." if health.good else bad
        yield Check(name=f"loop {health.name}", ok=health.good, text=text)


def _hints(app: App) -> Iterator[Check]:
    """No part of readiness: without hints everything works, a little later."""
    if app.wake.trouble is not None:
        yield Check(name="hints", ok=False, text=app.wake.trouble)


async def clock_offset(app: App) -> Offset:
    """How far this machine's clock is from the database's: by the heartbeats of this process, else asked now."""
    known = app.node.clock_offset if app.node is not None else None
    if known is not None:
        return known
    sent_at = app.clock.steady()
    return offset(await app.store.now(), sent_at=sent_at, clock=app.clock)


async def _reached(app: App) -> bool:
    try:
        await app.store.ping()
    except PuntualError:
        return False
    return True


async def _snapshot(app: App) -> Snapshot | Check:
    try:
        return await app.store.snapshot()
    except PuntualError as error:
        return Check(name="store", ok=False, text=error.message)


def _waiting(snapshot: Snapshot) -> Check:
    """Whether a run that is due waits longer than it should, or for a task that nobody has."""
    bad = [text for text in (unknown_words(snapshot), living.lagging(snapshot)) if text is not None]
    if bad:
        return Check(name="lag", ok=False, text=f"{'; '.join(bad)}.")
    oldest = living.oldest_due(snapshot)
    if oldest is None:
        return Check(name="lag", ok=True, text="No run is waiting past its time.")
    text = f"The oldest due run has waited {living.spell(max(0, snapshot.now - oldest[0]))}, in queue {oldest[1]}."
    return Check(name="lag", ok=True, text=text)


def unknown_words(snapshot: Snapshot) -> str | None:
    """The tasks that runs wait for and no living worker has; nothing where none lives, which is told by itself."""
    found = living.unknown(snapshot)
    if not found or not living.working(snapshot.workers, snapshot.now):
        return None
    count, first = sum(waiting.due for waiting in found), found[0].task
    others = f" and {len(found) - 1:,} more" if len(found) > 1 else ""
    least = "at least " if any(waiting.due >= COUNTED_TO for waiting in found) else ""
    runs = "1 due run waits" if count == 1 else f"{least}{count:,} due runs wait"
    return f"{runs} for tasks that no living worker has: {first}{others}"


def _workers(snapshot: Snapshot) -> Check:
    live = len(living.working(snapshot.workers, snapshot.now))
    if not live:
        return Check(name="workers", ok=False, text="No worker is alive: puntual worker or puntual serve starts one.")
    text = "1 worker is alive." if live == 1 else f"{live:,} workers are alive."
    return Check(name="workers", ok=True, text=text)


def _scheduler(snapshot: Snapshot) -> Check:
    lives = living.scheduler_lives(snapshot)
    no = "No scheduler is alive: puntual scheduler or puntual serve starts one."
    return Check(name="scheduler", ok=lives, text="A scheduler is alive." if lives else no)


async def _planning(app: App, snapshot: Snapshot) -> Check:
    """Whether every schedule can be planned, and is; each is looked at again, so this mends itself with its cause."""
    found = (await app.store.tally(snapshot.now)).unplanned
    late = living.not_planned(await app.store.list_schedules(), snapshot)
    if found.count:
        others = f" and {found.count - 1:,} more" if found.count > 1 else ""
        text = f"{found.first[0]}{others} cannot be planned: puntual schedule show {found.first[0]} says why."
        return Check(name="schedules", ok=False, text=text)
    return Check(name="schedules", ok=late is None, text=f"{late or 'Every schedule is planned in time'}.")


def _calendars(calendars: Sequence[Calendar], now: int) -> Iterator[Check]:
    """Whether the days of every calendar are known, and as they are now; nothing where there is none."""
    bad = [text for each in calendars if (text := _outdated(each, now)) is not None]
    if bad:
        more = f" And {len(bad) - 1:,} more: puntual calendar list" if len(bad) > 1 else ""
        yield Check(name="calendars", ok=False, text=bad[0] + more)
    elif calendars:
        count = "1 calendar is" if len(calendars) == 1 else f"{len(calendars):,} calendars are"
        yield Check(name="calendars", ok=True, text=f"{count} up to date.")


def _outdated(calendar: Calendar, now: int) -> str | None:
    if calendar.trouble is not None:
        return f"{calendar.name} is as it was on {format_instant(calendar.refreshed_at)}: {calendar.trouble}"
    until = calendar.days.until
    if until is None or until * DAY >= now + _SOON_US:
        return None
    return f"{calendar.name} knows nothing of the days after {date_of(until)}: from then on it closes nothing."


def _clock(found: Offset) -> Check:
    """What is due and late goes by the database's clock alone; tokens, filters and logs go by this machine's."""
    apart = abs(found.us)
    if apart < MILLISECOND:
        return Check(name="clock", ok=True, text="This machine's clock shows what the database's does.")
    far = f"{apart / SECOND:.1f} s" if apart >= SECOND else f"{apart // MILLISECOND} ms"
    text = f"This machine's clock is {far} {'behind' if found.us > 0 else 'ahead of'} the database's."
    return Check(name="clock", ok=found.good, text=text)


def _disk(app: App) -> Check:
    folder = Path(app.settings.database_path).absolute().parent
    free = shutil.disk_usage(folder).free
    return Check(name="disk", ok=free >= LEAST_FREE, text=f"{free / (1 << 30):.1f} GB are free in {folder}.")
