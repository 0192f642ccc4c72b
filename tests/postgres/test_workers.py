"""Leases under contention: what rescue and heartbeats make of each other, and of a second rescue."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import closing

from puntual.model.run import RunState
from puntual.store.contract import Store
from puntual.store.postgres import workers
from puntual.store.requests import Beat, BeatReply, Lost, Page, RunFilter, Settlement
from puntual.testing.conformance.build import (
    FOREVER,
    LEASE,
    MINUTE,
    NOW,
    SECOND,
    end,
    fetch,
    join,
    lose,
    new_run,
    start,
    uid,
)
from tests.support.rivals import rival, somebody_waits

OVERDUE = NOW + LEASE + SECOND
BEAT = Beat(worker="w1", lease_us=LEASE, held=1)


async def _beat(store: Store) -> BeatReply:
    def beat() -> BeatReply:
        with closing(store.heartbeat_line()) as line:
            return line.beat(BEAT)

    return await asyncio.to_thread(beat)


class TestHeartbeatAgainstRescue:
    """Whoever has the row first is right."""

    async def test_rescue_leaves_a_lease_whose_heartbeat_is_in_flight(self, store: Store, url: str) -> None:
        """It waits for nobody, ends the other leases, and the run of the one that was late goes on."""
        (run,) = await start(store, new_run(1))
        await join(store, "w2")
        async with rival(url, now=OVERDUE) as tx:
            assert (await workers.beat(tx, BEAT)).alive
            during = await store.rescue(lose, ends_until=FOREVER, now=OVERDUE)
        after = await store.rescue(lose, ends_until=FOREVER, now=OVERDUE)
        assert (during.workers, during.runs, after.workers, after.runs) == (("w2",), 0, (), 0)
        assert await fetch(store, uid(1)) == run

    async def test_a_heartbeat_waits_for_rescue_and_is_told(self, store: Store, url: str) -> None:
        """It renews nothing once rescue has ended the lease."""
        await start(store, new_run(1))
        async with rival(url, now=OVERDUE) as tx:
            assert (await workers.rescue(tx, lose, 500, FOREVER)).workers == ("w1",)
            beating = asyncio.create_task(_beat(store))
            await somebody_waits(tx)
        reply = await beating
        assert (reply.alive, reply.lease_until, reply.claims) == (False, 0, None)
        assert await store.list_workers() == []

    async def test_a_heartbeat_answers_what_a_rescue_that_failed_left(self, store: Store, url: str) -> None:
        """Whoever was waited for may come to nothing."""
        await start(store, new_run(1))
        async with rival(url, now=OVERDUE) as tx:
            undone = tx.connection.transaction()
            await undone.start()
            await workers.rescue(tx, lose, 500, FOREVER)
            beating = asyncio.create_task(_beat(store))
            await somebody_waits(tx)
            await undone.rollback()
            assert (await beating).alive

    async def test_a_run_that_its_worker_settles_is_left_to_it(self, store: Store, url: str) -> None:
        """Rescue passes by what is locked, and finds it gone the next time."""
        one, _ = await start(store, new_run(1), new_run(2))
        async with rival(url, now=OVERDUE) as tx:
            await tx.connection.execute("SELECT FROM puntual.runs WHERE id = $1::uuid FOR UPDATE", one.id)
            rescued = await store.rescue(lose, ends_until=FOREVER, now=OVERDUE)
            assert (rescued.workers, rescued.runs) == (("w1",), 1)
        assert (await end(store, one, now=OVERDUE)).written == (one.id,)
        assert (await store.rescue(lose, ends_until=FOREVER, now=OVERDUE)).runs == 0

    async def test_a_lease_a_moment_later_than_rescues_clock_is_left_alone(self, store: Store, url: str) -> None:
        """A heartbeat that read the clock after rescue did is not taken for one from before a step back."""
        await join(store, now=await store.now())
        reply = await _beat(store)
        async with rival(url, now=reply.now - SECOND) as tx:
            tx.given = None
            await workers.rescue(tx, lose, 500, FOREVER)
        assert [found.lease_until for found in await store.list_workers()] == [reply.lease_until]


class TestTwoRescues:
    """Doing it twice at once charges once."""

    async def test_the_second_passes_by_the_leases_that_the_first_ends(self, store: Store, url: str) -> None:
        """One names the worker, its runs are settled once, and nobody waits."""
        await start(store, *(new_run(number) for number in range(4)))
        async with rival(url, now=OVERDUE) as tx:
            first = await workers.rescue(tx, lose, 500, FOREVER)
            second = await store.rescue(lose, ends_until=FOREVER, now=OVERDUE)
        assert (first.workers, first.runs) == (("w1",), 4)
        assert (second.workers, second.runs) == ((), 0)
        assert [(await fetch(store, uid(number))).lost for number in range(4)] == [1] * 4

    async def test_what_one_holds_the_other_passes_by(self, store: Store, url: str) -> None:
        """They share the runs of a worker that is over."""
        await start(store, *(new_run(number) for number in range(6)))
        await store.end_worker("w1", now=NOW)
        async with rival(url, now=OVERDUE) as tx:
            first = await workers.rescue(tx, lose, 4, None)
            second = await store.rescue(lose, limit=4, ends_until=None, now=OVERDUE)
        assert (first.runs, first.full, second.runs, second.full) == (4, True, 2, False)
        assert [(await fetch(store, uid(number))).lost for number in range(6)] == [1] * 6

    async def test_overdue_leases_of_many_end_in_one_order(self, store: Store) -> None:
        """However many rescue at once, each lease is ended by one of them and nobody deadlocks."""
        await join(store, *(f"w{number}" for number in range(40)))
        answers = await asyncio.gather(*(store.rescue(lose, ends_until=FOREVER, now=OVERDUE) for _ in range(6)))
        assert sorted(name for answer in answers for name in answer.workers) == sorted(f"w{n}" for n in range(40))


class TestUnreadable:
    """Rows that a hand in the database has spoilt."""

    async def test_a_lost_run_that_cannot_be_read_is_dead(self, store: Store, url: str) -> None:
        """The others of its worker are settled as ever."""
        await start(store, new_run(1), new_run(2))
        async with rival(url) as tx:
            spoil = "UPDATE puntual.runs SET policy = '{\"retry\": 7}' WHERE id = $1::uuid"
            await tx.connection.execute(spoil, uid(1))
        seen: list[str] = []

        def watch(losts: Sequence[Lost], now: int) -> list[Settlement]:
            seen.extend(lost.run.id for lost in losts)
            return lose(losts, now)

        rescued = await store.rescue(watch, ends_until=FOREVER, now=OVERDUE)
        assert (rescued.runs, seen) == (2, [uid(2)])
        (dead,) = (await store.list_runs(RunFilter(states=(RunState.DEAD,)), Page())).items
        assert dead.id == uid(1)


class TestUpkeepLease:
    """One guarded row."""

    async def test_whoever_waits_for_the_holder_is_refused(self, store: Store, url: str) -> None:
        """A candidate that meets a holder's write reads it again."""
        async with rival(url) as tx:
            assert await workers.hold_upkeep(tx, "a", LEASE, 0)
            second = asyncio.create_task(store.hold_upkeep("b", lease_us=LEASE, now=NOW))
            await somebody_waits(tx)
        assert not await second

    async def test_a_renewal_that_was_waited_for_counts(self, store: Store, url: str) -> None:
        """A lease that was free when the candidate came is not taken once its holder has renewed it."""
        await store.hold_upkeep("a", lease_us=LEASE, now=NOW)
        async with rival(url, now=NOW + MINUTE) as tx:
            assert await workers.hold_upkeep(tx, "a", LEASE, 0)
            second = asyncio.create_task(store.hold_upkeep("b", lease_us=LEASE, now=NOW + MINUTE))
            await somebody_waits(tx)
        assert not await second
        assert await store.hold_upkeep("a", lease_us=LEASE, now=NOW + MINUTE)
