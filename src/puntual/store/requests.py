"""What the store is asked and what it answers, as values. Instants and durations are microseconds."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Final

import msgspec

from puntual.model.fleet import Queue, Worker
from puntual.model.instant import DAY
from puntual.model.run import NewRun, Origin, Priority, Run, RunState
from puntual.model.schedule import Cursor, Fate, Pause, Schedule, Stretch, Tick
from puntual.model.transitions import Transition


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    """How long what is over is kept, microseconds: succeeded runs, dead and cancelled ones, and the record of ticks."""

    succeeded_us: int = 7 * 86_400_000_000
    dead_us: int = 90 * 86_400_000_000
    ticks_us: int = 400 * 86_400_000_000

    def expires_on(self, state: RunState, finished_at: int) -> int:
        """The day, counted from 1970, after which the row of a run that ended then may go."""
        kept = self.succeeded_us if state is RunState.SUCCEEDED else self.dead_us
        return (finished_at + kept) // DAY


class Enqueued(msgspec.Struct, frozen=True):
    """What became of a run that was to be inserted: ``id`` is of the run that stands, ``existing`` if it did before.

    ``now`` is the store's time of the insert, 0 where nothing was inserted.
    """

    id: str
    existing: bool = False
    now: int = 0


class Statement(msgspec.Struct, frozen=True):
    """SQL that answers with one text; ``$1``, ``$2`` and so on stand for its parameters."""

    text: str
    parameters: tuple[str | int | None, ...]


#: Statements for somebody else's transaction: each answer is sent back, and so is an error, which is raised again in
#: the words that fit it; in the end it gives what ``enqueue`` would.
JoinSteps = Generator[Statement, str, list[Enqueued]]


class ClaimRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker can start.

    Args:
        worker: its id; the lease must be live.
        limit: how many runs at most.
        tasks: the names it knows; others are left alone.
        queues: the lanes it serves; None means all.
        ahead_us: claim also what is due within this time.
        max_bytes: stop when the arguments claimed exceed this.
        sweep: look at every lane from its very beginning, whatever was seen before.
        alone: take only runs that were lost twice or more, which others leave for a worker process of their own.
    """

    worker: str
    limit: int
    tasks: tuple[str, ...]
    queues: tuple[str, ...] | None = None
    ahead_us: int = 0
    max_bytes: int = 64 * 1024 * 1024
    sweep: bool = False
    alone: bool = False


class Claimed(msgspec.Struct, frozen=True, kw_only=True):
    """The runs now held, in the order in which to start them, and the store's time of the claim.

    ``next_claim_at`` is when the next run that this worker could take becomes due, as far as is known: None when
    there is none. ``lost_lease`` says that nothing was claimed because this worker's lease is over. ``alone_waiting``
    says that a run which was lost twice is due and wants a worker process of its own. ``overlooked`` of a sweep's runs
    were due, and other claims would have passed them over.
    """

    runs: tuple[Run, ...]
    now: int
    next_claim_at: int | None = None
    lost_lease: bool = False
    alone_waiting: bool = False
    overlooked: int = 0


class Settlement(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One guarded write: the claim it belongs to, the cancel wish that ``decide`` saw, and what is next."""

    id: str
    attempt: int
    worker: str
    cancel_seen: bool
    transition: Transition


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """What the guard said: ``written``; ``changed``, still mine but with another cancel wish; ``gone``, no longer mine.

    ``waiting`` are as they were, to be settled again: an open transaction holds the unique key of a follow-up.
    ``schedules`` says that a schedule had a tick waiting for one of these runs; ``refused`` are the ids that the
    database would not take, each alone, with the error's text; ``queues`` have runs that can be claimed now.
    """

    written: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    queues: tuple[str, ...] = ()
    schedules: bool = False
    now: int = 0


class Beat(msgspec.Struct, frozen=True, kw_only=True):
    """A worker's heartbeat: how many claims it believes it holds, and whether it wants them listed."""

    worker: str
    lease_us: int
    held: int
    compare: bool = False


class BeatReply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a heartbeat.

    ``alive`` False: rescue ended the lease; drop everything and start again under a new id. ``claims`` is given when
    the counts differ or when asked: every (id, attempt) that the store holds for this worker.
    """

    alive: bool
    now: int
    lease_until: int = 0
    draining: bool = False
    cancels: tuple[str, ...] = ()
    claims: tuple[tuple[str, int], ...] | None = None


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    """A running run whose worker has no live lease. ``lease_ended_at`` is when the lease ran out by itself."""

    run: Run
    lease_ended_at: int


class Rescued(msgspec.Struct, frozen=True, kw_only=True):
    """What a rescue did: the workers whose lease it ended, and how many runs it settled.

    ``now`` is the store's time in it; ``full`` says that there may be more.
    """

    workers: tuple[str, ...] = ()
    runs: int = 0
    queues: tuple[str, ...] = ()
    now: int = 0
    full: bool = False


class PlanView(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What a plan decides from, read in the transaction that writes it.

    ``live`` are the ids of the schedule's live runs, and of the live run that holds its unique key (at most a few: it
    is their presence that counts). ``withdrawable`` are its runs of origin tick that are pending, never claimed and
    not due yet, as (number, tick, id); ``behind`` is the last tick of its record that is none of
    these, known where there are any. Both are read only for edits.
    """

    schedule: Schedule
    live: tuple[str, ...] = ()
    withdrawable: tuple[tuple[int, int, str], ...] = ()
    behind: int | None = None


class PlanWrite(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What a plan writes: the moved cursor, guarded by the revision and next tick read, and what its ticks became."""

    schedule_id: str
    revision: int
    was_next_tick_at: int | None
    cursor: Cursor
    runs: tuple[NewRun, ...] = ()
    stretches: tuple[Stretch, ...] = ()
    cancel: tuple[str, ...] = ()


class ScheduleWrite(msgspec.Struct, frozen=True, kw_only=True):
    """What a change of a schedule writes, in this order: the plan of what the old rule owes, withdrawals, the new row.

    ``schedule`` None removes it. ``withdraw`` are run ids, each guarded: pending, never claimed, not due. ``insert``
    are runs made by hand (trigger).
    """

    name: str
    schedule: Schedule | None = None
    plan: PlanWrite | None = None
    withdraw: tuple[str, ...] = ()
    insert: tuple[NewRun, ...] = ()
    cancel: tuple[str, ...] = ()


#: Called inside the transaction with the schedules that are due, the pause of everything and the store's time.
DecidePlan = Callable[[Sequence[PlanView], "Pause | None", int], Sequence[PlanWrite]]
#: Called inside the transaction with the schedules found by name and the store's time.
DecideChange = Callable[[Sequence[PlanView], "Pause | None", int], Sequence[ScheduleWrite]]
#: Called inside the transaction with the runs that lost their worker and the store's time.
DecideLost = Callable[[Sequence[Lost], int], Sequence[Settlement]]


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """What a round of planning did.

    ``next_look_at`` is when the next schedule wants to be looked at, None when none does; ``full`` when there may be
    more to plan now.
    """

    schedules: int = 0
    runs: int = 0
    queues: tuple[str, ...] = ()
    now: int = 0
    next_look_at: int | None = None
    full: bool = False


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Which schedules a change is about: by name, by tag, by owner, or all. Exactly one is set.

    ``calendars`` adds those that name one of these calendars; it may stand alone, or beside names.
    """

    names: tuple[str, ...] | None = None
    calendars: tuple[str, ...] = ()
    tag: str | None = None
    owner: str | None = None
    everything: bool = False
    withdrawable: bool = True


class RunFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs: every condition that is set must hold; within one, any value.

    ``since`` and ``until`` bound ``created_at``, the latter excluded. They look among the ids of that time and of a day
    on either side: what was made later than that after the instant in its id (a tick caught up late) is not found.
    Discarded runs are left out, unless ``discarded`` is set or they are named in ``ids``.
    """

    ids: tuple[str, ...] = ()
    states: tuple[RunState, ...] = ()
    queues: tuple[str, ...] = ()
    schedules: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    origins: tuple[Origin, ...] = ()
    since: int | None = None
    until: int | None = None
    discarded: bool = False


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Where a list goes on: ``after`` is ``next`` of the part before, or the last schedule's name."""

    limit: int = 100
    after: str | None = None


class RunPage(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a list of runs, and ``Page.after`` of the next part; None when nothing more is to come."""

    items: tuple[Run, ...] = ()
    next: str | None = None


class TickPage(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the tick record, and ``Page.after`` of the next part; None when nothing more is to come."""

    items: tuple[Tick, ...] = ()
    next: str | None = None


class TickFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which ticks: of one schedule or of all, with a fate, between two instants, ``until`` excluded."""

    schedule: str | None = None
    fates: tuple[Fate, ...] = ()
    since: int | None = None
    until: int | None = None


class QueueEdit(msgspec.Struct, frozen=True, kw_only=True):
    """What to change in a queue's settings; what is not set stays. ``pause_reason`` goes with ``paused``."""

    name: str
    paused: bool | msgspec.UnsetType = msgspec.UNSET
    pause_reason: str | None = None
    concurrency: int | msgspec.UnsetType | None = msgspec.UNSET


class RunEdit(msgspec.Struct, frozen=True, kw_only=True):
    """What to change in pending runs; what is None stays."""

    priority: Priority | None = None
    due_at: int | None = None
    queue: str | None = None


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """The kept answer of one attempt: a response body, or a command's output."""

    run_id: str
    attempt: int
    body: bytes
    content_type: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    truncated: int = 0


#: A tick whose run started later than this after it was due is late, microseconds. SQLite has an index of just these.
LATE_US: Final = 60_000_000
#: How far a tally counts, and how many of what it counted it names.
MOST_COUNTED: Final = 10_000
MOST_NAMED: Final = 100


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """How many, ``at_least`` that many when there may be more, and the keys of the newest."""

    count: int = 0
    at_least: bool = False
    first: tuple[str, ...] = ()


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong between an instant and now.

    ``dead`` runs ended then and were not discarded; ``retrying`` runs failed, and another attempt is to come, whenever
    that was; ``missed`` counts ticks, and names none; ``late`` names the runs of late ticks; ``unplanned`` names the
    schedules that cannot be planned now.
    """

    now: int
    dead: Counted
    retrying: Counted
    missed: Counted
    late: Counted
    unplanned: Counted


class WaitingTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task with pending runs that are due: how many, not counted beyond ``COUNTED_TO``, and since when."""

    task: str
    due: int
    oldest_due_at: int


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The store at a glance, from live rows and bounded history.

    ``workers`` are those whose lease nobody has ended: where nobody is left to do so, some may be long overdue.
    """

    now: int
    queues: tuple[Queue, ...]
    workers: tuple[Worker, ...]
    paused: Pause | None
    upkeep_until: int | None
    schema: int
    waiting: tuple[WaitingTask, ...] = ()
