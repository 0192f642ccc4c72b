"""A scenario: all that one seed says, as a value: the world at its beginning, what users do, and what strikes it.

Each strike and each act can be left out and the rest stays as it is, which is how a failing seed is made small.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from puntual.model.policy import RunPolicy
from puntual.model.schedule import ScheduleSpec


class Hit(StrEnum):
    """A strike on the next operation of a kind, by one process; on a claim, after it, on the next that gives a run."""

    CRASH_BEFORE = "crash before commit"
    CRASH_AFTER = "crash after commit"
    FREEZE_BEFORE = "frozen before sending"
    FREEZE_AFTER = "frozen after commit"
    REQUEST_LOST = "request lost"
    ANSWER_LOST = "answer lost after commit"
    CUT_AFTER = "cut off after commit, answered after it"
    LATE = "committed after its caller gave up"
    SLOW = "operation takes long"
    UNAVAILABLE = "database unavailable"
    BUSY = "database busy"
    FULL = "database full"
    REFUSED = "value refused"
    BROKEN = "statement refused"


class Blow(StrEnum):
    """A strike at a moment, mostly for a while."""

    CRASH = "process killed"
    FREEZE = "process frozen"
    DRAIN = "process asked to stop"
    CUT = "cut off from the database"
    HUNG = "one kind of operation hangs"
    HALF_OPEN = "answers lost for a while"
    DEAF = "cut off from hints"
    AWAY = "database away"
    FAIL_OVER = "database lost its tail"
    LATE_HINTS = "hints late"
    DOUBLED_HINTS = "hints doubled"
    NODE_CLOCK = "clock of a node set"
    DATABASE_CLOCK = "clock of the database set"


class ServerBlow(StrEnum):
    """A strike that only a database server can meet."""

    CUT = "connection ended before commit"
    LONG_WRITER = "an application's transaction stays open"
    OPEN_CLAIM = "a claim rolls back"
    NO_DAYS = "no day of history was made"
    NO_LANE = "name of a queue lost"


class Strike(msgspec.Struct, frozen=True, kw_only=True):
    """One fault.

    Args:
        at: seconds from the beginning.
        kind: what.
        slot: which machine; -1 is the users'.
        operation: for a hit, and for one that hangs, the operation's name.
        seconds: how long it lasts, or how far a clock is set.
    """

    at: float
    kind: Hit | Blow | ServerBlow
    slot: int = 0
    operation: str = ""
    seconds: float = 0.0


class Verb(StrEnum):
    """What a user does."""

    ENQUEUE = "enqueue"
    CANCEL = "cancel"
    REPLAY = "replay"
    DISCARD = "discard"
    MOVE = "move runs"
    CREATE = "create schedule"
    CHANGE = "change schedule"
    PAUSE = "pause schedule"
    RESUME = "resume schedule"
    REMOVE = "remove schedule"
    TRIGGER = "trigger schedule"
    PAUSE_QUEUE = "pause queue"
    LIMIT_QUEUE = "limit queue"
    PAUSE_ALL = "pause everything"
    DRAIN_WORKER = "drain worker"


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a user does at a moment. ``number`` seeds what it is about."""

    at: float
    verb: Verb
    number: int


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Where one node runs, again after each of its ends, from ``since`` to ``until`` (seconds).

    ``queues`` and ``tasks`` None means all.
    """

    roles: tuple[str, ...]
    concurrency: int
    rate: float
    offset_us: int
    queues: tuple[str, ...] | None = None
    tasks: tuple[str, ...] | None = None
    since: float = 0.0
    until: float = float("inf")


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """What one seed says.

    Args:
        seed: its number.
        seconds: how long strikes and acts go on; then the world is healed, and has to come to rest.
        lease: of the nodes, seconds.
        latency: the mean of half a round trip, seconds.
        machines: the nodes.
        database_rate: how fast the database's clock goes.
        database_offset_us: how far off it is at first.
        schedules: those that there are from the beginning.
        policies: of the runs that events make, by task.
        acts: what users do.
        strikes: what goes wrong.
        hints: whether anybody hears any.
    """

    seed: int
    seconds: float
    lease: float
    latency: float
    machines: tuple[Machine, ...]
    database_rate: float
    schedules: tuple[ScheduleSpec, ...]
    policies: dict[str, RunPolicy]
    acts: tuple[Act, ...]
    strikes: tuple[Strike, ...]
    database_offset_us: int = 0
    hints: bool = True
