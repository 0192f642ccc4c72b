"""Schedules: read, decided and written in one transaction, the cursor together with the runs that it hands out."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from puntual.model.run import NewRun
from puntual.model.schedule import Pause, Schedule
from puntual.store.calendars import CalendarRead, CalendarWrite
from puntual.store.requests import (
    DecideChange,
    DecidePlan,
    Page,
    Planned,
    PlanView,
    PlanWrite,
    ScheduleWrite,
    Selection,
)
from puntual.store.rows.calendars import written_of
from puntual.store.rows.codec import decode, decode_texts, encode
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
from puntual.store.sqlite import calendars
from puntual.store.sqlite.cancel import cancel
from puntual.store.sqlite.enqueue import enqueue, new_rows
from puntual.store.sqlite.transaction import Tx

#: A schedule that cannot be read is looked at again after this.
_SET_BACK_US = 60_000_000
_pause = msgspec.json.Decoder(Pause)


def plan(tx: Tx, decide: DecidePlan, limit: int) -> Planned:
    """Plans the schedules whose time has come."""
    look = read_look(tx.text("plan_read", tx.now, limit))
    if look.unreadable:
        tx.change_rows("plan_set_back", [(one.id, tx.now + _SET_BACK_US, one.why) for one in look.unreadable])
    writes = list(decide(look.views, look.pause, tx.now)) if look.views else []
    moved, runs = _apply(tx, look.views, writes)
    next_look = tx.value("plan_next_look")
    return Planned(
        schedules=moved,
        runs=len(runs),
        queues=tuple(sorted({run.queue for run in runs})),
        now=tx.now,
        next_look_at=next_look if isinstance(next_look, int) else None,
        full=len(look.views) + len(look.unreadable) == limit,
    )


def change(
    tx: Tx, select: Selection, decide: DecideChange, asked: Sequence[CalendarWrite | CalendarRead] = ()
) -> list[Schedule]:
    """Writes what ``decide`` makes of the schedules selected; the answer holds those that stand."""
    calendars.check(tx, asked)
    look = _selected(tx, select)
    # One that cannot be read is written anew or removed by its name; a change of all of many passes it over.
    views = (*look.views, *(view for view in look.mended if view.schedule.name in (select.names or ())))
    writes = decide(views, look.pause, tx.now)
    refuse_mended(look.mended, writes)
    _apply(tx, views, [write.plan for write in writes if write.plan is not None])
    if withdraw := [id for write in writes for id in write.withdraw]:
        tx.change("change_withdraw", encode(withdraw), tx.now)
    _put(tx, views, writes)
    _insert(tx, [run for write in writes for run in write.insert])
    if ids := [id for write in writes for id in write.cancel]:
        cancel(tx, ids)
    calendars.put(tx, written_of(asked))
    names = [write.schedule.name for write in writes if write.schedule is not None]
    return named(tx, names) if names else []


def named(tx: Tx, names: Sequence[str]) -> list[Schedule]:
    """The schedules of these names."""
    return shown_schedules(tx.text("schedules_by_name", encode(sorted(set(names)))))


def list_all(tx: Tx, owner: str | None, tags: Sequence[str], page: Page | None) -> list[Schedule]:
    """Schedules by name."""
    limit, after = (-1, "") if page is None else (page.limit, page.after or "")
    return shown_schedules(tx.text("list_schedules", owner, encode(list(tags)) if tags else None, after, limit))


def pause_all(tx: Tx, pause: Pause) -> None:
    """Writes the pause of everything; once it is over, every schedule is looked at."""
    tx.change("pause_all", encode(pause))
    if not pause.active(tx.now):
        tx.change("pause_all_look", tx.now)


def paused_all(tx: Tx) -> Pause | None:
    """The last pause of everything."""
    text = tx.value("paused_all")
    return decode(_pause, text) if isinstance(text, str) else None


def _selected(tx: Tx, select: Selection) -> Look:
    now = tx.now if select.withdrawable else None
    if select.names is not None or select.calendars:
        users = calendars.uses(tx, select.calendars) if select.calendars else ()
        named = {*(select.names or ()), *(use.schedule for use in users)}
        return read_look(tx.text("change_read_named", encode(sorted(named)), now))
    if select.tag is None and select.owner is None and not select.everything:
        return Look(paused_all(tx), ())
    return read_look(tx.text("change_read_chosen", select.tag, now, select.owner))


def _apply(tx: Tx, views: Sequence[PlanView], writes: Sequence[PlanWrite]) -> tuple[int, Sequence[NewRun]]:
    """Makes the writes whose guard holds: how many those were, and the runs inserted."""
    seen = {view.schedule.id: view.schedule for view in views}
    good = [write for write in writes if _guard_holds(seen.get(write.schedule_id), write)]
    if not good:
        return 0, ()
    tx.change_rows("plan_move", [(write.schedule_id, *cursor_values(write.cursor)) for write in good])
    inserted, refused = _insert(tx, [run for write in good for run in write.runs])
    stretches = [
        (write.schedule_id, seen[write.schedule_id].name, stretch.number, *stretch_values(stretch))
        for write in good
        for stretch in (*write.stretches, *(skipped(run) for run in write.runs if run.id in refused))
    ]
    if stretches:
        tx.change_rows("keep_stretches", stretches)
    if ids := [id for write in good for id in write.cancel]:
        cancel(tx, ids)
    return len(good), inserted


def _guard_holds(schedule: Schedule | None, write: PlanWrite) -> bool:
    """Nobody writes beside this transaction: what was read in it is what stands."""
    return (
        schedule is not None
        and schedule.revision == write.revision
        and schedule.cursor.next_tick_at == write.was_next_tick_at
    )


def _insert(tx: Tx, runs: Sequence[NewRun]) -> tuple[list[NewRun], set[str]]:
    """The runs inserted, and the ids of those whose unique key another run has."""
    answers = list(zip(runs, enqueue(tx, new_rows(runs)), strict=True))
    inserted = [run for run, answer in answers if not answer.existing]
    return inserted, {run.id for run, answer in answers if answer.id != run.id}


def _put(tx: Tx, views: Sequence[PlanView], writes: Sequence[ScheduleWrite]) -> None:
    """Removes, then writes the rows that stand."""
    if gone := [write.name for write in writes if write.schedule is None]:
        tx.change("change_close_stretches", encode(gone))
        tx.change("change_remove", encode(gone))
    schedules = [write.schedule for write in writes if write.schedule is not None]
    if not schedules:
        return
    owners = {schedule.name: schedule.id for schedule in schedules}
    taken = [schedule.name for schedule in schedules if owners[schedule.name] != schedule.id]
    rows = [(schedule.id, schedule.name) for schedule in schedules]
    taken += [name for text in tx.read_rows("change_taken", rows) for name in decode_texts(text)]
    if taken:
        raise name_taken(taken[0])
    standing = specs(views)
    tx.change_rows("change_put", [schedule_row(schedule, standing) for schedule in schedules])
