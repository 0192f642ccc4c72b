"""The store on SQLite: each operation of the contract, put in line for the thread that owns its connection."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from puntual.model.clock import Clock
from puntual.model.errors import InvalidError, StoreDataError, StoreUnavailableError
from puntual.model.fleet import Token, Worker
from puntual.model.run import NewRun, Run, RunState
from puntual.model.schedule import Pause, Schedule
from puntual.store.calendars import CalendarNote, CalendarRead, CalendarUse, CalendarWrite
from puntual.store.contract import HeartbeatLine
from puntual.store.requests import (
    Claimed,
    ClaimRequest,
    DecideChange,
    DecideLost,
    DecidePlan,
    Enqueued,
    JoinSteps,
    Page,
    Planned,
    QueueEdit,
    Rescued,
    Response,
    Retention,
    RunEdit,
    RunFilter,
    RunPage,
    Selection,
    Settled,
    Settlement,
    Snapshot,
    Tally,
    TickFilter,
    TickPage,
)
from puntual.store.rows.asked import ids_found
from puntual.store.sqlite import (
    admin,
    calendars,
    claims,
    control,
    enqueue,
    history,
    listing,
    schedules,
    settle,
    tally,
    ticks,
    workers,
    zones,
)
from puntual.store.sqlite.cancel import cancel
from puntual.store.sqlite.connection import MEMORY
from puntual.store.sqlite.heartbeat import InlineHeartbeatLine, SqliteHeartbeatLine
from puntual.store.sqlite.lanes import InlineLane, Lane, ThreadLane
from puntual.store.sqlite.migrate import Opening
from puntual.store.sqlite.opening import open_lanes, open_reader
from puntual.store.sqlite.same import SameFile
from puntual.store.sqlite.session import Surroundings
from puntual.store.sqlite.transaction import Tx
from puntual.timing.calendar import Calendar


class SqliteStore:
    """One file, or ``:memory:``.

    Args:
        path: the file; ``:memory:`` is inline by its nature.
        clock: where time comes from when an operation is given none; only ``now()`` is used.
        retention: how long what is over is kept.
        inline: no threads at all: each operation is done at once, on the caller's thread and on one connection.
        opening: whether ``open`` may make the file, and migrate it.
    """

    def __init__(
        self,
        path: str,
        *,
        clock: Clock,
        retention: Retention = Retention(),  # noqa: B008 - a frozen value
        inline: bool = False,
        opening: Opening = Opening(),  # noqa: B008 - a frozen value
    ) -> None:
        # The real path, whatever the working folder is later: all processes must meet at one checkpoint lock.
        real = path if path == MEMORY else os.path.realpath(path)
        self._around = Surroundings(real, clock, retention, opening.random)
        self._opening = opening
        self._inline = inline
        self._lanes: tuple[Lane, Lane] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._shares = claims.Shares()

    @property
    def _writer(self) -> Lane:
        return self._open_lanes()[0]

    @property
    def _reader(self) -> Lane:
        return self._open_lanes()[1]

    def _open_lanes(self) -> tuple[Lane, Lane]:
        if self._lanes is None:
            raise StoreUnavailableError("The store is not open: open it before it is used.")
        return self._lanes

    # The pending list

    async def enqueue(
        self,
        runs: Sequence[NewRun],
        *,
        repeat: bool = False,  # noqa: ARG002 - history is one index here: it is looked at in any case
        now: int | None = None,
    ) -> list[Enqueued]:
        """As ``RunStore.enqueue``; history is one index here, so that every call is looked up in it."""
        rows = enqueue.new_rows(runs)
        return await self._writer.call_joint(enqueue.enqueue_calls, rows, size=len(rows), now=now)

    async def join(self, runs: Sequence[NewRun]) -> JoinSteps:  # noqa: ARG002 - the contract has it
        """Refused: a file has one writer, and the caller's transaction would have to be it."""
        raise InvalidError(
            f"connection= joins a transaction of PostgreSQL, and {self._around.path} is a SQLite file: leave it out, or"
            " set DATABASE_URL to the database of that connection.",
            field="connection",
        )

    async def claim(self, request: ClaimRequest, *, now: int | None = None) -> Claimed:
        """As ``RunStore.claim``."""
        return await self._writer.call(lambda tx: claims.claim(tx, request, self._shares), now=now)

    async def settle(self, settlements: Sequence[Settlement], *, now: int | None = None) -> Settled:
        """As ``RunStore.settle``; a batch that fails on data is done again, carefully: nothing of it was written."""
        try:
            return await self._writer.call(lambda tx: settle.settle(tx, settlements), now=now)
        except StoreDataError:
            return await self._writer.call(lambda tx: settle.settle_carefully(tx, settlements), now=now)

    async def cancel(self, ids: Sequence[str], *, now: int | None = None) -> dict[str, str]:
        """As ``RunStore.cancel``."""
        return await self._writer.call(lambda tx: cancel(tx, ids), now=now)

    async def edit_runs(self, where: RunFilter, edit: RunEdit, *, now: int | None = None) -> list[str]:
        """As ``RunStore.edit_runs``."""
        page = Page(limit=control.MOST_EDITED)
        found = await self._found(msgspec.structs.replace(where, states=(RunState.PENDING,)), page)
        return await self._writer.call(lambda tx: control.edit(tx, where, edit, found), now=now)

    async def replay(
        self, where: RunFilter, *, limit: int = 1000, after: str | None = None, now: int | None = None
    ) -> dict[str, str]:
        """As ``RunStore.replay``."""
        page = Page(limit=limit, after=after)
        found = await self._found(msgspec.structs.replace(where, states=(RunState.DEAD,)), page)
        return await self._writer.call(lambda tx: control.replay(tx, where, page, found), now=now)

    async def discard(
        self, where: RunFilter, *, limit: int = 1000, after: str | None = None, now: int | None = None
    ) -> list[str]:
        """As ``RunStore.discard``."""
        page = Page(limit=limit, after=after)
        found = await self._found(msgspec.structs.replace(where, states=(RunState.DEAD,), discarded=False), page)
        return await self._writer.call(lambda tx: control.discard(tx, where, page, found), now=now)

    async def _found(self, where: RunFilter, page: Page) -> list[str] | None:
        """The ids that a filter finds, read where nobody who writes waits; None where it names ids itself."""
        return await ids_found(
            where, page, lambda part: self._reader.call(partial(listing.find_ids, where=where, page=part))
        )

    async def get_run(self, run_id: str) -> Run | None:
        """As ``RunStore.get_run``."""
        return await self._reader.call(lambda tx: listing.get_run(tx, run_id))

    async def list_runs(self, where: RunFilter, page: Page) -> RunPage:
        """As ``RunStore.list_runs``."""
        return await self._reader.call(lambda tx: listing.list_runs(tx, where, page))

    async def get_response(self, run_id: str, attempt: int) -> Response | None:
        """As ``RunStore.get_response``."""
        return await self._reader.call(lambda tx: listing.get_response(tx, run_id, attempt))

    async def due_by_minute(self, since: int, until: int, *, limit: int) -> list[tuple[int, int]]:
        """As ``RunStore.due_by_minute``."""
        return await self._reader.call(lambda tx: listing.due_by_minute(tx, since, until, limit))

    # Schedules

    async def plan(self, decide: DecidePlan, *, limit: int = 500, now: int | None = None) -> Planned:
        """As ``ScheduleStore.plan``."""
        return await self._writer.call(lambda tx: schedules.plan(tx, decide, limit), now=now)

    async def change_schedules(
        self,
        select: Selection,
        decide: DecideChange,
        *,
        limits: Mapping[str, int | None] | None = None,
        calendars: Sequence[CalendarWrite | CalendarRead] = (),
        now: int | None = None,
    ) -> list[Schedule]:
        """As ``ScheduleStore.change_schedules``."""

        def change(tx: Tx) -> list[Schedule]:
            admin.put_queues(tx, [QueueEdit(name=name, concurrency=limit) for name, limit in (limits or {}).items()])
            return schedules.change(tx, select, decide, calendars)

        return await self._writer.call(change, now=now)

    async def pause_all(self, pause: Pause, *, now: int | None = None) -> None:
        """As ``ScheduleStore.pause_all``."""
        await self._writer.call(lambda tx: schedules.pause_all(tx, pause), now=now)

    async def paused_all(self) -> Pause | None:
        """As ``ScheduleStore.paused_all``."""
        return await self._reader.call(schedules.paused_all)

    async def get_schedule(self, name: str) -> Schedule | None:
        """As ``ScheduleStore.get_schedule``."""
        return next(iter(await self.get_schedules((name,))), None)

    async def get_schedules(self, names: Sequence[str]) -> list[Schedule]:
        """As ``ScheduleStore.get_schedules``."""
        return await self._reader.call(lambda tx: schedules.named(tx, names))

    async def list_schedules(
        self, *, owner: str | None = None, tags: Sequence[str] = (), page: Page | None = None
    ) -> list[Schedule]:
        """As ``ScheduleStore.list_schedules``."""
        return await self._reader.call(lambda tx: schedules.list_all(tx, owner, tags, page))

    async def stale_schedules(self, version: str, *, after: str = "", limit: int = 500) -> list[str]:
        """As ``ScheduleStore.stale_schedules``."""
        return await self._reader.call(lambda tx: zones.stale_schedules(tx, version, after, limit))

    async def zone_stamps(self) -> dict[str, int]:
        """As ``ScheduleStore.zone_stamps``."""
        return await self._reader.call(zones.zone_stamps)

    async def list_ticks(self, where: TickFilter, page: Page) -> TickPage:
        """As ``ScheduleStore.list_ticks``."""
        return await self._reader.call(lambda tx: ticks.list_ticks(tx, where, page))

    # Calendars

    async def list_calendars(self, names: Sequence[str] | None = None) -> list[Calendar]:
        """As ``CalendarStore.list_calendars``."""
        return await self._reader.call(lambda tx: calendars.listed(tx, names))

    async def note_calendar(self, note: CalendarNote) -> bool:
        """As ``CalendarStore.note_calendar``."""
        return await self._writer.call(lambda tx: calendars.note(tx, note))

    async def calendar_uses(self, names: Sequence[str] | None = None) -> list[CalendarUse]:
        """As ``CalendarStore.calendar_uses``."""
        return await self._reader.call(lambda tx: calendars.uses(tx, names))

    # Workers

    async def register_worker(self, worker: Worker, *, lease_us: int, now: int | None = None) -> int:
        """As ``WorkerStore.register_worker``."""
        return await self._writer.call(lambda tx: workers.register(tx, worker, lease_us), now=now)

    async def end_worker(self, worker_id: str, *, now: int | None = None) -> None:
        """As ``WorkerStore.end_worker``."""
        await self._writer.call(lambda tx: workers.end(tx, worker_id), now=now)

    async def drain_worker(self, worker_id: str) -> bool:
        """As ``WorkerStore.drain_worker``."""
        return await self._writer.call(lambda tx: workers.drain(tx, worker_id))

    async def rescue(
        self, decide: DecideLost, *, limit: int = 500, ends_until: int | None, now: int | None = None
    ) -> Rescued:
        """As ``WorkerStore.rescue``."""
        return await self._writer.call(lambda tx: workers.rescue(tx, decide, limit, ends_until), now=now)

    async def hold_upkeep(self, holder: str, *, lease_us: int, patience_us: int = 0, now: int | None = None) -> bool:
        """As ``WorkerStore.hold_upkeep``."""
        return await self._writer.call(lambda tx: workers.hold_upkeep(tx, holder, lease_us, patience_us), now=now)

    async def resign_upkeep(self, holder: str) -> None:
        """As ``WorkerStore.resign_upkeep``."""
        await self._writer.call(lambda tx: workers.resign_upkeep(tx, holder))

    async def list_workers(self) -> list[Worker]:
        """As ``WorkerStore.list_workers``."""
        return await self._reader.call(workers.list_live)

    def heartbeat_line(self) -> HeartbeatLine:
        """As ``AdminStore.heartbeat_line``."""
        lane = self._writer
        if isinstance(lane, InlineLane):
            return InlineHeartbeatLine(lambda beat: lane.call_now(lambda tx: workers.beat(tx, beat)))
        return SqliteHeartbeatLine(self._around)

    # The database itself

    async def open(self) -> None:
        """As ``AdminStore.open``."""
        await self._closed()
        if self._lanes is None:
            self._lanes = open_lanes(self._around, self._opening, inline=self._inline)

    async def close(self) -> None:
        """As ``AdminStore.close``."""
        lanes, self._lanes = self._lanes, None
        if lanes is not None:
            self._closing = asyncio.create_task(_close(*lanes, self._around.file))
        await self._closed()

    async def _closed(self) -> None:
        """Returns when nothing is closing."""
        if self._closing is not None and not self._closing.done():
            # Whoever is cancelled here stops waiting for the end, and the end comes all the same.
            await asyncio.shield(self._closing)

    async def ping(self) -> None:
        """As ``AdminStore.ping``."""
        await self._reader.call(admin.ping)

    async def now(self) -> int:
        """As ``AdminStore.now``."""
        return self._around.clock.now()

    async def snapshot(self, *, now: int | None = None) -> Snapshot:
        """As ``AdminStore.snapshot``."""
        return await self._reader.call(admin.snapshot, now=now)

    async def tally(self, since: int, *, now: int | None = None) -> Tally:
        """As ``AdminStore.tally``."""
        return await self._reader.call(lambda tx: tally.tally(tx, since), now=now)

    async def put_queue(self, edit: QueueEdit) -> None:
        """As ``AdminStore.put_queue``."""
        await self._writer.call(lambda tx: admin.put_queues(tx, [edit]))

    async def prune(self, *, limit: int = 1000, now: int | None = None) -> int:
        """As ``AdminStore.prune``."""
        return await self._writer.call(lambda tx: history.prune(tx, limit), now=now)

    async def put_token(self, token: Token) -> None:
        """As ``AdminStore.put_token``."""
        await self._writer.call(lambda tx: admin.put_token(tx, token))

    async def list_tokens(self) -> list[Token]:
        """As ``AdminStore.list_tokens``."""
        return await self._reader.call(admin.list_tokens)

    async def revoke_token(self, token_id: str) -> bool:
        """As ``AdminStore.revoke_token``."""
        return await self._writer.call(lambda tx: admin.revoke_token(tx, token_id))

    async def backup(self, path: str) -> int:
        """As ``AdminStore.backup``."""
        lane = self._reader
        if not isinstance(lane, ThreadLane):
            return await lane.call(lambda tx: tx.backup(path))
        # A large copy takes minutes: it has a thread of its own, so that nobody who reads waits for it.
        copier = open_reader(self._around, "puntual-sqlite-backup")
        try:
            return await copier.call(lambda tx: tx.backup(path))
        finally:
            await copier.close()

    async def check(self) -> list[tuple[str, bool, str]]:
        """As ``AdminStore.check``."""
        return await self._reader.call(admin.check)


async def _close(writer: Lane, reader: Lane, file: SameFile) -> None:
    """Closes both, whatever becomes of one: the writer last, so that it finds nobody in the log."""
    try:
        await reader.close()
    finally:
        try:
            await writer.close()
        finally:
            file.closed()
