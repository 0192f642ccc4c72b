"""Any sequence of operations leaves in each store what it leaves in a dictionary."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import ClassVar, TypeVar

import asyncpg
import msgspec
import pytest
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
from puntual.model.policy import RetryPolicy, RunPolicy
from puntual.model.run import NewRun, Priority, Run, RunState
from puntual.store.contract import Store
from puntual.store.requests import ClaimRequest, Page, QueueEdit, Retention, RunEdit, RunFilter
from puntual.store.sqlite import SqliteStore
from puntual.testing.conformance.build import DAY, NOW, SECOND, after, lose, new_run, uid, wanting, worker
from tests.support.databases import database, opened
from tests.support.store_model import StoreModel, comparable, live

Answer = TypeVar("Answer")

#: Instants here are whole seconds, so that no lease ends on one.
LEASE = 15 * SECOND + 1
POLICY = RunPolicy(retry=RetryPolicy(max_attempts=2, delay_us=2 * SECOND, jitter=False))
QUEUES = ("a", "b")
NUMBERS = st.lists(st.integers(0, 40), min_size=1, max_size=6, unique=True)
#: Of the runs or workers that there are, one counted from the newest.
PLACE = st.integers(0, 30)
PLACES = st.lists(PLACE, min_size=1, max_size=4, unique=True)
KINDS = st.sampled_from(OutcomeKind)
_TABLES = """SELECT string_agg(quote_ident(schemaname) || '.' || quote_ident(tablename), ', ') FROM pg_tables
WHERE schemaname = 'puntual' AND tablename <> 'schema_migrations'"""


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


@asynccontextmanager
async def _on_sqlite() -> AsyncIterator[Store]:
    store = SqliteStore(":memory:", clock=SystemClock(), retention=Retention(), inline=True)
    await store.open()
    yield store
    await store.close()


@asynccontextmanager
async def _on_postgres(url: str) -> AsyncIterator[Store]:
    async with opened(url) as store:
        connection = await asyncpg.connect(url)
        tables = await connection.fetchval(_TABLES)
        await connection.execute(f"TRUNCATE {tables}")
        await connection.close()
        yield store


class StoreMachine(RuleBasedStateMachine):
    """Random operations on a store and on its model."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.Runner()
        self.opening = self.open_empty()
        self.model = StoreModel()
        self.claims: list[Run] = []
        self.now = NOW

    def open_empty(self) -> AbstractAsyncContextManager[Store]:
        """An empty store, open while inside."""
        return _on_sqlite()

    def worker(self, place: int) -> str:
        """A worker that lives, or now and then one that does not."""
        names = sorted(self.model.leases) if place % 7 else sorted(self.model.over)
        return names[place % len(names)] if names else "stranger"

    def ids(self, places: list[int]) -> list[str]:
        """Some of the runs, those that run before the others."""
        known = sorted(self.model.runs.values(), key=lambda run: (run.state is not RunState.RUNNING, run.id))
        return sorted({known[place % len(known)].id for place in places}) if known else []

    def ask(self, operation: Coroutine[object, object, Answer]) -> Answer:
        """Waits for an operation."""
        return self.loop.run(operation)

    @initialize(keyed=st.booleans())
    def opens(self, *, keyed: bool) -> None:
        """A store with workers and work."""
        self.store = self.ask(self.opening.__aenter__())
        for name in ("w0", "w1", "w2"):
            self.renew(name)
        for number in range(0, 30, 6):
            self.enqueue([*range(number, number + 4)], QUEUES[number % 2], "k" if keyed else None, 0)

    def teardown(self) -> None:
        """Nothing stays open."""
        self.ask(self.opening.__aexit__(None, None, None))
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
        stood = (self.model.runs.get(run.id) for run in runs)
        repeat = any(run is not None and not live(run) for run in stood)
        answers = self.ask(self.store.enqueue(runs, repeat=repeat, now=self.now))
        assert answers == [self.model.enqueue(run, self.now) for run in runs]

    @rule(word=st.sampled_from(["come", "renew", "resign", "rescue", "rescue", "spare", "prune", "queue"]), place=PLACE)
    def house(self, word: str, place: int) -> None:
        """Workers come, go on and resign; the upkeep does its duties; a queue gets other settings."""
        name = f"w{len(self.model.over) + len(self.model.leases)}" if word == "come" else self.worker(place)
        if word in {"come", "renew"}:
            self.renew(name)
        elif word == "resign" and len(self.model.leases) > 1:
            self.ask(self.store.end_worker(name, now=self.now))
            self.model.over |= {name} if self.model.leases.pop(name, None) else set()
        elif word in {"rescue", "spare"}:
            self.rescue(end_leases=word == "rescue")
        elif word == "prune":
            self.now += place % 3 * 5 * DAY
            self.prune()
        elif word == "queue":
            self.set_queue(QUEUES[place % 2], paused=place % 5 == 0, limit=(None, 1, 2)[place % 3])

    def renew(self, name: str) -> None:
        """A lease goes on from now, unless it is over."""
        if name not in self.model.over:
            until = self.ask(self.store.register_worker(worker(name), lease_us=LEASE, now=self.now))
            assert until == self.now + LEASE
            self.model.leases[name] = until

    @rule(
        place=PLACE,
        limit=st.sampled_from([1, 3, 50]),
        alone=st.sampled_from([False, False, False, True]),
        queues=st.sampled_from([None, None, ("a",), QUEUES]),
        kinds=st.lists(KINDS, max_size=8),
    )
    def work(
        self, place: int, limit: int, *, alone: bool, queues: tuple[str, ...] | None, kinds: list[OutcomeKind]
    ) -> None:
        """Claims as many as there are and as are allowed, and settles some of them at once."""
        tasks = ("task",) if place % 5 == 4 else ("task", "other")
        request = wanting(self.worker(place), limit=limit, alone=alone, queues=queues, tasks=tasks)
        taken = self.claim(msgspec.structs.replace(request, ahead_us=place % 2 * 3 * SECOND))
        self.settle(list(zip(taken, kinds, strict=False)), self.now)

    def claim(self, request: ClaimRequest) -> list[Run]:
        """What the store gives is what the model allows, in its order."""
        claimed = self.ask(self.store.claim(request, now=self.now))
        known = request.worker in self.model.leases
        assert claimed.lost_lease != known
        found = self.model.claimable(request, self.now) if known else {}
        room = sum(min(len(runs), self.model.room(queue)) for queue, runs in found.items())
        assert len(claimed.runs) == min(request.limit, room)
        assert {run.id for run in claimed.runs} <= {run.id for runs in found.values() for run in runs}
        for queue in QUEUES:
            for priority in Priority:
                lane = [run.claim_at for run in claimed.runs if (run.queue, run.priority) == (queue, priority)]
                assert lane == sorted(lane)
        taken = [self.model.claim(run.id, request.worker, self.now) for run in claimed.runs]
        assert comparable(claimed.runs) == comparable(taken)
        self.claims += taken
        return taken

    @precondition(lambda self: self.claims)
    @rule(places=PLACES, kind=KINDS, seconds_ago=st.sampled_from([0, 0, 4]))
    def settle_late(self, places: list[int], kind: OutcomeKind, seconds_ago: int) -> None:
        """Outcomes of claims, those too that are no longer held, decided a while ago."""
        claims = {run.id: run for run in (self.claims[-1 - place % len(self.claims)] for place in places)}
        self.settle([(run, kind) for run in claims.values()], self.now - seconds_ago * SECOND)

    def settle(self, ended: list[tuple[Run, OutcomeKind]], decided: int) -> None:
        """The guard says of each what the model says."""
        batch = [
            after(run, kind, now=decided, retry_after_us=None if kind is OutcomeKind.FAILED else 0)
            for run, kind in ended
        ]
        settled = self.ask(self.store.settle(batch, now=self.now))
        said = {id: word for word in ("written", "changed", "gone") for id in getattr(settled, word)}
        assert said == {settlement.id: self.model.settle(settlement, self.now) for settlement in batch}
        # A worker that hears of a wish decides again with it.
        self.claims += [self.model.runs[id] for id, word in said.items() if word == "changed"]

    @rule(word=st.sampled_from(["cancel", "edit", "replay", "discard"]), places=PLACES, moved=st.integers(-5, 5))
    def hands(self, word: str, places: list[int], moved: int) -> None:
        """What people do to some runs, or to all that are dead."""
        ids = self.ids(places)
        dead = [run.id for run in self.model.runs.values() if run.state is RunState.DEAD]
        if word == "cancel":
            self.cancel([*ids, uid(1_000)])
        elif word == "edit" and ids:
            self.edit(ids, QUEUES[moved % 2], self.now + moved * SECOND)
        elif word == "replay":
            self.replay(dead or ids)
        elif word == "discard" and ids:
            self.discard(dead[:2] or ids)

    def cancel(self, ids: list[str]) -> None:
        """Each is answered as its state asks for."""
        answers = self.ask(self.store.cancel(ids, now=self.now))
        assert answers == {id: self.model.cancel(id, self.now) for id in ids}

    def edit(self, ids: list[str], queue: str, due_at: int) -> None:
        """Pending runs move to another lane and time."""
        edit = RunEdit(queue=queue, due_at=due_at)
        edited = self.ask(self.store.edit_runs(RunFilter(ids=tuple(ids)), edit, now=self.now))
        assert sorted(edited) == [id for id in ids if self.model.edit(id, queue, due_at, self.now)]

    def replay(self, ids: list[str]) -> None:
        """Runs that are dead come back, one after the other."""
        for id in ids:
            if self.model.runs[id].discarded_at is None:
                answers = self.ask(self.store.replay(RunFilter(ids=(id,)), now=self.now))
                assert answers == {id: self.model.replay(id, self.now)}

    def discard(self, ids: list[str]) -> None:
        """Dead runs leave the list."""
        discarded = self.ask(self.store.discard(RunFilter(ids=tuple(ids)), now=self.now))
        assert sorted(discarded) == sorted(id for id in ids if self.model.discard(id, self.now))

    def set_queue(self, queue: str, *, paused: bool, limit: int | None) -> None:
        """Pause and limit."""
        self.ask(self.store.put_queue(QueueEdit(name=queue, paused=paused, concurrency=limit)))
        self.model.limits[queue] = limit
        self.model.paused -= {queue}
        self.model.paused |= {queue} if paused else set()

    def rescue(self, *, end_leases: bool) -> None:
        """Overdue leases end, and what was left behind is lost."""
        overdue = {name for name, until in self.model.leases.items() if until < self.now} if end_leases else set()
        for name in overdue:
            del self.model.leases[name]
        self.model.over |= overdue
        lost = self.model.lost(self.model.over)
        rescued = self.ask(self.store.rescue(lose, ends_until=2**62 if end_leases else None, now=self.now))
        assert (set(rescued.workers), rescued.runs) == (overdue, len(lost))
        for run in lost:
            assert self.model.settle(after(run, OutcomeKind.LOST, now=self.now), self.now) == "written"

    def prune(self) -> None:
        """Only what is over, and has been for a week, goes; what is owed stays."""
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
        seen = self.ask(self.store.list_runs(RunFilter(), Page(limit=1_000))).items
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


class PostgresMachine(StoreMachine):
    """The same on PostgreSQL."""

    url: ClassVar[str]

    def open_empty(self) -> AbstractAsyncContextManager[Store]:
        """What is left of the example before is taken away."""
        return _on_postgres(self.url)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The URL of a database with our schema."""
    made = database()
    with asyncio.Runner() as runner:
        yield runner.run(made.__aenter__())
        runner.run(made.__aexit__(None, None, None))


def _compare(machine: type[StoreMachine], examples: int) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples, stateful_step_count=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
        ),
    )


def test_sqlite_and_a_dictionary_agree() -> None:
    """Whatever is done to both, in whatever order, they answer and hold the same."""
    _compare(StoreMachine, 100)


def test_postgresql_and_a_dictionary_agree(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same sequences, and so the same answers as on SQLite."""
    monkeypatch.setattr(PostgresMachine, "url", url, raising=False)
    _compare(PostgresMachine, 25)
