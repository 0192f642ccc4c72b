"""When a task is to be done, with its policies, and where the schedule stands between its last tick and its next."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from puntual.model.instant import SECOND
from puntual.model.policy import OnLostLease, RetryPolicy
from puntual.model.run import Priority, RunState


class Overlap(StrEnum):
    """What a tick does while a run of its schedule is live."""

    SKIP = "skip"
    BUFFER_ONE = "buffer_one"
    BUFFER_ALL = "buffer_all"
    CANCEL_OTHER = "cancel_other"
    ALLOW_ALL = "allow_all"


class MisfirePolicy(StrEnum):
    """What becomes of ticks that nobody was there to plan."""

    FIRE_ONCE = "fire_once"
    SKIP = "skip"
    FIRE_ALL = "fire_all"


class Fate(StrEnum):
    """What became of a tick."""

    RAN = "ran"
    SKIPPED = "skipped"
    MISSED = "missed"
    COALESCED = "coalesced"
    PLANNED = "planned"


class FateReason(StrEnum):
    """Why a tick made no run, or why its run was never started."""

    OVERLAP = "overlap"
    PAUSED = "paused"
    BLACKOUT = "blackout"
    CALENDAR = "calendar"
    DOWN = "down"
    GRACE = "grace"
    CANCELLED = "cancelled"


class Target(msgspec.Struct, frozen=True, gc=False):
    """What is to be done: a task's name and its arguments as JSON text; of ``http`` and ``command`` the request."""

    task: str
    args: str = "{}"


class Stretch(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Consecutive ticks with one fate: first number and instant, last instant, how many (``at_least`` when capped)."""

    number: int
    tick_at: int
    last_tick_at: int
    count: int
    at_least: bool
    fate: Fate
    reason: FateReason | None = None


class ScheduleSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What the user wrote, defaults filled in.

    ``timetable`` is the JSON text of a ``timing.rule.Timetable`` (rule, zone, bounds); ``source`` is the rule as it was
    written, for exports. ``defaulted`` names the settings that the user did not write.
    """

    name: str
    timetable: str
    source: dict[str, object]
    target: Target
    owner: str | None = None
    overlap: Overlap = Overlap.SKIP
    misfire_policy: MisfirePolicy = MisfirePolicy.FIRE_ONCE
    misfire_grace_us: int | None = None
    retry: RetryPolicy = RetryPolicy()
    timeout_us: int | None = 3600 * SECOND
    on_lost_lease: OnLostLease = OnLostLease.RUN_ON
    spread_us: int = 0
    jitter_us: int = 0
    queue: str = "default"
    priority: Priority = Priority.NORMAL
    unique_key: str | None = None
    tags: tuple[str, ...] = ()
    description: str = ""
    warnings: tuple[str, ...] = ()
    defaulted: tuple[str, ...] = ()


class Cursor(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """How far a schedule has been planned; moved in the transaction that inserts the runs, and only there.

    ``look_at`` is when a planner must look again (None: never by itself). ``next_tick_at`` is the first tick not
    handled, and ``next_due_at`` that tick with spread and jitter. ``last_tick_at`` and ``last_number`` are of the last
    tick handed out or passed over. ``seen_at`` is the last time that a planner looked while a tick waited behind a live
    run: what came due until then is buffered, not misfired. ``caught_up`` counts what the catch-up under way has handed
    out. ``stretch`` is the open one. ``trouble`` says why it cannot be planned, if it cannot. ``tzdata`` is the version
    of the tz database that ``next_tick_at`` was found with, for it is a cache: the truth is the rule in its zone.
    """

    look_at: int | None = None
    next_tick_at: int | None = None
    next_due_at: int | None = None
    last_tick_at: int
    last_number: int = 0
    seen_at: int | None = None
    caught_up: int = 0
    stretch: Stretch | None = None
    trouble: str | None = None
    tzdata: str | None = None


class Pause(msgspec.Struct, frozen=True, kw_only=True):
    """A pause of a schedule or of everything. ``until`` None: until resumed. ``by_hand``: ``apply`` leaves it alone."""

    since: int
    until: int | None = None
    reason: str | None = None
    by_hand: bool = True

    def active(self, now: int) -> bool:
        """Whether it holds at this instant."""
        return self.until is None or self.until > now


class LastTick(msgspec.Struct, frozen=True, kw_only=True):
    """The last tick of a schedule that is over, for lists."""

    tick_at: int
    fate: Fate
    run_id: str | None = None
    run_state: RunState | None = None


class Schedule(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A schedule as the store keeps it. ``id`` is random and made once; ``revision`` grows with each edit."""

    id: str
    revision: int
    spec: ScheduleSpec
    cursor: Cursor
    created_at: int
    updated_at: int
    pause: Pause | None = None
    last: LastTick | None = None

    @property
    def name(self) -> str:
        """The name that users type."""
        return self.spec.name


class Tick(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the tick record: a single tick with its run, or a stretch of ticks that made none."""

    schedule: str
    number: int
    tick_at: int
    last_tick_at: int
    count: int = 1
    at_least: bool = False
    fate: Fate = Fate.RAN
    reason: FateReason | None = None
    run_id: str | None = None
    run_state: RunState | None = None
    lateness_us: int | None = None

    @property
    def key(self) -> str:
        """Where a list of ticks goes on after this one: ``Page.after``."""
        return f"{self.tick_at}:{self.number}:{self.schedule}"
