"""What a store holds, as a dictionary: every rule in its plainest form, one run at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from puntual.model.run import LIVE_STATES, NewRun, Run, RunState
from puntual.store.requests import ClaimRequest, Enqueued, Settlement

#: What an ended run may keep or lose: nobody asks it any more.
_OF_THE_LIVING = ("worker", "claimed_at", "claim_at", "cancel_requested")


class StoreModel:
    """Runs by id, leases by worker, limits by queue."""

    def __init__(self) -> None:
        self.runs: dict[str, Run] = {}
        self.leases: dict[str, int] = {}
        self.over: set[str] = set()
        self.limits: dict[str, int | None] = {}
        self.paused: set[str] = set()

    def enqueue(self, run: NewRun, now: int) -> Enqueued:
        """Inserts it, or names the run that stands."""
        holder = self.holder(run.task, run.unique_key)
        if run.id in self.runs or holder is not None:
            return Enqueued(run.id if run.id in self.runs else str(holder), existing=True)
        due_at = now + run.delay_us
        asked = {name: getattr(run, name) for name in NewRun.__struct_fields__ if name in Run.__struct_fields__}
        nothing = dict.fromkeys(Run.__struct_fields__)
        counters = dict.fromkeys(("attempt", "released", "interrupted", "lost"), 0)
        fresh = {"state": RunState.PENDING, "created_at": now, "cancel_requested": False, "attempts": ()}
        self.runs[run.id] = Run(**{**nothing, **asked, **counters, **fresh, "due_at": due_at, "claim_at": due_at})
        return Enqueued(run.id, now=now)

    def holder(self, task: str, key: str | None) -> str | None:
        """The live run with this key."""
        held = (run.id for run in self.runs.values() if key and (run.task, run.unique_key) == (task, key) and live(run))
        return next(held, None)

    def claimable(self, request: ClaimRequest, now: int) -> dict[str, list[Run]]:
        """The runs that this claim may take, by queue."""
        found: dict[str, list[Run]] = {}
        for run in self.runs.values():
            wanted = run.task in request.tasks and (request.queues is None or run.queue in request.queues)
            due = run.state is RunState.PENDING and run.claim_at <= now + request.ahead_us
            if wanted and due and run.queue not in self.paused and (run.lost >= 2) == request.alone:
                found.setdefault(run.queue, []).append(run)
        return found

    def room(self, queue: str) -> int:
        """How many more runs this queue may run."""
        limit = self.limits.get(queue)
        running = sum(run.queue == queue and run.state is RunState.RUNNING for run in self.runs.values())
        return 1_000_000 if limit is None else max(limit - running, 0)

    def claim(self, id: str, worker: str, now: int) -> Run:
        """The run in its next attempt."""
        run = self.runs[id]
        return self._write(run, state=RunState.RUNNING, attempt=run.attempt + 1, worker=worker, claimed_at=now)

    def settle(self, settlement: Settlement, now: int) -> str:
        """What the guard says, and the write if it lets it through."""
        run = self.runs.get(settlement.id)
        mine = (RunState.RUNNING, settlement.attempt, settlement.worker)
        if run is None or (run.state, run.attempt, run.worker) != mine:
            return "gone"
        if run.cancel_requested != settlement.cancel_seen:
            return "changed"
        next_ = settlement.transition
        self._write(
            run,
            state=next_.state,
            reason=next_.reason,
            claim_at=max(next_.claim_at or 0, now),
            started_at=next_.started_at,
            finished_at=next_.finished_at,
            released=run.released + next_.released,
            interrupted=run.interrupted + next_.interrupted,
            lost=run.lost + next_.lost,
            attempts=next_.attempts,
            result=next_.result,
            worker=None,
            claimed_at=None,
        )
        return "written"

    def cancel(self, id: str, now: int) -> str:
        """Ends it, asks for it, or says why not."""
        run = self.runs.get(id)
        if run is None:
            return "missing"
        if run.state is RunState.PENDING:
            self._write(run, state=RunState.CANCELLED, finished_at=now)
            return "cancelled"
        if run.state is RunState.RUNNING:
            self._write(run, cancel_requested=True)
            return "requested"
        return "ended"

    def edit(self, id: str, queue: str, due_at: int, now: int) -> bool:
        """Moves a pending run."""
        run = self.runs[id]
        if run.state is not RunState.PENDING:
            return False
        self._write(run, queue=queue, due_at=due_at, claim_at=max(due_at, now))
        return True

    def replay(self, id: str, now: int) -> str:
        """Puts a dead run back."""
        run = self.runs.get(id)
        if run is None:
            return "missing"
        if run.state is not RunState.DEAD:
            return "not_dead"
        if (holder := self.holder(run.task, run.unique_key)) is not None:
            return f"held_by:{holder}"
        budget = run.max_attempts + run.policy.retry.max_attempts
        back = {"state": RunState.PENDING, "reason": None, "finished_at": None, "claim_at": now}
        self._write(run, **back, max_attempts=budget, cancel_requested=False)
        return "replayed"

    def discard(self, id: str, now: int) -> bool:
        """Marks a dead run."""
        run = self.runs[id]
        if run.state is not RunState.DEAD or run.discarded_at is not None:
            return False
        self._write(run, discarded_at=now)
        return True

    def lost(self, workers: Iterable[str]) -> list[Run]:
        """The running runs of these workers."""
        return [run for run in self.runs.values() if run.state is RunState.RUNNING and run.worker in set(workers)]

    def newest_first(self) -> list[Run]:
        """All runs, as a list shows them."""
        return [self.runs[id] for id in sorted(self.runs, reverse=True)]

    def _write(self, run: Run, **changes: object) -> Run:
        self.runs[run.id] = written = msgspec.structs.replace(run, **changes)
        return written


def live(run: Run) -> bool:
    """Whether the run is not over."""
    return run.state in LIVE_STATES


def comparable(runs: Sequence[Run]) -> list[dict[str, object]]:
    """The runs, without what a store may choose."""
    return [
        {
            name: getattr(run, name)
            for name in Run.__struct_fields__
            if not (name in _OF_THE_LIVING and not live(run))
            and not (name == "due_at" and run.attempt > 0)
            and not (name == "claim_at" and run.state is RunState.RUNNING)
        }
        for run in runs
    ]
