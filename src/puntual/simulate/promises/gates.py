"""What is paused is not claimed, no queue has more under way than it allows, and one unique key has one live run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from puntual.model.run import Run, RunState
from puntual.model.schedule import Pause
from puntual.simulate.clocks import SimClock
from puntual.simulate.promises.judge import Done, Eye, Judge, written
from puntual.simulate.record import Record
from puntual.store.requests import QueueEdit


class _Known(msgspec.Struct):
    """Pauses, limits, the queue of each run that is held, and which run was last claimed with a unique key."""

    pause: Pause | None = None
    paused: set[str] = set()
    limits: dict[str, int] = {}
    held: dict[str, str] = {}
    keys: dict[tuple[str, str], str] = {}


class Gates(Judge[_Known]):
    """Looks at each claim through the gates that users closed."""

    def __init__(self, record: Record, clock: SimClock) -> None:
        super().__init__(record, clock, _Known())

    def eyes(self) -> Mapping[str, Eye]:
        """As ``Judge.eyes``."""
        return {
            "pause_all": self._paused_all,
            "put_queue": self._put_queue,
            "claim": self._claimed,
            "settle": self._wrote,
            "rescue": self._wrote,
            "cancel": self._cancelled,
            "plan": self._stopped,
            "change_schedules": self._changed,
        }

    def _paused_all(self, done: Done) -> None:
        self.known.pause = done.args[0]

    def _put_queue(self, done: Done) -> None:
        edit: QueueEdit = done.args[0]
        if edit.paused is not msgspec.UNSET:
            (self.known.paused.add if edit.paused else self.known.paused.discard)(edit.name)
        if isinstance(edit.concurrency, int):
            self.known.limits[edit.name] = edit.concurrency
        elif edit.concurrency is None:
            self.known.limits.pop(edit.name, None)

    def _claimed(self, done: Done) -> None:
        runs: Sequence[Run] = done.answer.runs
        known = self.known
        if runs and known.pause is not None and known.pause.active(self._clock.now()):
            self._record.broken("pause", f"{runs[0].id} was claimed while everything was paused")
        for run in runs:
            known.held[run.id] = run.queue
            if run.queue in known.paused:
                self._record.broken("pause", f"{run.id} was claimed while its queue {run.queue} was paused")
            if run.unique_key is not None and known.keys.setdefault((run.task, run.unique_key), run.id) != run.id:
                holder = known.keys[run.task, run.unique_key]
                self._record.broken("unique key", f"{run.id} was claimed while {holder}, of the same key, was live")
        for queue in {run.queue: None for run in runs if run.queue in known.limits}:
            count = sum(one == queue for one in known.held.values())
            if count > known.limits[queue]:
                self._record.broken(
                    "limit", f"{count} runs of {queue} are under way, and it allows {known.limits[queue]}"
                )

    def _wrote(self, done: Done) -> None:
        for one in written(done):
            self.known.held.pop(one.id, None)
            if one.transition.state is not RunState.PENDING:
                self._over(one.id)

    def _cancelled(self, done: Done) -> None:
        for run_id, word in done.answer.items():
            if word == "cancelled":
                self._over(run_id)

    def _stopped(self, done: Done) -> None:
        """Of those that are asked to stop, whoever nobody holds is over at once."""
        for write in done.decided:
            for run_id in write.cancel:
                if run_id not in self.known.held:
                    self._over(run_id)

    def _changed(self, done: Done) -> None:
        self._stopped(done)
        for write in done.decided:
            for run_id in write.withdraw:
                self._over(run_id)
                if run_id in self.known.held:
                    self._record.broken("G2", f"{run_id} was taken back by an edit while a claim held it")

    def _over(self, run_id: str) -> None:
        for key, holder in self.known.keys.items():
            if holder == run_id:
                del self.known.keys[key]
                return
