"""What leases promise: one that is late is renewed, one that rescue ended stays over."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing, contextmanager

from puntual.model.run import RunState
from puntual.store.contract import HeartbeatLine, Store
from puntual.store.requests import Beat, BeatReply
from puntual.testing.conformance.build import (
    FOREVER,
    LEASE,
    MINUTE,
    NOW,
    SECOND,
    add,
    end,
    fetch,
    join,
    lose,
    new_run,
    take,
    uid,
    wanting,
    worker,
)


@contextmanager
def _line(store: Store) -> Iterator[HeartbeatLine]:
    with closing(store.heartbeat_line()) as line:
        yield line


async def _beat(store: Store, name: str = "w1", *, held: int = 0, compare: bool = False) -> BeatReply:
    """One heartbeat over a line and on a thread of its own; heartbeats go by the store's own clock."""

    def beat() -> BeatReply:
        with _line(store) as line:
            return line.beat(Beat(worker=name, lease_us=LEASE, held=held, compare=compare))

    return await asyncio.to_thread(beat)


async def _clock(store: Store) -> int:
    """The store's own time."""
    return (await store.snapshot()).now


class TestWorkers:
    """Registering, draining, resigning."""

    async def test_a_worker_is_registered_with_its_lease(self, store: Store) -> None:
        """The answer says until when, and the list shows the worker."""
        assert await store.register_worker(worker(queues=("a",)), lease_us=LEASE, now=NOW) == NOW + LEASE
        (found,) = await store.list_workers()
        assert (found.id, found.host, found.pid, found.lease_until) == ("w1", "host", 1, NOW + LEASE)
        assert (found.roles, found.queues, found.tasks, found.concurrency) == (("worker",), ("a",), ("task",), 10)
        assert not found.draining

    async def test_registering_again_renews(self, store: Store) -> None:
        """A repeat after a lost answer is one worker with a later lease."""
        await join(store)
        assert await store.register_worker(worker(), lease_us=LEASE, now=NOW + SECOND) == NOW + SECOND + LEASE
        assert len(await store.list_workers()) == 1

    async def test_a_worker_that_nobody_knows_claims_nothing(self, store: Store) -> None:
        """Without a lease there is no claim, and the worker is told."""
        await add(store, new_run(1))
        answer = await store.claim(wanting("stranger"), now=NOW)
        assert (answer.runs, answer.lost_lease) == ((), True)

    async def test_a_draining_worker_claims_nothing(self, store: Store) -> None:
        """It keeps its lease and what it holds."""
        await join(store)
        await add(store, new_run(1))
        (run,) = await take(store)
        await add(store, new_run(2))
        assert await store.drain_worker("w1")
        answer = await store.claim(wanting(), now=NOW)
        assert (answer.runs, answer.lost_lease) == ((), False)
        assert (await end(store, run)).written == (uid(1),)
        assert [found.draining for found in await store.list_workers()] == [True]

    async def test_draining_nobody_is_told(self, store: Store) -> None:
        """Neither an unknown worker nor one that is over can drain."""
        await join(store)
        await store.end_worker("w1", now=NOW)
        assert not await store.drain_worker("stranger")
        assert not await store.drain_worker("w1")

    async def test_a_worker_that_resigned_is_over(self, store: Store) -> None:
        """It is not listed and claims nothing any more."""
        await join(store)
        await add(store, new_run(1))
        await store.end_worker("w1", now=NOW)
        assert await store.list_workers() == []
        answer = await store.claim(wanting(), now=NOW)
        assert (answer.runs, answer.lost_lease) == ((), True)

    async def test_registering_does_not_revive(self, store: Store) -> None:
        """A repeat that comes after the end changes nothing: a new start has a new id."""
        await join(store)
        await store.end_worker("w1", now=NOW)
        await join(store)
        assert await store.list_workers() == []
        assert (await store.claim(wanting(), now=NOW)).lost_lease

    async def test_an_overdue_worker_still_claims_until_rescue_ends_it(self, store: Store) -> None:
        """Time alone ends no lease."""
        await join(store)
        await add(store, new_run(1), now=NOW + MINUTE)
        assert len(await take(store, now=NOW + MINUTE)) == 1


class TestHeartbeats:
    """The line of one worker."""

    async def test_a_heartbeat_renews(self, store: Store) -> None:
        """The lease runs from the store's now."""
        now = await _clock(store)
        await join(store, now=now - SECOND)
        reply = await _beat(store)
        assert reply.alive
        assert reply.lease_until >= now + LEASE
        assert [found.lease_until for found in await store.list_workers()] == [reply.lease_until]

    async def test_a_late_heartbeat_renews(self, store: Store) -> None:
        """A lease that has run out is not over until rescue says so."""
        now = await _clock(store)
        await join(store, now=now - 10 * MINUTE)
        reply = await _beat(store)
        assert (reply.alive, reply.lease_until >= now + LEASE) == (True, True)
        assert (await store.rescue(lose, ends_until=FOREVER, now=now + SECOND)).workers == ()

    async def test_a_lease_that_is_over_stays_over(self, store: Store) -> None:
        """No heartbeat brings it back."""
        now = await _clock(store)
        await join(store, now=now - 10 * MINUTE)
        await store.rescue(lose, ends_until=FOREVER, now=now)
        assert [(await _beat(store)).alive for _ in range(2)] == [False, False]
        assert await store.list_workers() == []

    async def test_a_worker_that_resigned_is_not_revived(self, store: Store) -> None:
        """Not by a heartbeat that was on its way."""
        now = await _clock(store)
        await join(store, now=now)
        await store.end_worker("w1", now=now)
        assert not (await _beat(store)).alive
        assert await store.list_workers() == []

    async def test_a_stranger_is_not_alive(self, store: Store) -> None:
        """A worker without a row is told to start again."""
        assert not (await _beat(store, "stranger")).alive

    async def test_a_drain_is_told(self, store: Store) -> None:
        """The worker learns that it shall drain."""
        await join(store, now=await _clock(store))
        assert not (await _beat(store)).draining
        await store.drain_worker("w1")
        assert (await _beat(store)).draining

    async def test_cancels_are_told_for_as_long_as_they_run(self, store: Store) -> None:
        """Each heartbeat carries the wishes of the runs that this worker holds, and no others."""
        now = await _clock(store)
        await join(store, "w1", "w2", now=now)
        await add(store, new_run(1), new_run(2), now=now)
        (mine,) = await take(store, "w1", limit=1, now=now)
        (other,) = await take(store, "w2", limit=1, now=now)
        await store.cancel([mine.id, other.id], now=now)
        assert [(await _beat(store, held=1)).cancels for _ in range(2)] == [(mine.id,), (mine.id,)]
        await end(store, await fetch(store, mine.id), now=now)
        assert (await _beat(store)).cancels == ()

    async def test_equal_counts_bring_no_list(self, store: Store) -> None:
        """Nothing to compare while both count the same."""
        now = await _clock(store)
        await join(store, now=now)
        await add(store, new_run(1), now=now)
        await take(store, now=now)
        assert (await _beat(store, held=1)).claims is None

    async def test_counts_that_differ_bring_the_list(self, store: Store) -> None:
        """A claim whose answer was lost is found: every (id, attempt) that the store holds for the worker."""
        now = await _clock(store)
        await join(store, "w1", "w2", now=now)
        await add(store, *(new_run(number) for number in range(4)), now=now)
        mine = await take(store, "w1", limit=3, now=now)
        await take(store, "w2", now=now)
        reply = await _beat(store, held=0)
        assert reply.claims is not None
        assert sorted(reply.claims) == sorted((run.id, run.attempt) for run in mine)

    async def test_a_list_can_be_asked_for(self, store: Store) -> None:
        """An empty one too, which is not the same as none."""
        await join(store, now=await _clock(store))
        assert (await _beat(store, compare=True)).claims == ()

    async def test_a_line_beats_many_times_and_closes_twice(self, store: Store) -> None:
        """One connection serves a worker's life; closing it again does nothing."""
        await join(store, now=await _clock(store))

        def beats() -> bool:
            with _line(store) as line:
                alive = [line.beat(Beat(worker="w1", lease_us=LEASE, held=0)).alive for _ in range(10)]
                line.close()
                return all(alive)

        assert await asyncio.to_thread(beats)

    async def test_a_drained_or_late_worker_keeps_its_runs(self, store: Store) -> None:
        """Neither changes the runs that it holds."""
        now = await _clock(store)
        await join(store, now=now - 10 * MINUTE)
        await add(store, new_run(1), now=now)
        await take(store, now=now)
        await store.drain_worker("w1")
        await _beat(store, held=1)
        assert (await fetch(store, uid(1))).state is RunState.RUNNING
