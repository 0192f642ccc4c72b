"""Edits: what creating, changing, pausing, removing and triggering a schedule write, decided purely.

An edit first plans what the old rule owes up to now, then withdraws the runs planned ahead (pending, never claimed,
not due), and starts the new rule at the first tick that is due after now. A run that was claimed ahead is past recall:
made anew it would have the same id, and its attempts the numbers that were given out before.
"""

from __future__ import annotations

import msgspec

from puntual.engine.due import due, first_tick_due_after
from puntual.engine.plan import HORIZON_US, plan, set_back
from puntual.engine.walk import run_of
from puntual.model.errors import ConflictError
from puntual.model.payload import safe_text
from puntual.model.run import Origin
from puntual.model.schedule import Cursor, Overlap, Pause, Schedule, ScheduleSpec
from puntual.store.requests import PlanView, PlanWrite, ScheduleWrite
from puntual.timing.zone import tz_version


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """What every edit is decided with: the store's time, and the pause of everything."""

    now: int
    paused_all: Pause | None = None


def create(spec: ScheduleSpec, schedule_id: str, moment: Moment, *, paused: bool = False) -> ScheduleWrite:
    """A new schedule. Its first tick is the first one due after now: no tick from before it existed is owed."""
    pause = Pause(since=moment.now, by_hand=False) if paused else None
    schedule = Schedule(
        id=schedule_id,
        revision=1,
        spec=spec,
        cursor=_fresh(spec, Cursor(last_tick_at=moment.now), moment.now),
        created_at=moment.now,
        updated_at=moment.now,
        pause=pause,
    )
    return ScheduleWrite(name=spec.name, schedule=_asleep(schedule, moment.now))


def change(view: PlanView, spec: ScheduleSpec, moment: Moment, *, paused: bool | None = None) -> ScheduleWrite | None:
    """The schedule with another spec; None when nothing would change.

    Args:
        view: the schedule as it stands.
        spec: what it shall be.
        moment: time and the pause of everything.
        paused: what the manifest says; None says nothing, and a pause made by hand then stays.
    """
    old = view.schedule
    pause = old.pause
    if paused is True and pause is None:
        pause = Pause(since=moment.now, by_hand=False)
    elif paused is False or (paused is None and pause is not None and not pause.by_hand):
        pause = None
    if spec == old.spec and pause == old.pause:
        return None
    owed, withdraw, cursor = _settle_up(view, moment)
    schedule = msgspec.structs.replace(
        old,
        revision=old.revision + 1,
        spec=spec,
        cursor=_fresh(spec, cursor, moment.now),
        updated_at=moment.now,
        pause=pause,
    )
    return ScheduleWrite(name=old.name, schedule=_asleep(schedule, moment.now), plan=owed, withdraw=withdraw)


def pause(view: PlanView, how: Pause, moment: Moment) -> ScheduleWrite:
    """The schedule paused from now on; ticks that come due meanwhile are skipped, not owed."""
    old = view.schedule
    owed, withdraw, cursor = _settle_up(view, moment)
    schedule = msgspec.structs.replace(
        old,
        revision=old.revision + 1,
        cursor=_still(old.spec, cursor, moment.now),
        updated_at=moment.now,
        pause=how,
    )
    return ScheduleWrite(name=old.name, schedule=_asleep(schedule, moment.now), plan=owed, withdraw=withdraw)


def retime(view: PlanView, moment: Moment) -> ScheduleWrite | None:
    """The schedule with its next tick found anew, by the tz database of this process; None where it has to wait.

    A tick that waits for a live run, or whose time has come, is decided first; not while a pause holds it back, which
    may be for ever. What moves is planned as after an edit, but the revision stays: nobody has changed what was asked
    for.
    """
    old = view.schedule
    cursor = old.cursor
    if cursor.trouble is not None or cursor.seen_at is not None:
        return None
    if cursor.next_tick_at is None or cursor.next_due_at is None:
        return None
    held = any(pause is not None and pause.active(moment.now) for pause in (old.pause, moment.paused_all))
    if cursor.next_due_at <= moment.now + HORIZON_US and not held:
        return None
    # A tick that came due under the pause is still the next one: that time has gone by since moves nothing.
    ours = _fresh(old.spec, cursor, min(moment.now, cursor.next_due_at - 1))
    if ours.next_tick_at == cursor.next_tick_at:
        stamped = msgspec.structs.replace(cursor, tzdata=tz_version())
        return ScheduleWrite(name=old.name, schedule=msgspec.structs.replace(old, cursor=stamped))
    owed, withdraw, cursor = _settle_up(view, moment)
    moved = msgspec.structs.replace(old, cursor=_fresh(old.spec, cursor, moment.now))
    return ScheduleWrite(name=old.name, schedule=_asleep(moved, moment.now), plan=owed, withdraw=withdraw)


def resume(view: PlanView, moment: Moment) -> ScheduleWrite | None:
    """The schedule awake again, without a flood; None when it was not paused."""
    old = view.schedule
    if old.pause is None:
        return None
    # One whose time was up already has not covered what came due since.
    until = moment.now if old.pause.until is None else min(old.pause.until, moment.now)
    over = msgspec.structs.replace(old, pause=msgspec.structs.replace(old.pause, until=until))
    owed = _owed(msgspec.structs.replace(view, schedule=over), moment, closing=True)
    schedule = msgspec.structs.replace(
        old, revision=old.revision + 1, cursor=owed.cursor, updated_at=moment.now, pause=None
    )
    return ScheduleWrite(name=old.name, schedule=schedule, plan=owed)


def remove(view: PlanView, moment: Moment) -> ScheduleWrite:
    """The schedule gone. Runs in flight go on; those planned ahead go with it."""
    owed, _, _ = _settle_up(view, moment)
    ahead = tuple(run_id for _, tick, run_id in view.withdrawable if not _came_due(view, owed, tick, moment.now))
    return ScheduleWrite(name=view.schedule.name, plan=owed, withdraw=ahead)


def trigger(
    view: PlanView, run_id: str, moment: Moment, *, args: str | None = None, overlap: Overlap | None = None
) -> ScheduleWrite | None:
    """One run by hand, now, with every option of the schedule; it follows the overlap policy, or the one given.

    None when that very run is live already: the request is repeated.

    Under ``cancel_other`` the live run is asked to stop and nothing is inserted: ask again once it has ended.

    Raises:
        ConflictError: a live run is in the way.
    """
    if run_id in view.live:
        return None
    spec = view.schedule.spec
    if stop := to_stop(view, spec.overlap if overlap is None else overlap):
        return ScheduleWrite(name=spec.name, schedule=view.schedule, cancel=stop)
    made = run_of(view.schedule, run_id, Origin.TRIGGER, moment.now)
    run = made if args is None else msgspec.structs.replace(made, args=args)
    return ScheduleWrite(name=spec.name, schedule=view.schedule, insert=(run,))


def to_stop(view: PlanView, policy: Overlap) -> tuple[str, ...]:
    """The live runs that must end before one is made by hand under this policy; none where nothing is in the way.

    Raises:
        ConflictError: a live run is in the way, and the policy asks none to stop.
    """
    spec = view.schedule.spec
    if view.live and policy is Overlap.CANCEL_OTHER:
        return view.live
    if view.live and spec.unique_key is not None:
        raise ConflictError(
            f"Run {view.live[0]} is live and holds the unique key of {spec.name}; nothing was started.",
            hint="Wait for it or cancel it.",
        )
    if view.live and policy is not Overlap.ALLOW_ALL:
        raise ConflictError(
            f"{spec.name} has a live run, {view.live[0]}, and the overlap policy is {policy}; nothing was started.",
            hint="Wait for it, cancel it, or say --overlap allow_all to start another beside it.",
        )
    return ()


def _settle_up(view: PlanView, moment: Moment) -> tuple[PlanWrite, tuple[str, ...], Cursor]:
    """What the old rule owes, which runs planned ahead are taken back, and the cursor before those."""
    owed = _owed(view, moment, closing=True)
    cursor = owed.cursor
    withdraw: list[str] = []
    behind = max(view.schedule.created_at, view.behind or 0)
    # Only the tail can be taken back: a tick before one that stays has been handed out, and its number is spoken for.
    for number, tick, run_id in sorted(view.withdrawable, reverse=True):
        if owed.runs or number != cursor.last_number or _came_due(view, owed, tick, moment.now):
            behind = max(behind, tick)
            break
        withdraw.append(run_id)
        cursor = msgspec.structs.replace(cursor, last_number=number - 1)
    if withdraw:
        cursor = msgspec.structs.replace(cursor, last_tick_at=behind)
    return owed, tuple(withdraw), cursor


def _came_due(view: PlanView, owed: PlanWrite, tick: int, now: int) -> bool:
    """Whether a tick whose run is not due has had its time: somebody moved the run to later, and it is owed as ever."""
    if tick > now or owed.cursor.trouble is not None:
        return tick <= now
    return due(view.schedule.spec, tick) <= now


def _owed(view: PlanView, moment: Moment, *, closing: bool) -> PlanWrite:
    """What the rule owes up to now; one that cannot be planned owes nothing that can be named, and stays editable."""
    try:
        return plan(view, moment.paused_all, moment.now, 0, closing=closing)
    except Exception as error:  # noqa: BLE001 - or it could never be replaced, paused or removed
        return set_back(view, moment.now, safe_text(error, limit=500))


def _still(spec: ScheduleSpec, cursor: Cursor, now: int) -> Cursor:
    """As `_fresh`, for a rule that stays as it is: one that cannot be planned keeps its cursor, and its trouble."""
    return cursor if cursor.trouble is not None else _fresh(spec, cursor, now)


def _fresh(spec: ScheduleSpec, cursor: Cursor, now: int) -> Cursor:
    """The cursor at the first tick of this rule that is due after now."""
    tick = first_tick_due_after(spec, cursor.last_tick_at, now)
    tick_due = None if tick is None else due(spec, tick)
    return msgspec.structs.replace(
        cursor,
        next_tick_at=tick,
        next_due_at=tick_due,
        look_at=None if tick_due is None else tick_due - HORIZON_US,
        seen_at=None,
        caught_up=0,
        trouble=None,
        tzdata=tz_version(),
    )


def _asleep(schedule: Schedule, now: int) -> Schedule:
    """A paused schedule is looked at when its pause ends, and not before; a pause that is over is none."""
    if schedule.pause is None or not schedule.pause.active(now):
        return schedule
    return msgspec.structs.replace(
        schedule, cursor=msgspec.structs.replace(schedule.cursor, look_at=schedule.pause.until)
    )
