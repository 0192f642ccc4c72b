"""One unit of work: as it is asked for (``NewRun``) and as the store keeps it (``Run``)."""

from __future__ import annotations

from enum import IntEnum, StrEnum

import msgspec

from puntual.model.attempt import Attempt
from puntual.model.errors import InvalidError
from puntual.model.policy import RunPolicy

HTTP_TASK = "http"
COMMAND_TASK = "command"


class RunState(StrEnum):
    """Where a run stands. No state is rewritten just because time passes."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    DEAD = "dead"
    CANCELLED = "cancelled"


LIVE_STATES = (RunState.PENDING, RunState.RUNNING)


class Origin(StrEnum):
    """What made a run."""

    TICK = "tick"
    EVENT = "event"
    HOOK = "hook"
    TRIGGER = "trigger"
    BACKFILL = "backfill"
    REPLAY = "replay"


class DeadReason(StrEnum):
    """Why a run is dead."""

    ATTEMPTS = "attempts"
    ERROR = "error"
    UNKNOWN_EFFECT = "unknown_effect"


class Priority(IntEnum):
    """Lower goes first; shares of a claim are 8 : 4 : 2 : 1, so that nothing starves."""

    CRITICAL = 0
    HIGH = 1
    NORMAL = 2
    LOW = 3

    @property
    def word(self) -> str:
        """The name that users type."""
        return self.name.lower()

    @classmethod
    def parse(cls, word: str, *, field: str = "priority") -> Priority:
        """Reads the name that users type.

        Raises:
            InvalidError: it is none of the four.
        """
        try:
            return cls[word.upper()]
        except KeyError:
            raise InvalidError(f"{field} is {word!r}; it must be critical, high, normal or low.", field=field) from None


# gc=False, here and in all that a run is made of and becomes: none of it can be part of a cycle, and walking it was a
# fifth of the cost of a drain (51 to 41 us of processor time for each run).
class NewRun(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A run to insert.

    ``args`` is JSON text in the payload profile. ``due_at`` None means now by the store's clock, plus ``delay_us``.
    """

    id: str
    task: str
    args: str = "{}"
    queue: str = "default"
    priority: Priority = Priority.NORMAL
    origin: Origin = Origin.EVENT
    replay_of: str | None = None
    schedule_id: str | None = None
    schedule: str | None = None
    tick_at: int | None = None
    tick_number: int | None = None
    due_at: int | None = None
    delay_us: int = 0
    max_attempts: int = 5
    policy: RunPolicy = RunPolicy()
    unique_key: str | None = None
    tags: tuple[str, ...] = ()


class Run(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A run as the store keeps it, live or finished. Instants are microseconds, ``args`` and ``result`` JSON text.

    ``attempt`` counts claims and is never reused; ``attempt - released`` were charged. ``interrupted`` counts releases
    of started attempts other than snoozes, ``lost`` the attempts whose worker went. ``(attempt, worker)`` is the
    fencing token.
    """

    id: str
    task: str
    args: str
    queue: str
    priority: Priority
    state: RunState
    reason: str | None
    origin: Origin
    replay_of: str | None
    schedule_id: str | None
    schedule: str | None
    tick_at: int | None
    tick_number: int | None
    due_at: int
    claim_at: int
    created_at: int
    started_at: int | None
    finished_at: int | None
    attempt: int
    max_attempts: int
    released: int
    interrupted: int
    lost: int
    worker: str | None
    claimed_at: int | None
    cancel_requested: bool
    unique_key: str | None
    tags: tuple[str, ...]
    policy: RunPolicy
    attempts: tuple[Attempt, ...]
    result: str | None
    discarded_at: int | None

    @property
    def charged(self) -> int:
        """How many attempts count against ``max_attempts``."""
        return self.attempt - self.released
