"""Small builders for what a store is given, so that a test shows only what it is about."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import NoReturn

import msgspec

from puntual.model.attempt import OutcomeKind
from puntual.model.fleet import Worker
from puntual.model.ids import run_id, tick_run_id
from puntual.model.outcome import Outcome
from puntual.model.run import NewRun, Origin, Run
from puntual.model.schedule import Cursor, Pause, Schedule, ScheduleSpec, Target
from puntual.model.transitions import decide
from puntual.store.contract import Store
from puntual.store.requests import (
    ClaimRequest,
    Lost,
    PlanView,
    PlanWrite,
    ScheduleWrite,
    Selection,
    Settled,
    Settlement,
)

SECOND = 1_000_000
MINUTE = 60 * SECOND
DAY = 86_400 * SECOND
#: 2027-01-15 08:00 UTC: the instant at which most tests happen.
NOW = 1_800_000_000 * SECOND
LEASE = 15 * SECOND
FOREVER = 2**62


def uid(number: int) -> str:
    """A run id; a greater number is a newer run."""
    return run_id(NOW + number * 1_000, hashlib.sha256(str(number).encode()).digest()[:10])


def new_run(number: int = 1, **changes: object) -> NewRun:
    """A run of ``task``, due at once."""
    return msgspec.structs.replace(NewRun(id=uid(number), task="task"), **changes)


async def add(store: Store, *runs: NewRun, now: int = NOW) -> list[str]:
    """Enqueues and gives the ids of the runs that stand."""
    return [answer.id for answer in await store.enqueue(runs, now=now)]


def worker(name: str = "w1", **changes: object) -> Worker:
    """A worker that started at ``NOW``."""
    made = Worker(
        id=name,
        host="host",
        pid=1,
        roles=("worker",),
        queues=None,
        tasks=("task",),
        concurrency=10,
        started_at=NOW,
        seen_at=NOW,
        lease_until=NOW + LEASE,
    )
    return msgspec.structs.replace(made, **changes)


async def join(store: Store, *names: str, now: int = NOW, lease_us: int = LEASE) -> None:
    """Registers workers, ``w1`` when none is named."""
    for name in names or ("w1",):
        await store.register_worker(worker(name), lease_us=lease_us, now=now)


def wanting(name: str = "w1", **changes: object) -> ClaimRequest:
    """A claim of up to 100 runs of ``task``."""
    return msgspec.structs.replace(ClaimRequest(worker=name, limit=100, tasks=("task",)), **changes)


async def take(store: Store, name: str = "w1", *, now: int = NOW, **changes: object) -> tuple[Run, ...]:
    """The runs that a claim gives this worker."""
    return (await store.claim(wanting(name, **changes), now=now)).runs


async def start(store: Store, *runs: NewRun, name: str = "w1", now: int = NOW) -> tuple[Run, ...]:
    """Enqueues runs and claims them for a worker that it registers, in the order given."""
    await join(store, name, now=now)
    ids = await add(store, *runs, now=now)
    held = {run.id: run for run in await take(store, name, now=now, limit=len(runs))}
    return tuple(held[id] for id in ids)


def after(run: Run, kind: OutcomeKind, *, now: int = NOW, **changes: object) -> Settlement:
    """What a worker writes when its attempt of the run came out so; ``changes`` are of the outcome."""
    outcome = msgspec.structs.replace(Outcome(kind=kind, started_at=now, finished_at=now), **changes)
    wish = run.cancel_requested
    transition = decide(run, outcome, cancel_requested=wish, now=now, random=0.0)
    return Settlement(id=run.id, attempt=run.attempt, worker=run.worker or "", cancel_seen=wish, transition=transition)


async def end(
    store: Store, run: Run, kind: OutcomeKind = OutcomeKind.SUCCEEDED, *, now: int = NOW, **changes: object
) -> Settled:
    """Settles one run."""
    return await store.settle([after(run, kind, now=now, **changes)], now=now)


async def kill(store: Store, *runs: NewRun, name: str = "w1", now: int = NOW) -> tuple[Run, ...]:
    """Enqueues runs and makes them dead, as a handler that says so does."""
    held = await start(store, *runs, name=name, now=now)
    await store.settle([after(run, OutcomeKind.FAILED, now=now, final=True) for run in held], now=now)
    return tuple([await fetch(store, run.id) for run in held])


async def fetch(store: Store, id: str) -> Run:
    """The run, which must be there."""
    run = await store.get_run(id)
    assert run is not None, f"the store does not know the run {id}"
    return run


def lose(losts: Sequence[Lost], now: int) -> list[Settlement]:
    """What rescue decides of runs that were lost, when every one is charged."""
    return [after(lost.run, OutcomeKind.LOST, now=now) for lost in losts]


def schedule(name: str = "nightly", **changes: object) -> Schedule:
    """A schedule whose ticks are the minutes after ``NOW``, none planned yet, to be looked at from ``NOW``."""
    spec = ScheduleSpec(name=name, timetable="{}", source={"every": "1m"}, target=Target("task"))
    cursor = Cursor(look_at=NOW, next_tick_at=tick(1), next_due_at=tick(1), last_tick_at=NOW)
    made = Schedule(
        id=run_id(NOW, hashlib.sha256(name.encode()).digest()[:10]),
        revision=1,
        spec=spec,
        cursor=cursor,
        created_at=NOW,
        updated_at=NOW,
    )
    return msgspec.structs.replace(made, **changes)


def tick(number: int) -> int:
    """The instant of a tick of the schedules made here."""
    return NOW + number * MINUTE


def tick_run(owner: Schedule, number: int, **changes: object) -> NewRun:
    """The run of one tick."""
    made = NewRun(
        id=tick_run_id(owner.id, tick(number)),
        task="task",
        origin=Origin.TICK,
        schedule_id=owner.id,
        schedule=owner.name,
        tick_at=tick(number),
        tick_number=number,
        due_at=tick(number),
    )
    return msgspec.structs.replace(made, **changes)


def cursor_at(number: int, **changes: object) -> Cursor:
    """The cursor of a schedule that has handled the ticks up to this one."""
    made = Cursor(
        look_at=tick(number + 1),
        next_tick_at=tick(number + 1),
        next_due_at=tick(number + 1),
        last_tick_at=tick(number),
        last_number=number,
    )
    return msgspec.structs.replace(made, **changes)


def plan_to(owner: Schedule, number: int, **changes: object) -> PlanWrite:
    """What hands out every tick after the schedule's cursor up to ``number``."""
    made = PlanWrite(
        schedule_id=owner.id,
        revision=owner.revision,
        was_next_tick_at=owner.cursor.next_tick_at,
        cursor=cursor_at(number),
        runs=tuple(tick_run(owner, at) for at in range(owner.cursor.last_number + 1, number + 1)),
    )
    return msgspec.structs.replace(made, **changes)


def deciding(
    write: Callable[[Schedule], PlanWrite | None],
) -> Callable[[Sequence[PlanView], Pause | None, int], list[PlanWrite]]:
    """A ``decide`` for plan that writes the same for each schedule; None leaves it."""

    def decide_all(views: Sequence[PlanView], _pause: Pause | None, _now: int) -> list[PlanWrite]:
        return [made for view in views if (made := write(view.schedule)) is not None]

    return decide_all


def writing(*writes: ScheduleWrite) -> Callable[[Sequence[PlanView], Pause | None, int], list[ScheduleWrite]]:
    """A ``decide`` for a change of schedules that writes these, whatever it is shown."""

    def decide_change(_views: Sequence[PlanView], _pause: Pause | None, _now: int) -> list[ScheduleWrite]:
        return list(writes)

    return decide_change


def failing(*_seen: object) -> NoReturn:
    """A ``decide`` of any kind that raises ``ZeroDivisionError``."""
    raise ZeroDivisionError


async def put(store: Store, *schedules: Schedule, now: int = NOW) -> None:
    """Creates schedules, or writes their new rows."""
    writes = [ScheduleWrite(name=made.name, schedule=made) for made in schedules]
    names = tuple(made.name for made in schedules)
    await store.change_schedules(Selection(names=names), writing(*writes), now=now)


async def hand_out(store: Store, owner: Schedule, number: int, *, now: int = NOW) -> Schedule:
    """Creates the schedule and plans its ticks up to ``number``; gives it as it stands then."""
    await put(store, owner, now=now)
    await store.plan(deciding(lambda seen: plan_to(seen, number)), now=now)
    return await named(store, owner.name)


async def named(store: Store, name: str) -> Schedule:
    """The schedule, which must be there."""
    found = await store.get_schedule(name)
    assert found is not None, f"the store does not know the schedule {name}"
    return found
