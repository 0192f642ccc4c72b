"""Claims by the database's own clock: how many statements they take, where they look, and what they obey."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from typing import TypeAlias

import asyncpg
import pytest

from puntual.model.attempt import OutcomeKind
from puntual.model.run import Priority, Run, RunState
from puntual.model.schedule import Pause
from puntual.store.postgres import PostgresStore
from puntual.store.postgres import lanes as lanes_module
from puntual.store.postgres.lanes import Lanes
from puntual.store.postgres.taking import mixed
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Claimed, QueueEdit
from puntual.testing.conformance.build import after, join, new_run, uid, wanting
from tests.support.databases import opened
from tests.support.runs import claimed as claimed_run

SECOND = 1_000_000
#: So many that a claim of 10 finds a deep backlog in each shard.
MANY = range(2_000)
#: The shard from which the claims of ``w1`` start.
HOME = 20

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


@pytest.fixture
async def store(url: str) -> AsyncIterator[PostgresStore]:
    """An open store, with the worker ``w1``."""
    async with opened(url) as store:
        await join(store, now=await store.now(), lease_us=600 * SECOND)
        yield store


@pytest.fixture
async def look(url: str) -> AsyncIterator[Connection]:
    """A connection of somebody else's."""
    connection = await asyncpg.connect(url)
    yield connection
    await connection.close()


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the statements that claims send."""
    sent: list[str] = []
    rows, text = Tx.rows, Tx.text

    async def noting_rows(tx: Tx, name: str, *parameters: object) -> list[asyncpg.Record]:
        sent.append(name)
        return await rows(tx, name, *parameters)

    async def noting_text(tx: Tx, name: str, *parameters: object) -> str:
        sent.append(name)
        return await text(tx, name, *parameters)

    monkeypatch.setattr(Tx, "rows", noting_rows)
    monkeypatch.setattr(Tx, "text", noting_text)
    return sent


async def _claim(store: PostgresStore, **changes: object) -> Claimed:
    return await store.claim(wanting("w1", **changes))


async def _deep(store: PostgresStore, statements: list[str], **changes: object) -> None:
    """Makes a deep backlog known to the store, and forgets what that took."""
    await store.enqueue([new_run(number, **changes) for number in MANY])
    await _claim(store, limit=10)
    statements.clear()


def _shards(runs: Sequence[Run]) -> list[int]:
    return [int(run.id[-2:], 16) & 31 for run in runs]


class TestStatements:
    """What is sent, and when."""

    async def test_an_idle_poll_is_one_statement_and_writes_nothing(
        self, store: PostgresStore, statements: list[str], look: Connection
    ) -> None:
        """It looks at every lane and takes no transaction number."""
        await store.enqueue([new_run(1, delay_us=600 * SECOND)])
        await _claim(store)
        await _claim(store)
        statements.clear()
        before = await look.fetchval("SELECT pg_snapshot_xmax(pg_current_snapshot())::text")
        for _ in range(5):
            assert (await _claim(store)).runs == ()
        assert statements == ["claim_lanes"] * 5
        assert await look.fetchval("SELECT pg_snapshot_xmax(pg_current_snapshot())::text") == before

    async def test_the_poll_after_a_hint_takes_the_run_in_one_statement(
        self, store: PostgresStore, statements: list[str]
    ) -> None:
        """It need not know beforehand that there is one."""
        await store.enqueue([new_run(1, delay_us=600 * SECOND)])
        await _claim(store)
        await store.enqueue([new_run(2)])
        statements.clear()
        assert [run.id for run in (await _claim(store)).runs] == [uid(2)]
        assert statements == ["claim_lanes"]

    async def test_a_queue_that_was_never_met_is_found_at_once(self, store: PostgresStore) -> None:
        """By a claimer who takes from every queue."""
        await _claim(store)
        await store.enqueue([new_run(1, queue="new")])
        assert len((await _claim(store)).runs) == 1

    async def test_claims_from_a_deep_backlog_are_one_statement_each(
        self, store: PostgresStore, statements: list[str]
    ) -> None:
        """From the claimer's own shard, and one in eight in order over all of them."""
        await _deep(store, statements)
        taken = [(await _claim(store, limit=10)).runs for _ in range(8)]
        assert all(len(runs) == 10 for runs in taken)
        assert Counter(statements) == {"claim_near": 7, "claim_lanes": 1}
        near = [runs for runs, name in zip(taken, statements, strict=True) if name == "claim_near"]
        assert {shard for runs in near[:3] for shard in _shards(runs)} == {HOME}

    async def test_the_end_of_a_backlog_is_found(self, store: PostgresStore, statements: list[str]) -> None:
        """Claim after claim takes everything, none of it twice."""
        await _deep(store, statements)
        ids: list[str] = []
        while runs := (await _claim(store, limit=90)).runs:
            ids += [run.id for run in runs]
        assert len(ids) == len(set(ids)) == len(MANY) - 10


class TestNear:
    """Claims from what is remembered obey everything as it is now."""

    async def test_what_waited_a_second_longer_elsewhere_goes_first(
        self, store: PostgresStore, statements: list[str], look: Connection
    ) -> None:
        """Whatever shard is near."""
        await store.enqueue([new_run(number) for number in MANY])
        earlier = "UPDATE puntual.runs SET claim_at = claim_at - $1 WHERE shard = $2"
        await look.execute(earlier, 3 * SECOND, HOME - 1)
        await _claim(store, limit=10)
        statements.clear()
        assert set(_shards((await _claim(store, limit=10)).runs)) == {HOME - 1}
        assert statements == ["claim_near"]

    async def test_a_pause_of_everything_is_seen(self, store: PostgresStore, statements: list[str]) -> None:
        """Nothing is taken after it was written."""
        await _deep(store, statements)
        await store.pause_all(Pause(since=await store.now()))
        assert (await _claim(store, limit=10)).runs == ()

    async def test_a_queue_that_was_paused_or_limited_is_left(
        self, store: PostgresStore, statements: list[str]
    ) -> None:
        """It was neither when it was looked at."""
        await _deep(store, statements)
        await store.put_queue(QueueEdit(name="default", paused=True))
        assert (await _claim(store, limit=10)).runs == ()
        await store.put_queue(QueueEdit(name="default", paused=False, concurrency=12))
        assert len((await _claim(store, limit=10)).runs) == 2

    async def test_a_worker_that_drains_or_is_over_gets_nothing(
        self, store: PostgresStore, statements: list[str]
    ) -> None:
        """Its lease is looked at in each claim."""
        await _deep(store, statements)
        await store.drain_worker("w1")
        answer = await _claim(store, limit=10)
        assert (answer.runs, answer.lost_lease) == ((), False)
        await store.end_worker("w1")
        answer = await _claim(store, limit=10)
        assert (answer.runs, answer.lost_lease) == ((), True)

    async def test_classes_have_their_shares(self, store: PostgresStore, statements: list[str]) -> None:
        """Critical and low share 12 : 3 of 15, as high's and normal's turns pass down, and critical starts first."""
        await store.enqueue([new_run(number, priority=Priority.CRITICAL) for number in MANY])
        await store.enqueue([new_run(10_000 + number, priority=Priority.LOW) for number in MANY])
        await _claim(store, limit=15)
        statements.clear()
        runs = (await _claim(store, limit=30)).runs
        taken = Counter(run.priority for run in runs)
        assert statements == ["claim_near"]
        assert taken == {Priority.CRITICAL: 16, Priority.LOW: 14}
        assert runs[0].priority is Priority.CRITICAL

    async def test_bytes_bound_it(self, store: PostgresStore, statements: list[str]) -> None:
        """As many as fit, and one in any case; the next claim goes on."""
        await _deep(store, statements, args='"' + "x" * 998 + '"')
        assert len((await _claim(store, limit=10, max_bytes=3_500)).runs) == 3
        assert len((await _claim(store, limit=10, max_bytes=1)).runs) == 1
        assert statements == ["claim_near"] * 2

    def test_classes_are_mixed_evenly(self) -> None:
        """What was taken class by class is started in turn."""
        runs = [claimed_run(n, priority=Priority.CRITICAL) for n in range(4)]
        runs += [claimed_run(n, priority=Priority.LOW) for n in range(4, 6)]
        assert [run.priority for run in mixed(runs)] == [0, 3, 0, 0, 3, 0]


async def _twenty(store: PostgresStore, name: str) -> list[str]:
    """The ids of twenty runs, got by as few claims as it takes; each of at most five takes what others leave."""
    ids: list[str] = []
    for _ in range(5):
        claimed = await store.claim(wanting(name, limit=20 - len(ids)))
        ids += [run.id for run in claimed.runs]
        if len(ids) == 20:
            break
    return ids


class TestMany:
    """Many claimers at once."""

    async def test_claimers_that_meet_are_all_served(self, store: PostgresStore) -> None:
        """Each gets all that it wanted, in a claim or in the next ones, and none gets what another has."""
        names = [f"w{number}" for number in range(16)]
        await join(store, *names, now=await store.now(), lease_us=600 * SECOND)
        await store.enqueue([new_run(number) for number in MANY])
        for _ in range(3):
            taken = await asyncio.gather(*(_twenty(store, name) for name in names))
            assert [len(ids) for ids in taken] == [20] * 16
            assert len({id for ids in taken for id in ids}) == 16 * 20

    async def test_sixteen_claimers_never_overshoot_a_limit(self, url: str, look: Connection) -> None:
        """Each with connections of its own, while runs end and are put back all the time."""
        limit, total = 7, 150
        async with AsyncExitStack() as stack:
            stores = [await stack.enter_async_context(opened(url)) for _ in range(16)]
            names = [f"w{number}" for number in range(16)]
            await join(stores[0], *names, now=await stores[0].now(), lease_us=600 * SECOND)
            await stores[0].put_queue(QueueEdit(name="default", concurrency=limit))
            await stores[0].enqueue([new_run(number) for number in range(total)])
            done: set[str] = set()
            most = 0

            async def work(store: PostgresStore, name: str) -> None:
                while len(done) < total:
                    answer = await store.claim(wanting(name, limit=3))
                    for run in answer.runs:
                        kind = (
                            OutcomeKind.SUCCEEDED if run.attempt > 1 or run.id[-1] in "01234567" else OutcomeKind.FAILED
                        )
                        write = after(run, kind, now=answer.now, retry_after_us=0)
                        assert (await store.settle([write])).written == (run.id,)
                        done.update({run.id} if kind is OutcomeKind.SUCCEEDED else ())

            async def watch() -> None:
                nonlocal most
                while len(done) < total:
                    count = await look.fetchval("SELECT count(*) FROM puntual.runs WHERE state = 'running'")
                    most = max(most, count)

            await asyncio.gather(watch(), *(work(store, name) for store, name in zip(stores, names, strict=True)))
        assert 0 < most <= limit

    async def test_limited_queues_that_nobody_here_serves_are_no_matter(self, store: PostgresStore) -> None:
        """Nor are those that never had a run."""
        await store.put_queue(QueueEdit(name="other", concurrency=3))
        await store.put_queue(QueueEdit(name="unused", concurrency=3))
        await store.enqueue([new_run(1, queue="other"), new_run(2)])
        for _ in range(2):
            await store.enqueue([new_run(2)])
            assert [run.id for run in (await _claim(store, queues=("default",))).runs] in ([uid(2)], [])
        assert [run.id for run in (await _claim(store)).runs] == [uid(1)]

    async def test_a_claim_says_what_time_it_is(self, store: PostgresStore) -> None:
        """Whatever statement filled it: a worker goes by that time when it starts what it has taken."""
        await store.put_queue(QueueEdit(name="default", concurrency=100))
        await store.enqueue([new_run(number) for number in range(8)])
        for _ in range(8):
            taken = await _claim(store, limit=1)
            assert [run.claimed_at for run in taken.runs] == [taken.now]

    async def test_limited_and_other_queues_share(self, store: PostgresStore, statements: list[str]) -> None:
        """A backlog without a limit does not keep limited runs waiting, nor they it."""
        await store.put_queue(QueueEdit(name="slow", concurrency=1_000))
        await store.enqueue([new_run(10_000 + number, queue="slow") for number in range(500)])
        await _deep(store, statements)
        taken: Counter[str] = Counter()
        for _ in range(6):
            taken.update(run.queue for run in (await _claim(store, limit=20)).runs)
        assert taken["slow"] >= 20
        assert taken["default"] >= 20


class TestFloorsInUse:
    """What is remembered is never taken for more than it is."""

    async def _with_floors(self, store: PostgresStore, look: Connection) -> None:
        """A first claim, and a second one that may rely on what the first one noted."""
        lanes = store._claims._lanes(wanting())
        await _claim(store)
        lanes.floors = [await store.now() - SECOND] * len(lanes.floors)
        await look.execute(
            "INSERT INTO puntual.runs (id, task, args, queue, priority, max_attempts, claim_at) "
            "VALUES ($1, 'task', '{}', 'default', 2, 5, 1000)",
            uid(7),
        )

    async def test_a_sweep_finds_what_lies_below_a_floor_and_says_so(
        self, store: PostgresStore, look: Connection
    ) -> None:
        """As a hand in the database may leave it."""
        await store.enqueue([new_run(1, delay_us=600 * SECOND)])
        await self._with_floors(store, look)
        assert (await _claim(store)).runs == ()
        answer = await _claim(store, sweep=True)
        assert ([run.id for run in answer.runs], answer.overlooked) == ([uid(7)], 1)

    async def test_another_server_is_met_without_them(self, store: PostgresStore, look: Connection) -> None:
        """After a failover runs may be there that were claimed before."""
        await store.enqueue([new_run(1, delay_us=600 * SECOND)])
        await self._with_floors(store, look)
        store._claims.forget()
        assert [run.id for run in (await _claim(store)).runs] == [uid(7)]

    async def test_runs_of_other_tasks_hold_no_floor(
        self, store: PostgresStore, look: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """However long they wait, a claimer of other tasks does not read past them again and again."""
        await store.enqueue([new_run(number, task="other") for number in range(100)])
        monkeypatch.setattr(lanes_module, "_NOTE_US", 0)
        lanes: Lanes = store._claims._lanes(wanting())
        for _ in range(3):
            lanes.deep = True  # A busy claimer's looks take numbers.
            await _claim(store)
        newest: int = await look.fetchval("SELECT max(claim_at) FROM puntual.runs")
        assert newest - SECOND < min(lanes.floors) < newest

    async def test_a_row_that_cannot_be_read_is_dead_and_blocks_nobody(
        self, store: PostgresStore, look: Connection
    ) -> None:
        """It says why."""
        await store.enqueue([new_run(number) for number in range(3)])
        await look.execute('UPDATE puntual.runs SET policy = \'{"on_lost_lease":"newer"}\' WHERE id = $1', uid(1))
        assert {run.id for run in (await _claim(store)).runs} == {uid(0), uid(2)}
        (dead,) = await look.fetch("SELECT * FROM puntual.run_history WHERE id = $1", uid(1))
        assert (dead["state"], dead["reason"], "newer" in dead["attempts"]) == (RunState.DEAD, "error", True)
