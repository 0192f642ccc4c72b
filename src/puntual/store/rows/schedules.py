"""Between schedules and rows: what a cursor, a stretch and a whole schedule are as parameters, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from puntual.model.errors import ConflictError, StoreDataError
from puntual.model.run import NewRun
from puntual.model.schedule import Cursor, Fate, FateReason, Schedule, ScheduleSpec, Stretch
from puntual.store.requests import PlanView, ScheduleWrite
from puntual.store.rows.codec import SqlValue, encode


def specs(views: Sequence[PlanView]) -> dict[str, ScheduleSpec]:
    """The specs of schedules as they stand, by their ids."""
    return {view.schedule.id: view.schedule.spec for view in views}


def schedule_row(schedule: Schedule, standing: Mapping[str, ScheduleSpec]) -> tuple[SqlValue, ...]:
    """A schedule as the parameters of ``change_put``; the spec is NULL where it stays as it stands.

    Reading passes over what only a newer version knows, and what was read is not the whole of what is kept.
    """
    stays = standing.get(schedule.id) == schedule.spec
    return (
        schedule.id,
        schedule.name,
        schedule.spec.owner,
        schedule.revision,
        None if stays else encode(schedule.spec),
        schedule.created_at,
        schedule.updated_at,
        None if schedule.pause is None else encode(schedule.pause),
        *cursor_values(schedule.cursor),
    )


def cursor_values(cursor: Cursor) -> tuple[SqlValue, ...]:
    """A cursor, from ``look_at`` to ``tzdata``."""
    return (
        cursor.look_at,
        cursor.next_tick_at,
        cursor.next_due_at,
        cursor.last_tick_at,
        cursor.last_number,
        cursor.seen_at,
        cursor.caught_up,
        None if cursor.stretch is None else encode(cursor.stretch),
        cursor.trouble,
        cursor.tzdata,
    )


def stretch_values(stretch: Stretch) -> tuple[SqlValue, ...]:
    """A stretch, from ``tick_at`` to ``reason``."""
    return (
        stretch.tick_at,
        stretch.last_tick_at,
        stretch.count,
        stretch.at_least,
        str(stretch.fate),
        None if stretch.reason is None else str(stretch.reason),
    )


def skipped(run: NewRun) -> Stretch:
    """The fate of a tick whose run could not be: its unique key was taken in the meantime."""
    assert run.tick_at is not None
    assert run.tick_number is not None
    return Stretch(
        run.tick_number, run.tick_at, run.tick_at, 1, at_least=False, fate=Fate.SKIPPED, reason=FateReason.OVERLAP
    )


def refuse_mended(mended: Sequence[PlanView], writes: Sequence[ScheduleWrite]) -> None:
    """What was not read is not written back as if it had never been there.

    Raises:
        StoreDataError: a schedule that cannot be read was to keep its rule and policies.
    """
    partly = {view.schedule.name: view.schedule for view in mended}
    for write in writes:
        old = partly.get(write.name)
        if old is not None and write.schedule is not None and write.schedule.spec == old.spec:
            raise StoreDataError(
                f"The schedule {old.name} stays as it is. {old.cursor.trouble} Write it anew, or remove it."
            )


def name_taken(name: str) -> ConflictError:
    """A name that another live schedule has."""
    return ConflictError(f"There is a schedule {name} already: choose another name, or change that one.")
