"""Looks on at every operation on the database, and holds it to what was promised while it happens.

It knows, from the answers alone, which claim holds which run; the store never sees it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec

from puntual.model.attempt import OutcomeKind
from puntual.model.run import Run, RunState
from puntual.model.schedule import Pause
from puntual.model.transitions import Transition
from puntual.simulate.clocks import SimClock
from puntual.simulate.promises.history import ScheduleHistory
from puntual.simulate.promises.judges import Judges
from puntual.simulate.promises.lateness import Lateness
from puntual.simulate.record import Record
from puntual.store.requests import (
    BeatReply,
    Claimed,
    ClaimRequest,
    Enqueued,
    Planned,
    PlanWrite,
    QueueEdit,
    Rescued,
    ScheduleWrite,
    Settled,
    Settlement,
)

Claim = tuple[int, str]
#: What a process asks when it looks for something to do.
_LOOKED_FOR = frozenset(("plan", "claim"))


class Seen(msgspec.Struct):
    """An operation's arguments, and what its callback decided inside the transaction, and when by the database."""

    args: tuple[Any, ...]
    decided: Sequence[Any] = ()
    now: int = 0


class Known(msgspec.Struct):
    """What the answers so far say: who holds which run, the highest attempt of each, which are over, what was accepted.

    ``taken`` remembers when a claim was taken away from its worker, seconds.
    """

    held: dict[str, Claim] = {}
    attempts: dict[str, int] = {}
    ended: dict[str, RunState] = {}
    accepted: set[str] = set()
    taken: dict[tuple[str, int, str], float] = {}
    given: set[tuple[str, int, str]] = set()


class Watch:
    """Sees each operation with its answer, at the instant at which it happens."""

    def __init__(self, record: Record, clock: SimClock, *, lease: float) -> None:
        self._record = record
        self._clock = clock
        self._lease = lease
        self.known = Known()
        self.history = ScheduleHistory()
        self.lateness = Lateness(record, clock)
        self.judges = Judges(record, clock, lease=lease, calm=self.lateness)
        self._kept = Known(), self.history
        self._eyes: dict[str, Callable[[Seen, Any], str]] = {
            "claim": self._claim,
            "settle": self._settle,
            "rescue": self._rescue,
            "plan": self._plan,
            "change_schedules": self._change,
            "enqueue": self._enqueue,
            "cancel": self._cancel,
            "replay": self._replay,
            "discard": self._discard,
            "beat": self._beat,
            "hold_upkeep": self._upkeep,
            "pause_all": self._pause_all,
            "put_queue": self._put_queue,
        }

    def looks_on(self, operation: str, args: tuple[Any, ...]) -> Seen:
        """Sees what a callback of the operation will decide."""
        seen = Seen(args)
        place = {"plan": 0, "rescue": 0, "change_schedules": 1}.get(operation)
        if place is not None:
            decide = args[place]

            def deciding(*given: object) -> Sequence[object]:
                decided: Sequence[object] = decide(*given)
                seen.decided = decided
                seen.now = cast("int", given[-1])
                return decided

            seen.args = (*args[:place], deciding, *args[place + 1 :])
        return seen

    def saw(self, who: str, operation: str, seen: Seen, result: object) -> None:
        """The operation was done."""
        self._record.operations += 1
        if operation in _LOOKED_FOR:
            self.lateness.asked(who, operation)
        eye = self._eyes.get(operation)
        self._record.tell(who, operation, "" if eye is None else eye(seen, result))
        self.judges.saw(operation, seen.args, seen.decided, result)

    def keep(self) -> None:
        """A standby has received all that is committed now."""
        self._kept = copy.deepcopy(self.known), self.history.copy()
        self.lateness.keep()
        self.judges.keep()

    def fail_over(self) -> None:
        """What came after is lost."""
        kept, history = self._kept
        now = self.known
        lost = {(run_id, *claim) for run_id, claim in now.held.items() if claim != kept.held.get(run_id)}
        if lost:
            self._record.visited("claim lost with the tail", len(lost))
        settled = {(run_id, *claim) for run_id, claim in kept.held.items() if claim != now.held.get(run_id)}
        self._record.lost |= lost | settled | (now.given - kept.given)
        self.lateness.fail_over()
        self.judges.fail_over()
        self.known, self.history = copy.deepcopy(kept), history.copy()

    # What each operation promises

    def _claim(self, seen: Seen, claimed: Claimed) -> str:
        request: ClaimRequest = seen.args[0]
        if not claimed.runs and not claimed.lost_lease and not claimed.overlooked:
            return request.worker[-4:]
        for run in claimed.runs:
            self._given(run)
        if claimed.runs:
            way = "alone" if request.alone else "ahead" if request.ahead_us > 0 else "now"
            self._record.visited(f"pending → running ({way})", len(claimed.runs))
        if claimed.overlooked:
            self._record.visited("overlooked, found by a sweep", claimed.overlooked)
        if claimed.lost_lease:
            self._record.visited("claim refused: lease over")
        return f"{request.worker[-4:]} " + " ".join(f"{short(run.id)}#{run.attempt}" for run in claimed.runs)

    def _given(self, run: Run) -> None:
        """A worker has a run: nobody else has it, and it may have it once more."""
        known = self.known
        if run.id in known.held:
            self._record.broken("G3", f"{run.id} was claimed while {known.held[run.id]} held it")
        if run.attempt <= known.attempts.get(run.id, 0):
            self._record.broken("G3", f"attempt {run.attempt} of {run.id} was given twice")
        if run.id in known.ended:
            self._record.broken("G2", f"{run.id} was claimed after it had ended as {known.ended[run.id]}")
        if run.unique_key is None and run.id not in known.accepted:
            self._record.broken("G2", f"{run.id} was claimed, and nobody has asked for it")
        if run.charged > run.max_attempts:
            self._record.broken("G2", f"{run.id} was given attempt {run.charged} of {run.max_attempts}")
        self.lateness.claimed(run)
        known.held[run.id] = (run.attempt, run.worker or "")
        known.attempts[run.id] = run.attempt
        known.given.add((run.id, run.attempt, run.worker or ""))
        self._record.claims[run.id, run.attempt, run.worker or ""] += 1

    def _settle(self, seen: Seen, settled: Settled) -> str:
        asked: dict[str, Settlement] = {one.id: one for one in seen.args[0]}
        for run_id in settled.written:
            self._written(asked[run_id])
        for run_id, why in settled.refused:
            self._record.broken("G2", f"the outcome of {run_id} was refused: {why}")
        for words, ids in (
            ("settle refused: no longer mine", settled.gone),
            ("settle again: cancelled", settled.changed),
        ):
            if ids:
                self._record.visited(words, len(ids))
        return " ".join(
            [f"{short(run_id)}#{asked[run_id].attempt}→{asked[run_id].transition.state}" for run_id in settled.written]
            + [f"{short(run_id)}#{asked[run_id].attempt} gone" for run_id in settled.gone]
        )

    def _rescue(self, seen: Seen, rescued: Rescued) -> str:
        if rescued.workers:
            self._record.visited("lease ended", len(rescued.workers))
        if rescued.runs == len(seen.decided):
            for settlement in seen.decided:
                self._written(settlement)
                self.known.taken[settlement.id, settlement.attempt, settlement.worker] = self._record.now
        return " ".join((*rescued.workers, *(f"{short(one.id)}→{one.transition.state}" for one in seen.decided)))

    def _written(self, settlement: Settlement) -> None:
        """A settlement took effect: its claim must have held the run."""
        known, run_id = self.known, settlement.id
        claim = (settlement.attempt, settlement.worker)
        held = known.held.pop(run_id, None)
        if held != claim:
            self._record.broken("G3", f"{claim} wrote the outcome of {run_id}, which {held} held")
        if run_id in known.ended:
            self._record.broken("G2", f"{run_id} ended a second time, first as {known.ended[run_id]}")
        if settlement.transition.state is not RunState.PENDING:
            known.ended[run_id] = settlement.transition.state
        way = _way(settlement.transition, claim)
        self._record.visited(way)
        self._true(settlement, way)
        for run in settlement.transition.follow_ups:
            known.accepted.add(run.id)

    def _true(self, settlement: Settlement, way: str) -> None:
        """What is written down is what the handler did."""
        effect = self._record.made(settlement.id, settlement.attempt, settlement.worker)
        told = f"{settlement.id}#{settlement.attempt}"
        if effect is None:
            if settlement.transition.state is RunState.SUCCEEDED:
                self._record.broken("G3", f"{told} is written down as succeeded, and its handler was never called")
        elif (settlement.id, settlement.attempt, settlement.worker) in self._record.lost:
            return  # The store has forgotten part of it.
        elif way.endswith("(released, not started)"):
            if effect.started_at < self.lateness.since + self._lease:
                return  # The worker trusted a lease by a clock that was set, or by a beat that was lost with the tail.
            self._record.broken("G2", f"{told} was started at {effect.started_at:.3f} and given back as if it was not")
        elif effect.outcome is OutcomeKind.SUCCEEDED and not _judged_before(way):
            if settlement.transition.state is not RunState.SUCCEEDED:
                self._record.broken("G2", f"{told} succeeded, and is written down as {way}")
        elif settlement.transition.state is RunState.SUCCEEDED:
            self._record.broken("G3", f"{told} is written down as succeeded, and its handler has not")

    def _plan(self, seen: Seen, planned: Planned) -> str:
        self.history.looked(planned.now, seen.decided)
        return " ".join(self._plan_write(write) for write in seen.decided if write.runs or write.stretches)

    def _plan_write(self, write: PlanWrite) -> str:
        # A tick whose unique key is taken in the same transaction is recorded as skipped, without a run.
        self.known.accepted.update(run.id for run in write.runs if run.unique_key is None)
        if write.runs:
            self._record.visited("tick → run", len(write.runs))
        if write.cursor.trouble is not None:
            self._record.broken("G1", f"{write.schedule_id} cannot be planned: {write.cursor.trouble}")
        if write.cursor.seen_at is not None:
            self._record.visited("tick waits for a live run")
        for one in write.stretches:
            self._record.visited(f"ticks {one.fate} ({one.reason or 'late'})", one.count)
        return " ".join(short(run.id) for run in write.runs)

    def _change(self, seen: Seen, _: object) -> str:
        writes: Sequence[ScheduleWrite] = seen.decided
        self.history.wrote(seen.now, writes)
        for write in writes:
            if write.plan is not None:
                self._plan_write(write.plan)
            if write.withdraw:
                self._record.visited("run withdrawn by an edit", len(write.withdraw))
            self.known.accepted.difference_update(write.withdraw)
            self.known.accepted.update(run.id for run in write.insert if run.unique_key is None)
        return " ".join(write.name for write in writes)

    def _pause_all(self, seen: Seen, _: object) -> str:
        pause: Pause = seen.args[0]
        self.history.paused_all(self._clock.now(), pause)
        self.lateness.everything(pause)
        return "until resumed" if pause.until is None else "over"

    def _put_queue(self, seen: Seen, _: object) -> str:
        edit: QueueEdit = seen.args[0]
        self.lateness.queue(edit)
        return edit.name

    def _enqueue(self, _: Seen, answers: list[Enqueued]) -> str:
        self.known.accepted.update(one.id for one in answers)
        if again := sum(one.existing for one in answers):
            self._record.visited("enqueued again: it stands", again)
        return " ".join(short(one.id) for one in answers)

    def _cancel(self, _: Seen, answers: dict[str, str]) -> str:
        for run_id, answer in answers.items():
            self._record.visited(f"cancel: {answer}")
            if answer == "cancelled":
                if run_id in self.known.held:
                    self._record.broken("G2", f"{run_id} was cancelled as pending while a claim held it")
                self.known.ended[run_id] = RunState.CANCELLED
        return " ".join(f"{short(run_id)} {answer}" for run_id, answer in answers.items())

    def _replay(self, _: Seen, answers: dict[str, str]) -> str:
        for run_id, answer in answers.items():
            self._record.visited(f"replay: {answer.split(':')[0]}")
            if answer == "replayed":
                self._record.replayed.add(run_id)
                self.known.ended.pop(run_id, None)
        return " ".join(f"{short(run_id)} {answer}" for run_id, answer in answers.items())

    def _discard(self, _: Seen, ids: list[str]) -> str:
        self._record.visited("dead → discarded", len(ids))
        return " ".join(map(short, ids))

    def _beat(self, seen: Seen, reply: BeatReply) -> str:
        if not reply.alive:
            self._record.visited("beat refused: lease over")
        if reply.draining:
            self._record.visited("beat: asked to drain")
        if reply.cancels:
            self._record.visited("beat: cancels heard", len(reply.cancels))
        return f"{seen.args[0].worker[-4:]} held {seen.args[0].held}"

    def _upkeep(self, seen: Seen, got: bool) -> str:  # noqa: FBT001 - the answer
        return f"{seen.args[0][:4]} {'has it' if got else 'waits'}"


def _judged_before(way: str) -> bool:
    """Whether somebody had given the attempt up, and its handler may have come to its end after that."""
    given_up = (OutcomeKind.LOST, OutcomeKind.TIMED_OUT, OutcomeKind.CANCELLED, "interrupted")
    return any(f"({outcome}" in way for outcome in given_up)


def short(run_id: str) -> str:
    """What tells a run from others in a story."""
    return run_id[9:13] + run_id[-4:]


def _way(transition: Transition, claim: Claim) -> str:
    """The transition in words."""
    last = transition.attempts[-1] if transition.attempts else None
    outcome = last.outcome if last is not None and last.number == claim[0] else None
    if outcome is None:
        return f"running → {transition.state} (released, not started)"
    if transition.state is RunState.PENDING and outcome is OutcomeKind.CANCELLED:
        return "running → pending (interrupted)"
    why = f", {transition.reason}" if transition.reason else ""
    return f"running → {transition.state} ({outcome}{why})"
