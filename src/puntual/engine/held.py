"""The claims this worker holds: armed until due, ready, started; and the store's time as this process reckons it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from enum import Enum
from typing import Final

from puntual.model.attempt import OutcomeKind
from puntual.model.clock import Clock
from puntual.model.run import Run


class Stage(Enum):
    """How far a held claim has come."""

    ARMED = "armed"
    READY = "ready"
    STARTED = "started"
    SETTLING = "settling"


class Stop(Enum):
    """Why a started attempt is being stopped by us."""

    DEADLINE = "deadline"
    CANCEL = "cancel"
    LEASE = "lease"
    DRAIN = "drain"


#: An attempt that ended so may have been the one that took others with it.
_SUSPECT: Final = (OutcomeKind.TIMED_OUT, OutcomeKind.LOST, OutcomeKind.UNKNOWN)


class Hold:
    """One claim. Mutable, owned by the event loop's thread alone.

    ``alone`` keeps its run out of calls with others: it was lost twice, its last attempt did not come back, or a call
    with others failed and nobody knows because of whom.
    """

    __slots__ = ("alone", "cancel_requested", "group", "run", "stage", "started_at", "stop")

    def __init__(self, run: Run) -> None:
        self.run = run
        self.stage = Stage.ARMED
        self.started_at = 0
        self.stop: Stop | None = None
        self.group: Group | None = None
        self.cancel_requested = run.cancel_requested
        self.alone = run.lost > 1 or (bool(run.attempts) and run.attempts[-1].outcome in _SUSPECT)

    @property
    def claim(self) -> tuple[str, int]:
        """The pair that names this claim: (run id, attempt)."""
        return self.run.id, self.run.attempt


class Group:
    """The claims whose attempts are one call: one mostly, many of a batch task; none once the call has an end.

    ``wanted`` counts those that nobody has asked to stop: the call goes on while there is one.
    """

    __slots__ = ("holds", "started", "task", "wanted")

    def __init__(self, holds: list[Hold], started: float) -> None:
        self.holds = holds
        self.wanted = len(holds)
        self.started: Final = started
        self.task: asyncio.Task[None] | None = None


class Held:
    """All claims held, by run id."""

    def __init__(self) -> None:
        self._holds: dict[str, Hold] = {}

    def __len__(self) -> int:
        return len(self._holds)

    def __iter__(self) -> Iterator[Hold]:
        return iter(list(self._holds.values()))

    def add(self, hold: Hold) -> None:
        """Takes a claim."""
        self._holds[hold.run.id] = hold

    def get(self, run_id: str) -> Hold | None:
        """The claim on that run, if it is held here."""
        return self._holds.get(run_id)

    def drop(self, hold: Hold) -> None:
        """Forgets a claim; a newer one on the same run stays."""
        if self._holds.get(hold.run.id) is hold:
            del self._holds[hold.run.id]

    def claims(self) -> set[tuple[str, int]]:
        """Every pair that is held."""
        return {hold.claim for hold in self._holds.values()}


class StoreTime:
    """The store's clock, carried on by the steady one between its answers.

    A node's own wall clock only bridges the time until the first answer.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._at = clock.now()
        self._steady = clock.steady()

    def steady(self) -> float:
        """When something is asked, to be told with its answer."""
        return self._clock.steady()

    def heard(self, now: int, at: float | None = None, *, asked_at: float | None = None) -> None:
        """The store has said what time it is: just now, or at that steady time. What is older than known is ignored.

        An answer may have been under way ever since it was asked for: what was known stays where both can be true.
        """
        steady = self._clock.steady() if at is None else at
        if steady < self._steady:
            return
        known = self._reckoned(steady)
        if asked_at is None or not now <= known <= now + int((steady - asked_at) * 1_000_000):
            known = now
        self._at, self._steady = known, steady

    def now(self) -> int:
        """Microseconds, as the store would say."""
        return self._reckoned(self._clock.steady())

    def _reckoned(self, steady: float) -> int:
        return self._at + int((steady - self._steady) * 1_000_000)
