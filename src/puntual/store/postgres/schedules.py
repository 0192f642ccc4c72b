"""Schedules: changed in one transaction, each cursor with the runs that it hands out; and how they are read.

A schedule's row is locked before anything else of it is read, and whoever makes a run of it holds that lock: so what
a decision sees (its live runs above all) still holds when it is written.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from puntual.model.errors import ConflictError
from puntual.model.run import NewRun
from puntual.model.schedule import Pause, Schedule
from puntual.store.calendars import CalendarRead, CalendarWrite
from puntual.store.postgres import calendars
from puntual.store.postgres.cancel import cancel
from puntual.store.postgres.enqueue import PATIENCE_MS, insert
from puntual.store.postgres.statements import columns
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import (
    DecideChange,
    Enqueued,
    Page,
    PlanView,
    PlanWrite,
    ScheduleWrite,
    Selection,
)
from puntual.store.rows.calendars import written_of
from puntual.store.rows.codec import decode, encode
from puntual.store.rows.schedules import (
    cursor_values,
    name_taken,
    refuse_mended,
    schedule_row,
    skipped,
    specs,
    stretch_values,
)
from puntual.store.rows.views import Look, read_look, shown_schedules

_pause = msgspec.json.Decoder(Pause)


async def change(
    tx: Tx, select: Selection, decide: DecideChange, asked: Sequence[CalendarWrite | CalendarRead] = ()
) -> list[Schedule]:
    """Writes what ``decide`` makes of the schedules selected; the answer holds those that stand."""
    await calendars.check(tx, asked)
    look = await _selected(tx, select)
    # One that cannot be read is written anew or removed by its name; a change of all of many passes it over.
    views = (*look.views, *(view for view in look.mended if view.schedule.name in (select.names or ())))
    writes = decide(views, look.pause, tx.now)
    refuse_mended(look.mended, writes)
    await apply(tx, views, [write.plan for write in writes if write.plan is not None])
    if withdraw := [id for write in writes for id in write.withdraw]:
        await tx.change("change_withdraw", withdraw, tx.now)
    await _put(tx, views, writes)
    await _insert_by_hand(tx, views, [run for write in writes for run in write.insert])
    if ids := [id for write in writes for id in write.cancel]:
        await cancel(tx, ids)
    await calendars.put(tx, written_of(asked))
    names = [write.schedule.name for write in writes if write.schedule is not None]
    return await named(tx, names) if names else []


async def named(tx: Tx, names: Sequence[str]) -> list[Schedule]:
    """The schedules of these names."""
    return shown_schedules(await tx.text("schedules_by_name", list(names))) if names else []


async def list_all(tx: Tx, owner: str | None, tags: Sequence[str], page: Page | None) -> list[Schedule]:
    """Schedules by name."""
    limit, after = (None, "") if page is None else (page.limit, page.after or "")
    return shown_schedules(await tx.text("list_schedules", owner, list(tags) or None, after, limit))


async def pause_all(tx: Tx, pause: Pause) -> None:
    """Writes the pause of everything; once it is over, every schedule is looked at."""
    await tx.change("pause_all", encode(pause))
    if not pause.active(tx.now):
        await tx.change("pause_all_look", tx.now)


async def paused_all(tx: Tx) -> Pause | None:
    """The last pause of everything."""
    text: str | None = await tx.value("paused_all")
    return None if text is None else decode(_pause, text)


async def _selected(tx: Tx, select: Selection) -> Look:
    if select.names is not None or select.calendars:
        users = await calendars.uses(tx, select.calendars) if select.calendars else ()
        rows = await tx.rows("change_lock_named", [*(select.names or ()), *(use.schedule for use in users)])
    elif select.tag is None and select.owner is None and not select.everything:
        rows = []
    else:
        rows = await tx.rows("change_lock_chosen", select.tag, select.owner)
    return read_look(await tx.text("change_read", [id for (id,) in rows], tx.now if select.withdrawable else None))


async def apply(
    tx: Tx, views: Sequence[PlanView], writes: Sequence[PlanWrite], *, patience_ms: int = PATIENCE_MS
) -> tuple[int, list[NewRun]]:
    """Makes the writes whose guard holds: how many those were, and the runs inserted.

    Raises:
        StoreBusyError: a unique key was held by an open transaction for longer than ``patience_ms``.
    """
    names = {view.schedule.id: view.schedule.name for view in views}
    given = [write for write in writes if write.schedule_id in names]
    moved = await _move(tx, given)
    good = [write for write in given if write.schedule_id in moved]
    runs = [run for write in good for run in write.runs]
    inserted, refused = _sorted_out(runs, await insert(tx, runs, patience_ms=patience_ms))
    stretches = [
        (write.schedule_id, names[write.schedule_id], stretch.number, *stretch_values(stretch))
        for write in good
        for stretch in (*write.stretches, *(skipped(run) for run in write.runs if run.id in refused))
    ]
    if stretches:
        await tx.change("keep_stretches", *columns(stretches))
    if ids := [id for write in good for id in write.cancel]:
        await cancel(tx, ids)
    return len(good), inserted


async def _move(tx: Tx, writes: Sequence[PlanWrite]) -> set[str]:
    """Moves the cursors whose guard holds, and says of which schedules."""
    if not writes:
        return set()
    rows = [
        (write.schedule_id, write.revision, write.was_next_tick_at, *cursor_values(write.cursor)) for write in writes
    ]
    return {id for (id,) in await tx.rows("plan_move", *columns(rows))}


def _sorted_out(runs: Sequence[NewRun], answers: Sequence[Enqueued]) -> tuple[list[NewRun], dict[str, str]]:
    """The runs inserted; and the ids of those whose unique key another run has, with that run."""
    pairs = list(zip(runs, answers, strict=True))
    inserted = [run for run, answer in pairs if not answer.existing]
    return inserted, {run.id: answer.id for run, answer in pairs if answer.id != run.id}


async def _insert_by_hand(tx: Tx, views: Sequence[PlanView], runs: Sequence[NewRun]) -> None:
    """Inserts runs of which the caller has decided that nothing stands in their way.

    Their ids may be the caller's own: a repeat that comes when its run is over makes no other.

    Raises:
        ConflictError: a unique key was taken after that was decided: by a run that nobody had seen.
    """
    _, refused = _sorted_out(runs, await insert(tx, runs, repeat=True))
    seen = {id for view in views for id in view.live} | {run.id for run in runs}
    for id, holder in refused.items():
        if holder not in seen:
            raise ConflictError(f"Run {holder} has just taken the unique key of {id}; nothing was started.")


async def _put(tx: Tx, views: Sequence[PlanView], writes: Sequence[ScheduleWrite]) -> None:
    """Removes, then writes the rows that stand."""
    if gone := [write.name for write in writes if write.schedule is None]:
        await tx.change("change_close_stretches", gone)
        await tx.change("change_remove", gone)
    schedules = [write.schedule for write in writes if write.schedule is not None]
    if not schedules:
        return
    standing = specs(views)
    rows = {schedule.name: schedule_row(schedule, standing) for schedule in schedules}
    written = {name for (name,) in await tx.rows("change_put", *columns(list(rows.values())))}
    ids = {name: row[0] for name, row in rows.items()}
    for schedule in schedules:
        if schedule.name not in written or ids[schedule.name] != schedule.id:
            raise name_taken(schedule.name)
