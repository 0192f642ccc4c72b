"""Promise G5: while somebody could start it, no run waits for longer than the poll bound, hints or none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from puntual.model.instant import SECOND
from puntual.model.run import Run
from puntual.model.schedule import Pause
from puntual.simulate.clocks import SimClock
from puntual.simulate.record import Record
from puntual.store.requests import QueueEdit

#: The poll bound of a second, the way of a request and its answer, and a look that is a second old, seconds.
BOUND: Final = 3.0
#: As long as a loop may stand still: the longest pause after errors, one hang, and a poll, seconds.
_STILL: Final = 9.0
ANY: Final = ""


class Ready(Protocol):
    """A process, as far as lateness goes: ``able`` now, and ``unable_at``, the last time at which it was not."""

    who: str
    unable_at: float
    duties: tuple[str, ...]

    @property
    def able(self) -> bool:
        """Whether it could start something."""
        ...

    def serves(self, run: Run) -> bool:
        """Whether it takes such runs."""
        ...


class Lateness:
    """Judges each first claim of a run by when it could have been made, and by whom."""

    def __init__(self, record: Record, clock: SimClock) -> None:
        self._record = record
        self._clock = clock
        self._queues: dict[str, tuple[bool, int | None]] = {}
        self._blocked: dict[str, bool] = {}
        self._goes_on_at = 0
        self._kept: tuple[dict[str, tuple[bool, int | None]], dict[str, bool], int] = ({}, {}, 0)
        self._asked: dict[tuple[str, str], float] = {}
        self._free_since: dict[str, float] = {}
        self.processes: Sequence[Ready] = ()

    def look(self, processes: Sequence[Ready]) -> None:
        """Once a second: who could start something, and who could not; whoever can has to look for it."""
        self.processes = processes
        for process in processes:
            if not process.able:
                process.unable_at = self._record.now
                continue
            for operation in process.duties:
                since = max(process.unable_at, self._asked.get((process.who, operation), 0.0))
                if self._record.now - since > _STILL:
                    self._record.broken("G5", f"{process.who} has not asked to {operation} for {_STILL:.0f} s")
                    process.unable_at = self._record.now

    def asked(self, who: str, operation: str) -> None:
        """A process has looked for something to do."""
        self._asked[who, operation] = self._record.now

    @property
    def since(self) -> float:
        """As ``Calm.since``."""
        return self._free_since.get(ANY, 0.0)

    @property
    def able_for(self) -> float:
        """As ``Calm.able_for``."""
        able = [self._record.now - process.unable_at for process in self.processes if process.able]
        return min(max(able, default=0.0), self._record.now - self.since)

    def disturbed(self) -> None:
        """The clock was set, or the database was away: nobody is judged by what was before."""
        self._free_since[ANY] = self._record.now

    def keep(self) -> None:
        """A standby has received all that is committed now."""
        self._kept = dict(self._queues), dict(self._blocked), self._goes_on_at

    def fail_over(self) -> None:
        """What came after is lost: what was paused then is so again."""
        queues, blocked, self._goes_on_at = self._kept
        self._queues, self._blocked = dict(queues), dict(blocked)
        self.disturbed()

    def queue(self, edit: QueueEdit) -> None:
        """A queue was paused, limited, or is free again."""
        paused, limit = self._queues.get(edit.name, (False, None))
        paused = paused if edit.paused is msgspec.UNSET else edit.paused
        limit = limit if edit.concurrency is msgspec.UNSET else edit.concurrency
        self._queues[edit.name] = paused, limit
        self._block(edit.name, paused or limit is not None)

    def everything(self, pause: Pause) -> None:
        """Everything was paused, or goes on from an instant of the database's clock, which may come a second time."""
        self._goes_on_at = pause.until or 0
        self._block(ANY, pause.active(self._clock.now()))

    def _block(self, name: str, blocked: bool) -> None:  # noqa: FBT001 - the one thing that it is about
        self._blocked[name] = blocked
        self._free_since[name] = self._record.now

    def claimed(self, run: Run) -> None:
        """A run was claimed."""
        if self._blocked.get(ANY) or self._blocked.get(run.queue) or run.lost > 1:
            return  # What was lost twice waits for a process of its own.
        now = self._record.now
        waited = (self._clock.now() - max(run.claim_at, run.created_at, self._goes_on_at)) / SECOND
        since = max(now - waited, self._free_since.get(ANY, 0.0), self._free_since.get(run.queue, 0.0))
        late = now - since
        if late <= BOUND:
            return
        if any(process.unable_at < since and process.able and process.serves(run) for process in self.processes):
            self._record.broken("G5", f"{run.id} waited {late:.1f} s while somebody could have started it")
