"""Any sequence of operations leaves in the store what it leaves in a dictionary."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from puntual.engine.clock import SystemClock
from puntual.model.attempt import OutcomeKind
from puntual.model.fleet import Queue
from puntual.model.policy import RetryPolicy, RunPolicy
from puntual.model.run import NewRun, Priority, Run, RunState
from puntual.store.requests import Page, Retention, RunEdit, RunFilter
from puntual.store.sqlite import SqliteStore
from puntual.testing.conformance.build import DAY, NOW, SECOND, after, lose, new_run, uid, wanting, worker
from tests.support.store_model import StoreModel, comparable, live

Answer = TypeVar("Answer")

#: Instants here are whole seconds, so that no lease ends on one.
LEASE = 15 * SECOND + 1
POLICY = RunPolicy(retry=RetryPolicy(max_attempts=2, delay_us=2 * SECOND, jitter=False))
QUEUES = ("a", "b")
WORKERS = st.sampled_from([f"w{number}" for number in range(1, 7)])
NUMBERS = st.lists(st.integers(0, 25), min_size=1, max_size=4, unique=True)
KINDS = st.sampled_from(OutcomeKind)


def _run(number: int, queue: str, key: str | None, delay: int) -> NewRun:
    return new_run(
        number,
        task="task" if number % 5 else "other",
        queue=queue,
        unique_key=key,
        delay_us=delay * SECOND,
        priority=Priority(number % 4),
        max_attempts=2,
        policy=POLICY,
    )


class StoreMachine(RuleBasedStateMachine):
    """Random operations on a store and on its model."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.Runner()
        self.store = SqliteStore(":memory:", clock=SystemClock(), retention=Retention(), inline=True)
        self.model = StoreModel()
        self.claims: list[Run] = []
        self.now = NOW

    def ask(self, operation: Coroutine[object, object, Answer]) -> Answer:
        """Waits for an operation."""
        return self.loop.run(operation)

    @initialize()
    def opens(self) -> None:
        """An empty store."""
        self.ask(self.store.open())

    def teardown(self) -> None:
        """Nothing stays open."""
        self.ask(self.store.close())
        self.loop.close()

    @rule(seconds=st.integers(0, 20))
    def time_passes(self, seconds: int) -> None:
        """A while later."""
        self.now += seconds * SECOND

    @rule(
        numbers=NUMBERS,
        queue=st.sampled_from(QUEUES),
        key=st.sampled_from([None, None, "k", "l"]),
        delay=st.sampled_from([0, 0, 0, 5]),
    )
    def enqueue(self, numbers: list[int], queue: str, key: str | None, delay: int) -> None:
        """Several runs in one call, the first of them with the key."""
        runs = [_run(number, queue, None if place else key, delay) for place, number in enumerate(numbers)]
        answers = self.ask(self.store.enqueue(runs, now=self.now))
        assert answers == [self.model.enqueue(run, self.now) for run in runs]

    @rule(name=WORKERS)
    def register(self, name: str) -> None:
        """A worker comes, or renews; one that is over stays so."""
        if name not in self.model.over:
            until = self.ask(self.store.register_worker(worker(name), lease_us=LEASE, now=self.now))
            assert until == self.now + LEASE
            self.model.leases[name] = until

    @rule(
        name=WORKERS,
        limit=st.sampled_from([1, 3, 50]),
        ahead=st.sampled_from([0, 3]),
        alone=st.sampled_from([False, False, False, True]),
        queues=st.sampled_from([None, None, ("a",), QUEUES]),
    )
    def claim(self, name: str, limit: int, ahead: int, *, alone: bool, queues: tuple[str, ...] | None) -> None:
        """As many as there are and as are allowed, in their order."""
        tasks = ("task",) if name in {"w1", "w2"} else ("task", "other")
        request = wanting(name, limit=limit, ahead_us=ahead * SECOND, alone=alone, queues=queues, tasks=tasks)
        claimed = self.ask(self.store.claim(request, now=self.now))
        known = name in self.model.leases
        assert claimed.lost_lease != known
        found = self.model.claimable(request, self.now) if known else {}
        room = sum(min(len(runs), self.model.room(queue)) for queue, runs in found.items())
        assert len(claimed.runs) == min(limit, room)
        assert {run.id for run in claimed.runs} <= {run.id for runs in found.values() for run in runs}
        for queue in QUEUES:
            for priority in Priority:
                lane = [run.claim_at for run in claimed.runs if (run.queue, run.priority) == (queue, priority)]
                assert lane == sorted(lane)
        taken = [self.model.claim(run.id, name, self.now) for run in claimed.runs]
        assert comparable(claimed.runs) == comparable(taken)
        self.claims += taken

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), kinds=st.lists(KINDS, min_size=1, max_size=5), seconds_ago=st.sampled_from([0, 0, 4]))
    def settle(self, data: st.DataObject, kinds: list[OutcomeKind], seconds_ago: int) -> None:
        """Outcomes of claims, those too that are no longer held, decided a while ago."""
        place = st.integers(0, min(len(self.claims), 40) - 1)
        places = data.draw(
            st.lists(place, min_size=1, max_size=len(kinds), unique_by=lambda at: self.claims[-1 - at].id)
        )
        decided = self.now - seconds_ago * SECOND
        batch = [
            after(self.claims[-1 - at], kind, now=decided, retry_after_us=None if kind is OutcomeKind.FAILED else 0)
            for at, kind in zip(places, kinds, strict=False)
        ]
        settled = self.ask(self.store.settle(batch, now=self.now))
        said = {id: word for word in ("written", "changed", "gone") for id in getattr(settled, word)}
        assert said == {settlement.id: self.model.settle(settlement, self.now) for settlement in batch}
        # A worker that hears of a wish decides again with it.
        self.claims += [self.model.runs[id] for id, word in said.items() if word == "changed"]

    @rule(numbers=NUMBERS)
    def cancel(self, numbers: list[int]) -> None:
        """Pending, running, ended and unknown ones."""
        ids = [uid(number) for number in numbers]
        answers = self.ask(self.store.cancel(ids, now=self.now))
        assert answers == {id: self.model.cancel(id, self.now) for id in ids}

    @rule(numbers=NUMBERS, queue=st.sampled_from(QUEUES), seconds=st.integers(-5, 5))
    def edit(self, numbers: list[int], queue: str, seconds: int) -> None:
        """Pending runs move to another lane and time."""
        ids = [uid(number) for number in numbers if uid(number) in self.model.runs]
        if ids:
            due_at = self.now + seconds * SECOND
            edited = self.ask(
                self.store.edit_runs(RunFilter(ids=tuple(ids)), RunEdit(queue=queue, due_at=due_at), now=self.now)
            )
            assert sorted(edited) == sorted(id for id in ids if self.model.edit(id, queue, due_at, self.now))

    @rule(number=st.integers(0, 25))
    def replay(self, number: int) -> None:
        """A run that is dead comes back."""
        run = self.model.runs.get(uid(number))
        if run is None or run.discarded_at is None:
            answers = self.ask(self.store.replay(RunFilter(ids=(uid(number),)), now=self.now))
            assert answers == {uid(number): self.model.replay(uid(number), self.now)}

    @rule(numbers=NUMBERS)
    def discard(self, numbers: list[int]) -> None:
        """Dead runs leave the list."""
        ids = [uid(number) for number in numbers if uid(number) in self.model.runs]
        if ids:
            discarded = self.ask(self.store.discard(RunFilter(ids=tuple(ids)), now=self.now))
            assert sorted(discarded) == sorted(id for id in ids if self.model.discard(id, self.now))

    @rule(queue=st.sampled_from(QUEUES), paused=st.booleans(), limit=st.sampled_from([None, 1, 2]))
    def set_queue(self, queue: str, *, paused: bool, limit: int | None) -> None:
        """Pause and limit."""
        self.ask(self.store.put_queue(Queue(name=queue, paused=paused, concurrency=limit)))
        self.model.limits[queue] = limit
        self.model.paused -= {queue}
        self.model.paused |= {queue} if paused else set()

    @rule(end_leases=st.booleans())
    def rescue(self, *, end_leases: bool) -> None:
        """Overdue leases end, and what was left behind is lost."""
        overdue = {name for name, until in self.model.leases.items() if until < self.now} if end_leases else set()
        for name in overdue:
            del self.model.leases[name]
        self.model.over |= overdue
        lost = self.model.lost(self.model.over)
        rescued = self.ask(self.store.rescue(lose, end_leases=end_leases, now=self.now))
        assert (set(rescued.workers), rescued.runs) == (overdue, len(lost))
        for run in lost:
            assert self.model.settle(after(run, OutcomeKind.LOST, now=self.now), self.now) == "written"

    @rule(name=WORKERS)
    def end_worker(self, name: str) -> None:
        """A worker resigns; another process may take its name here, which no real one does."""
        if self.model.leases.pop(name, None) is not None:
            self.ask(self.store.end_worker(name, now=self.now))
            self.model.over.add(name)

    @rule(days=st.sampled_from([0, 0, 9]))
    def prune(self, days: int) -> None:
        """Only what is over, and has been for a week, goes; what is owed stays."""
        self.now += days * DAY
        while self.ask(self.store.prune(limit=3, now=self.now)):
            pass
        gone = [run for run in self.model.runs.values() if self.ask(self.store.get_run(run.id)) is None]
        for run in gone:
            assert not live(run)
            assert (run.finished_at or 0) + 6 * DAY <= self.now
            del self.model.runs[run.id]

    @invariant()
    def holds_the_same(self) -> None:
        """Every run, in every field that counts."""
        seen = self.ask(self.store.list_runs(RunFilter(), Page(limit=1_000)))
        known = [run for run in self.model.newest_first() if run.discarded_at is None]
        assert comparable(seen) == comparable(known)

    @invariant()
    def counts_the_same(self) -> None:
        """The snapshot agrees with the runs."""
        live_runs = [run for run in self.model.runs.values() if live(run)]
        for queue in self.ask(self.store.snapshot(now=self.now)).queues:
            states = [run.state for run in live_runs if run.queue == queue.name]
            assert (queue.pending, queue.running) == (
                states.count(RunState.PENDING),
                states.count(RunState.RUNNING),
            )


def test_a_store_and_a_dictionary_agree() -> None:
    """Whatever is done to both, in whatever order, they answer and hold the same."""
    run_state_machine_as_test(
        StoreMachine,
        settings=settings(
            max_examples=100, stateful_step_count=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
        ),
    )
