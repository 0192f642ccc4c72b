"""Every operation on the database: what it needs, what it leaves, what is atomic, and what a repeat does.

Rules that hold for all of them:

- **One operation is one transaction.** It happened whole or not at all. If the answer is lost after the commit, a
  repeat is safe in the way that the operation states.
- Cancelling the coroutine that waits for an operation does not take the operation back.
- ``now`` None means the store's own clock, read inside the transaction. Only tests, the simulation and the manual app
  give one.
- Every write to a run after its claim is guarded by ``id, attempt, worker, state = running``: a row that differs is
  no longer the caller's, and nothing is recorded.
- Callbacks (``decide``) are pure and quick: they run inside the transaction, on the store's thread, and may be called
  again if the transaction has to be begun anew.
- A passing failure raises ``StoreUnavailableError``; nothing was done, or it was done and a repeat is safe. A value
  that the database refuses raises ``StoreDataError``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from puntual.model.fleet import Token, Worker
from puntual.model.run import NewRun, Run
from puntual.model.schedule import Pause, Schedule
from puntual.store.calendars import CalendarRead, CalendarStore, CalendarWrite
from puntual.store.requests import (
    Beat,
    BeatReply,
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


class RunStore(Protocol):
    """The pending list, the claims on it, and the history."""

    async def enqueue(self, runs: Sequence[NewRun], *, repeat: bool = False, now: int | None = None) -> list[Enqueued]:
        """Inserts pending runs; all of them or none.

        An id that a live run has is left as it is: a repeat after a lost answer changes nothing. Whoever may come so
        late that the run is over by now, or gives ids of their own making, says ``repeat``: then an id that stands in
        history is left as it is too. It is a word of the caller's because history is looked through day by day.
        A run whose ``unique_key`` is held by a live run of the same task is not inserted; the answer names that run.
        Calls that arrive together share one commit; keyed runs take part in a statement of their own, in key order.

        Raises:
            StoreBusyError: a unique key is held by a transaction that stays open.
        """
        ...

    async def join(self, runs: Sequence[NewRun]) -> JoinSteps:
        """The steps by which these runs are inserted in a transaction of the caller's, for its driver to take.

        What is inserted, and what is answered, is as by ``enqueue`` without ``repeat``. It is claimable once the caller
        commits, and never was anything if it rolls back. One call of it takes at most what one of ``enqueue`` does.

        Raises:
            InvalidError: no transaction can be joined on this store.
        """
        ...

    async def claim(self, request: ClaimRequest, *, now: int | None = None) -> Claimed:
        """Takes runs for a worker: state running, attempt + 1, worker and time of the claim written.

        Only pending runs whose ``claim_at`` is at most ``now + ahead_us``, of tasks and queues asked for, of queues
        not paused and below their concurrency, and only while neither everything is paused nor the worker's lease is
        over or draining. Runs that were lost twice are left to requests that are ``alone``, which take nothing else.
        Priorities share a claim 8 : 4 : 2 : 1 whatever lanes they lie in, unused shares passing down; no run is kept
        waiting by others that this worker cannot take. A run that cannot be read is not claimed: it is dead, with the
        reason as its error. Repeating claims more: what an answer lost on the way had claimed comes back by the
        heartbeat's comparison.
        """
        ...

    async def settle(self, settlements: Sequence[Settlement], *, now: int | None = None) -> Settled:
        """Writes what became of claimed runs, each guarded by its claim and by the cancel wish that ``decide`` saw.

        Ended runs move to history with the day on which their row may go; their follow-ups are inserted with them;
        runs put back become pending with ``claim_at = max(wanted, now)``, or end as cancelled if a cancel was asked. A
        schedule with a tick waiting (``seen_at`` set) for a run that ended here is looked at now. A batch that fails on
        data is halved until the bad rows are alone: those are ``refused`` and all others written. A follow-up whose
        unique key an open transaction holds keeps its own run ``waiting`` and no other. A repeat finds its rows
        ``gone``.
        """
        ...

    async def cancel(self, ids: Sequence[str], *, now: int | None = None) -> dict[str, str]:
        """Ends pending runs as cancelled and asks running ones to stop.

        Returns:
            For each id ``cancelled``, ``requested``, ``ended`` (it was over already) or ``missing``.
        """
        ...

    async def edit_runs(self, where: RunFilter, edit: RunEdit, *, now: int | None = None) -> list[str]:
        """Changes queue, priority or due time of pending runs; ``claim_at`` follows, never before now.

        Returns:
            The ids changed, at most 1,000.
        """
        ...

    async def replay(
        self, where: RunFilter, *, limit: int = 1000, after: str | None = None, now: int | None = None
    ) -> dict[str, str]:
        """Puts dead runs back, newest first: same id, attempts numbered on, claimable now, a fresh budget.

        ``max_attempts`` is raised by the number of the run's policy; ``due_at`` stays what was asked first. ``after``
        leaves out its own run and all newer ones, so that a caller who gives the last id answered meets no run twice.
        Of the ids named, the first ``limit`` are answered.

        Returns:
            For each id ``replayed``, ``missing``, ``not_dead``, or ``held_by:<id>`` when its unique key is held by a
            live run.
        """
        ...

    async def discard(
        self, where: RunFilter, *, limit: int = 1000, after: str | None = None, now: int | None = None
    ) -> list[str]:
        """Takes dead runs out of the dead-letter list, newest first; they stay in history. Returns their ids.

        ``after`` is as for ``replay``.
        """
        ...

    async def get_run(self, run_id: str) -> Run | None:
        """The run, live or in history."""
        ...

    async def list_runs(self, where: RunFilter, page: Page) -> RunPage:
        """Live runs and history in one list, by id, newest first; no page costs more than the one before.

        A page reads a bounded number of rows: it may hold fewer runs than asked for, or none, and still name a
        ``next`` where to go on. A run that cannot be read whole is shown without the parts that cannot.
        """
        ...

    async def get_response(self, run_id: str, attempt: int) -> Response | None:
        """What was kept of one attempt's answer or output."""
        ...

    async def due_by_minute(self, since: int, until: int, *, limit: int) -> list[tuple[int, int]]:
        """From which minutes on, ``since`` to ``until``, pending runs can be claimed; how many, to ``limit`` in all.

        Runs that ticks were given ahead of their time are left out: whoever counts ticks counts those already.
        """
        ...


class ScheduleStore(Protocol):
    """Schedules, their cursors and the tick record."""

    async def plan(self, decide: DecidePlan, *, limit: int = 500, now: int | None = None) -> Planned:
        """Plans the schedules whose ``look_at`` has come, in ONE transaction: read, decide, move cursors, insert runs.

        Each write is guarded by the revision and ``next_tick_at`` that it read, and the ids of the runs are functions
        of (schedule, tick): planning the same tick twice, by whomever, inserts it once. A tick whose run is not
        inserted, because its unique key was taken in this very transaction, is recorded as skipped for overlap.
        A schedule whose unique key an open transaction holds is set back for a second, and keeps no other waiting.
        ``decide`` is called with at most ``limit`` views; schedules held by another planner are passed over, and while
        everything is paused with no end there are none. How far ahead to plan is the engine's affair: ``look_at`` has
        the horizon in it.
        """
        ...

    async def change_schedules(
        self,
        select: Selection,
        decide: DecideChange,
        *,
        limits: Mapping[str, int | None] | None = None,
        calendars: Sequence[CalendarWrite | CalendarRead] = (),
        now: int | None = None,
    ) -> list[Schedule]:
        """Creates, edits, pauses, triggers or removes schedules: all that ``decide`` writes, or nothing.

        ``limits`` are the concurrency of queues, by name (None: no limit), set in the same transaction; whether a queue
        is paused is left as it is. ``calendars`` are written or removed in it too, and those only read stay as they
        were until it ends. A run by hand whose id stands, live or in history, is not made again. Gives the schedules
        written that stand.

        Raises:
            ConflictError: another live schedule has a name, or one that stands names a calendar to remove.
            ChangedError: a calendar is not at the version that it was to be at.
        """
        ...

    async def pause_all(self, pause: Pause, *, now: int | None = None) -> None:
        """Pauses everything, or resumes it by a pause that is over (``until`` at most now).

        It is one row that plan and claim read. It stays after resuming, so that plans can tell the ticks that were
        paused from those that were missed, and every schedule is looked at again.
        """
        ...

    async def paused_all(self) -> Pause | None:
        """The last pause of everything, active or over."""
        ...

    async def get_schedule(self, name: str) -> Schedule | None:
        """The schedule with its last tick."""
        ...

    async def get_schedules(self, names: Sequence[str]) -> list[Schedule]:
        """Those of these schedules that there are, each with its last tick, in any order."""
        ...

    async def list_schedules(
        self, *, owner: str | None = None, tags: Sequence[str] = (), page: Page | None = None
    ) -> list[Schedule]:
        """Schedules by name, ascending; ``page`` None gives all.

        One that cannot be read is shown as far as it can be, its ``cursor.trouble`` saying why. It is set back by
        ``plan``, passed over by a change of many, and a change by its name must write its whole rule anew or remove it.
        """
        ...

    async def stale_schedules(self, version: str, *, after: str = "", limit: int = 500) -> list[str]:
        """Names, ascending after ``after``, of schedules whose next tick an older tz database than that has found.

        Those that cannot be planned have none to find.
        """
        ...

    async def zone_stamps(self) -> dict[str, int]:
        """How many schedules that tick on there are for each version of the tz database; "" for those without one."""
        ...

    async def list_ticks(self, where: TickFilter, page: Page) -> TickPage:
        """The tick record, newest first: each planned tick once, alone with its run or inside a stretch.

        A page is bounded as one of ``list_runs`` is.
        """
        ...


class WorkerStore(Protocol):
    """Leases: who lives, and who does the upkeep. A lease ends when rescue ends it, not when time passes."""

    async def register_worker(self, worker: Worker, *, lease_us: int, now: int | None = None) -> int:
        """Writes a lease row for a new worker id and returns when it runs out. A repeat renews it."""
        ...

    async def end_worker(self, worker_id: str, *, now: int | None = None) -> None:
        """A worker that drained resigns. Claims it may still hold are for rescue."""
        ...

    async def drain_worker(self, worker_id: str) -> bool:
        """Marks a worker as draining: it finishes what it holds and takes nothing more. False when there is none."""
        ...

    async def rescue(
        self, decide: DecideLost, *, limit: int = 500, ends_until: int | None, now: int | None = None
    ) -> Rescued:
        """Ends leases that have run out and settles the runs whose worker has no live lease, in one transaction.

        A lease later than is possible (further away than the row's own length) counts from now. Leases are ended only
        if the store's time is at most ``ends_until``; None ends none, and takes only the runs of leases that are over.
        What cannot be read, or whose settlement the database refuses, is dead, with the reason as its error.
        """
        ...

    async def hold_upkeep(self, holder: str, *, lease_us: int, patience_us: int = 0, now: int | None = None) -> bool:
        """Takes or renews the upkeep lease; False while another holds it, or held it less than ``patience_us`` ago.

        It only saves work: every duty may be done twice. A lease that was never held, or was given back, is free.
        """
        ...

    async def resign_upkeep(self, holder: str) -> None:
        """Gives the upkeep lease back, if this holder has it."""
        ...

    async def list_workers(self) -> list[Worker]:
        """Workers whose lease is not over."""
        ...


class HeartbeatLine(Protocol):
    """A connection of its own for heartbeats, used from one thread that is not the event loop's."""

    def beat(self, beat: Beat) -> BeatReply:
        """Renews the lease, a merely late one too; a lease that is over stays over.

        It blocks, but never for longer than a few seconds.
        """
        ...

    def close(self) -> None:
        """Closes the connection."""
        ...


class AdminStore(Protocol):
    """Opening, looking after and leaving the database."""

    async def open(self) -> None:
        """Connects and migrates.

        Raises:
            StoreUnusableError: no database of ours, read-only, too new for this code, or on a network file system.
        """
        ...

    async def close(self) -> None:
        """Finishes what was accepted and closes every connection. A second call does nothing."""
        ...

    def heartbeat_line(self) -> HeartbeatLine:
        """Opens a connection for a heartbeat thread."""
        ...

    async def ping(self) -> None:
        """Reads one row, at once.

        Raises:
            StoreUnavailableError: the database does not answer.
        """
        ...

    async def now(self) -> int:
        """The time by the store's clock, which all operations go by that are given none."""
        ...

    async def snapshot(self, *, now: int | None = None) -> Snapshot:
        """The store at a glance; no queue is counted further than ``COUNTED_TO``."""
        ...

    async def tally(self, since: int, *, now: int | None = None) -> Tally:
        """What went wrong from ``since`` (microseconds) up to now, each kind counted to ``MOST_COUNTED``.

        It reads what went wrong and nothing else, so that it costs the same however much went well.
        """
        ...

    async def put_queue(self, edit: QueueEdit) -> None:
        """Creates or changes a queue: what the edit gives is written in one statement, the rest stays."""
        ...

    async def prune(self, *, limit: int = 1000, now: int | None = None) -> int:
        """Removes about ``limit`` runs whose day has come, folding their ticks into stretches in the same transaction.

        A store that keeps each day apart removes it whole, and leaves one that somebody has for long to a later round.

        Returns:
            How many rows went; fewer than ``limit`` when nothing is left to remove now.
        """
        ...

    async def put_token(self, token: Token) -> None:
        """Keeps a token's digest."""
        ...

    async def list_tokens(self) -> list[Token]:
        """All tokens that are kept."""
        ...

    async def revoke_token(self, token_id: str) -> bool:
        """Forgets a token; False when there is none."""
        ...

    async def backup(self, path: str) -> int:
        """Writes an online copy and returns its size in bytes.

        Raises:
            ConflictError: there is a file already.
            StoreUnusableError: the server has tools of its own for that.
        """
        ...

    async def check(self) -> list[tuple[str, bool, str]]:
        """What ``doctor`` asks of the database: (what, good, sentence)."""
        ...


class Store(RunStore, ScheduleStore, CalendarStore, WorkerStore, AdminStore, Protocol):
    """The whole contract."""
