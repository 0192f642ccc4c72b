"""The store on PostgreSQL: each operation of the contract in a transaction of a pooled connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from puntual.model.errors import StoreUnusableError
from puntual.model.fleet import Token, Worker
from puntual.model.run import NewRun, Run, RunState
from puntual.model.schedule import Pause, Schedule
from puntual.store.calendars import CalendarNote, CalendarRead, CalendarUse, CalendarWrite
from puntual.store.contract import HeartbeatLine
from puntual.store.postgres import (
    admin,
    calendars,
    control,
    history,
    listing,
    migrate,
    schedules,
    settle,
    tally,
    ticks,
    workers,
    zones,
)
from puntual.store.postgres.cancel import cancel
from puntual.store.postgres.claims import Claims
from puntual.store.postgres.enqueue import Enqueuer
from puntual.store.postgres.heartbeat import PostgresHeartbeatLine
from puntual.store.postgres.migrate import Opening
from puntual.store.postgres.place import Place
from puntual.store.postgres.planning import Planning
from puntual.store.postgres.session import Session, Surroundings
from puntual.store.postgres.transaction import Tx
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
from puntual.timing.calendar import Calendar
from puntual.wake.contract import CHANNEL


class PostgresStore:
    """One database, shared by as many processes as like.

    Args:
        place: where it is and how it is reached.
        retention: how long what is over is kept.
        opening: whether ``open`` may migrate.
        tx_hints: whether runs that join a transaction of the application's notify claimers when it commits.
        around: what it goes by beside the database.
    """

    def __init__(
        self,
        place: Place,
        *,
        retention: Retention = Retention(),  # noqa: B008 - a frozen value
        opening: Opening = Opening(),  # noqa: B008 - a frozen value
        tx_hints: bool = True,
        around: Surroundings = Surroundings(),  # noqa: B008 - a frozen value
    ) -> None:
        self._tx_hints = tx_hints
        self._place = place
        self._opening = opening
        self._session = Session(place, retention, around)
        self._enqueuer = Enqueuer(self._session)
        self._claims = Claims(self._session)
        self._planning = Planning(self._session)
        self._session.lost += [self._claims.forget, self._planning.forget]

    # The pending list

    async def enqueue(self, runs: Sequence[NewRun], *, repeat: bool = False, now: int | None = None) -> list[Enqueued]:
        """As ``RunStore.enqueue``."""
        return await self._enqueuer.enqueue(runs, repeat=repeat, now=now)

    async def join(self, runs: Sequence[NewRun]) -> JoinSteps:
        """As ``RunStore.join``."""
        return await self._enqueuer.join(runs, hint=self._tx_hints)

    async def claim(self, request: ClaimRequest, *, now: int | None = None) -> Claimed:
        """As ``RunStore.claim``."""
        return await self._claims.claim(request, now=now)

    async def settle(self, settlements: Sequence[Settlement], *, now: int | None = None) -> Settled:
        """As ``RunStore.settle``."""
        return await settle.settle(self._session, settlements, now=now)

    async def cancel(self, ids: Sequence[str], *, now: int | None = None) -> dict[str, str]:
        """As ``RunStore.cancel``."""
        return await self._session.write(lambda tx: cancel(tx, ids), now=now)

    async def edit_runs(self, where: RunFilter, edit: RunEdit, *, now: int | None = None) -> list[str]:
        """As ``RunStore.edit_runs``."""
        page = Page(limit=control.MOST_EDITED)
        found = await self._found(msgspec.structs.replace(where, states=(RunState.PENDING,)), page)
        return await self._session.write(lambda tx: control.edit(tx, where, edit, found), now=now)

    async def replay(
        self, where: RunFilter, *, limit: int = 1000, after: str | None = None, now: int | None = None
    ) -> dict[str, str]:
        """As ``RunStore.replay``."""
        page = Page(limit=limit, after=after)
        found = await self._found(msgspec.structs.replace(where, states=(RunState.DEAD,)), page)
        return await self._session.write(lambda tx: control.replay(tx, where, page, found), now=now)

    async def discard(
        self, where: RunFilter, *, limit: int = 1000, after: str | None = None, now: int | None = None
    ) -> list[str]:
        """As ``RunStore.discard``."""
        page = Page(limit=limit, after=after)
        found = await self._found(msgspec.structs.replace(where, states=(RunState.DEAD,), discarded=False), page)
        return await self._session.write(lambda tx: control.discard(tx, where, page, found), now=now)

    async def _found(self, where: RunFilter, page: Page) -> list[str] | None:
        """The ids that a filter finds, read where nobody who writes waits; None where it names ids itself."""
        return await ids_found(
            where, page, lambda part: self._session.read(partial(listing.find_ids, where=where, page=part))
        )

    async def get_run(self, run_id: str) -> Run | None:
        """As ``RunStore.get_run``."""
        return await self._session.read(lambda tx: listing.get_run(tx, run_id))

    async def list_runs(self, where: RunFilter, page: Page) -> RunPage:
        """As ``RunStore.list_runs``."""
        return await self._session.read(lambda tx: listing.list_runs(tx, where, page))

    async def get_response(self, run_id: str, attempt: int) -> Response | None:
        """As ``RunStore.get_response``."""
        return await self._session.read(lambda tx: listing.get_response(tx, run_id, attempt))

    async def due_by_minute(self, since: int, until: int, *, limit: int) -> list[tuple[int, int]]:
        """As ``RunStore.due_by_minute``."""
        return await self._session.read(lambda tx: listing.due_by_minute(tx, since, until, limit))

    # Schedules

    async def plan(self, decide: DecidePlan, *, limit: int = 500, now: int | None = None) -> Planned:
        """As ``ScheduleStore.plan``."""
        return await self._planning.plan(decide, limit, now=now)

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

        async def change(tx: Tx) -> list[Schedule]:
            await admin.put_queues(
                tx, [QueueEdit(name=name, concurrency=limit) for name, limit in (limits or {}).items()]
            )
            return await schedules.change(tx, select, decide, calendars)

        return await self._session.write(change, now=now)

    async def pause_all(self, pause: Pause, *, now: int | None = None) -> None:
        """As ``ScheduleStore.pause_all``."""
        await self._session.write(lambda tx: schedules.pause_all(tx, pause), now=now)

    async def paused_all(self) -> Pause | None:
        """As ``ScheduleStore.paused_all``."""
        return await self._session.read(schedules.paused_all)

    async def get_schedule(self, name: str) -> Schedule | None:
        """As ``ScheduleStore.get_schedule``."""
        return next(iter(await self.get_schedules((name,))), None)

    async def get_schedules(self, names: Sequence[str]) -> list[Schedule]:
        """As ``ScheduleStore.get_schedules``."""
        return await self._session.read(lambda tx: schedules.named(tx, names))

    async def list_schedules(
        self, *, owner: str | None = None, tags: Sequence[str] = (), page: Page | None = None
    ) -> list[Schedule]:
        """As ``ScheduleStore.list_schedules``."""
        return await self._session.read(lambda tx: schedules.list_all(tx, owner, tags, page))

    async def stale_schedules(self, version: str, *, after: str = "", limit: int = 500) -> list[str]:
        """As ``ScheduleStore.stale_schedules``."""
        return await self._session.read(lambda tx: zones.stale_schedules(tx, version, after, limit))

    async def zone_stamps(self) -> dict[str, int]:
        """As ``ScheduleStore.zone_stamps``."""
        return await self._session.read(zones.zone_stamps)

    async def list_ticks(self, where: TickFilter, page: Page) -> TickPage:
        """As ``ScheduleStore.list_ticks``."""
        return await self._session.read(lambda tx: ticks.list_ticks(tx, where, page))

    # Calendars

    async def list_calendars(self, names: Sequence[str] | None = None) -> list[Calendar]:
        """As ``CalendarStore.list_calendars``."""
        return await self._session.read(lambda tx: calendars.listed(tx, names))

    async def note_calendar(self, note: CalendarNote) -> bool:
        """As ``CalendarStore.note_calendar``."""
        return await self._session.write(lambda tx: calendars.note(tx, note))

    async def calendar_uses(self, names: Sequence[str] | None = None) -> list[CalendarUse]:
        """As ``CalendarStore.calendar_uses``."""
        return await self._session.read(lambda tx: calendars.uses(tx, names))

    # Workers

    async def register_worker(self, worker: Worker, *, lease_us: int, now: int | None = None) -> int:
        """As ``WorkerStore.register_worker``."""
        return await self._session.write(lambda tx: workers.register(tx, worker, lease_us), now=now)

    async def end_worker(self, worker_id: str, *, now: int | None = None) -> None:
        """As ``WorkerStore.end_worker``."""
        await self._session.write(lambda tx: workers.end(tx, worker_id), now=now)

    async def drain_worker(self, worker_id: str) -> bool:
        """As ``WorkerStore.drain_worker``."""
        return await self._session.write(lambda tx: workers.drain(tx, worker_id))

    async def rescue(
        self, decide: DecideLost, *, limit: int = 500, ends_until: int | None, now: int | None = None
    ) -> Rescued:
        """As ``WorkerStore.rescue``."""
        return await self._session.write(lambda tx: workers.rescue(tx, decide, limit, ends_until), now=now)

    async def hold_upkeep(self, holder: str, *, lease_us: int, patience_us: int = 0, now: int | None = None) -> bool:
        """As ``WorkerStore.hold_upkeep``."""
        return await self._session.single(lambda tx: workers.hold_upkeep(tx, holder, lease_us, patience_us), now=now)

    async def resign_upkeep(self, holder: str) -> None:
        """As ``WorkerStore.resign_upkeep``."""
        await self._session.write(lambda tx: workers.resign_upkeep(tx, holder))

    async def list_workers(self) -> list[Worker]:
        """As ``WorkerStore.list_workers``."""
        return await self._session.read(workers.list_live)

    def heartbeat_line(self) -> HeartbeatLine:
        """As ``AdminStore.heartbeat_line``."""
        return PostgresHeartbeatLine(self._place)

    # The database itself

    async def open(self) -> None:
        """As ``AdminStore.open``."""
        await self._session.open()
        try:
            await migrate.prepare(self._session, self._place, self._opening)
        except BaseException:
            await self._session.close()
            raise

    async def close(self) -> None:
        """As ``AdminStore.close``."""
        await self._enqueuer.close()
        await self._session.close()

    async def ping(self) -> None:
        """As ``AdminStore.ping``."""
        await self._session.read(admin.ping)

    async def now(self) -> int:
        """As ``AdminStore.now``."""
        return await self._session.read(admin.now)

    async def snapshot(self, *, now: int | None = None) -> Snapshot:
        """As ``AdminStore.snapshot``."""
        return await self._session.read(admin.snapshot, now=now)

    async def tally(self, since: int, *, now: int | None = None) -> Tally:
        """As ``AdminStore.tally``."""
        return await self._session.read(lambda tx: tally.tally(tx, since), now=now)

    async def put_queue(self, edit: QueueEdit) -> None:
        """As ``AdminStore.put_queue``."""
        await self._session.write(lambda tx: admin.put_queues(tx, [edit]))

    async def prune(self, *, limit: int = 1000, now: int | None = None) -> int:
        """As ``AdminStore.prune``."""
        return await history.prune(self._session, limit, now=now)

    async def put_token(self, token: Token) -> None:
        """As ``AdminStore.put_token``."""
        await self._session.write(lambda tx: admin.put_token(tx, token))

    async def list_tokens(self) -> list[Token]:
        """As ``AdminStore.list_tokens``."""
        return await self._session.read(admin.list_tokens)

    async def revoke_token(self, token_id: str) -> bool:
        """As ``AdminStore.revoke_token``."""
        return await self._session.write(lambda tx: admin.revoke_token(tx, token_id))

    async def notify(self, texts: Sequence[str]) -> None:
        """Sends hints to whoever listens, in a transaction of their own."""
        await self._session.single(lambda tx: tx.row("notify", texts, CHANNEL))

    async def backup(self, path: str) -> int:
        """Refused: the server's own tools do this."""
        raise StoreUnusableError(f"A PostgreSQL database is copied by its own tools: `pg_dump --file {path}`.")

    async def check(self) -> list[tuple[str, bool, str]]:
        """As ``AdminStore.check``."""
        return await self._session.read(admin.check)
