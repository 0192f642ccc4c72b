"""What rescue promises: what is overdue ends, and the runs left behind are settled; and the upkeep lease's."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from puntual.model.attempt import OutcomeKind
from puntual.model.run import RunState
from puntual.model.transitions import release
from puntual.store.contract import Store
from puntual.store.requests import Lost, Settlement
from puntual.testing.conformance.build import (
    DAY,
    FOREVER,
    LEASE,
    MINUTE,
    NOW,
    SECOND,
    add,
    end,
    failing,
    fetch,
    join,
    lose,
    new_run,
    start,
    take,
    uid,
    worker,
)

OVERDUE = NOW + LEASE + SECOND


class _Watcher:
    """Decides as ``lose`` and keeps what it was shown."""

    def __init__(self) -> None:
        self.seen: list[Lost] = []

    def __call__(self, losts: Sequence[Lost], now: int) -> list[Settlement]:
        self.seen += losts
        return lose(losts, now)


class TestRescue:
    """Leases that have run out."""

    async def test_an_overdue_lease_ends_and_its_runs_are_settled(self, store: Store) -> None:
        """The worker is over, and its run has one more attempt, lost and charged."""
        await start(store, new_run(1))
        rescued = await store.rescue(lose, ends_until=FOREVER, now=OVERDUE)
        assert (rescued.workers, rescued.runs) == (("w1",), 1)
        run = await fetch(store, uid(1))
        assert (run.state, run.lost, run.charged, run.worker) == (RunState.PENDING, 1, 1, None)
        assert [attempt.outcome for attempt in run.attempts] == [OutcomeKind.LOST]
        assert await store.list_workers() == []

    async def test_a_live_lease_is_left_alone(self, store: Store) -> None:
        """Neither the worker nor its runs change before the lease has run out."""
        (run,) = await start(store, new_run(1))
        rescued = await store.rescue(lose, ends_until=FOREVER, now=NOW + LEASE - 1)
        assert (rescued.workers, rescued.runs) == ((), 0)
        assert await fetch(store, uid(1)) == run

    async def test_only_the_dead_worker_loses_its_runs(self, store: Store) -> None:
        """Others beside it are not touched."""
        (lost,) = await start(store, new_run(1), name="w1")
        (kept,) = await start(store, new_run(2), name="w2", now=NOW + LEASE)
        rescued = await store.rescue(lose, ends_until=FOREVER, now=OVERDUE)
        assert (rescued.workers, rescued.runs) == (("w1",), 1)
        assert (await fetch(store, lost.id)).state is RunState.PENDING
        assert await fetch(store, kept.id) == kept

    async def test_decide_is_told_when_the_lease_ran_out(self, store: Store) -> None:
        """By itself, not when rescue came."""
        (run,) = await start(store, new_run(1))
        watcher = _Watcher()
        await store.rescue(watcher, ends_until=FOREVER, now=OVERDUE + MINUTE)
        assert watcher.seen == [Lost(run=run, lease_ended_at=NOW + LEASE)]

    async def test_what_decide_says_is_written(self, store: Store) -> None:
        """A run that cannot have been started is released instead."""

        def give_back(losts: Sequence[Lost], now: int) -> list[Settlement]:
            return [
                Settlement(
                    id=lost.run.id,
                    attempt=lost.run.attempt,
                    worker=lost.run.worker or "",
                    cancel_seen=lost.run.cancel_requested,
                    transition=release(lost.run, cancel_requested=False, now=now),
                )
                for lost in losts
            ]

        await start(store, new_run(1))
        await store.rescue(give_back, ends_until=FOREVER, now=OVERDUE)
        run = await fetch(store, uid(1))
        assert (run.state, run.released, run.lost, run.attempts) == (RunState.PENDING, 1, 0, ())

    async def test_spent_attempts_end_in_death(self, store: Store) -> None:
        """No loss grants another attempt."""
        await start(store, new_run(1, max_attempts=1))
        await store.rescue(lose, ends_until=FOREVER, now=OVERDUE)
        assert (await fetch(store, uid(1))).state is RunState.DEAD

    async def test_a_cancel_asked_is_seen(self, store: Store) -> None:
        """A lost run that should stop is cancelled."""
        await start(store, new_run(1))
        await store.cancel([uid(1)], now=NOW)
        await store.rescue(lose, ends_until=FOREVER, now=OVERDUE)
        assert (await fetch(store, uid(1))).state is RunState.CANCELLED

    async def test_the_lost_worker_cannot_settle_any_more(self, store: Store) -> None:
        """Its late outcome is no longer wanted, whoever holds the run now."""
        (run,) = await start(store, new_run(1))
        await store.rescue(lose, ends_until=FOREVER, now=OVERDUE)
        assert (await end(store, run, now=OVERDUE)).gone == (uid(1),)
        assert (await fetch(store, uid(1))).state is RunState.PENDING

    async def test_a_second_rescue_finds_nothing(self, store: Store) -> None:
        """Doing it twice charges once."""
        await start(store, new_run(1))
        await store.rescue(lose, ends_until=FOREVER, now=OVERDUE)
        rescued = await store.rescue(lose, ends_until=FOREVER, now=OVERDUE)
        assert (rescued.workers, rescued.runs) == ((), 0)
        assert (await fetch(store, uid(1))).attempt == 1

    async def test_concurrent_rescues_charge_once(self, store: Store) -> None:
        """Any number of workers may do it at once."""
        await start(store, *(new_run(number) for number in range(20)))
        answers = await asyncio.gather(*(store.rescue(lose, ends_until=FOREVER, now=OVERDUE) for _ in range(5)))
        assert sum(rescued.runs for rescued in answers) == 20
        assert all([(await fetch(store, uid(number))).lost == 1 for number in range(20)])

    async def test_the_claims_of_a_worker_that_resigned_are_taken(self, store: Store) -> None:
        """Even when no lease may be ended: its own is over already."""
        await start(store, new_run(1))
        await store.end_worker("w1", now=NOW)
        assert (await store.rescue(lose, ends_until=None, now=NOW)).runs == 1
        assert (await fetch(store, uid(1))).state is RunState.PENDING

    async def test_the_claims_of_a_worker_that_nobody_remembers_are_taken(self, store: Store) -> None:
        """Its row may be long gone when rescue comes at last."""
        await start(store, new_run(1))
        await store.end_worker("w1", now=NOW)
        await store.prune(now=NOW + 30 * DAY)
        assert (await store.rescue(lose, ends_until=None, now=NOW + 30 * DAY)).runs == 1
        assert (await fetch(store, uid(1))).state is RunState.PENDING

    async def test_a_lease_ends_once(self, store: Store) -> None:
        """Resigning again does not move the end that ``decide`` is told."""
        await start(store, new_run(1))
        await store.end_worker("w1", now=NOW + SECOND)
        await store.end_worker("w1", now=NOW + 5 * SECOND)
        watcher = _Watcher()
        await store.rescue(watcher, ends_until=FOREVER, now=NOW + MINUTE)
        assert [lost.lease_ended_at for lost in watcher.seen] == [NOW + SECOND]

    async def test_without_ending_leases_the_overdue_are_spared(self, store: Store) -> None:
        """A rescuer that was away itself ends no lease yet."""
        await start(store, new_run(1))
        rescued = await store.rescue(lose, ends_until=None, now=OVERDUE)
        assert (rescued.workers, rescued.runs) == ((), 0)
        assert len(await store.list_workers()) == 1

    async def test_the_limit_bounds_a_round_and_the_next_goes_on(self, store: Store) -> None:
        """No run is forgotten because its worker ended in an earlier round."""
        await start(store, *(new_run(number) for number in range(10)))
        rounds = [(await store.rescue(lose, limit=4, ends_until=FOREVER, now=OVERDUE)).runs for _ in range(4)]
        assert rounds == [4, 4, 2, 0]

    async def test_they_are_taken_in_the_order_of_their_ids(self, store: Store) -> None:
        """So that each round begins where the one before ended, whatever stands in the way."""
        await start(store, *(new_run(number) for number in (5, 3, 1, 4, 2)))
        watcher = _Watcher()
        while (await store.rescue(watcher, limit=2, ends_until=OVERDUE, now=OVERDUE)).full:
            pass
        assert [lost.run.id for lost in watcher.seen] == [uid(number) for number in range(1, 6)]

    async def test_what_cannot_be_settled_is_dead(self, store: Store) -> None:
        """A settlement that the database refuses would come again in every round, so the run ends with the reason."""

        def unwritable(losts: Sequence[Lost], now: int) -> list[Settlement]:
            good = lose(losts, now)
            bad = msgspec.structs.replace(good[0].transition, claim_at=2**80)
            return [msgspec.structs.replace(good[0], transition=bad), *good[1:]]

        await start(store, *(new_run(number) for number in range(3)))
        rescued = await store.rescue(unwritable, ends_until=OVERDUE, now=OVERDUE)
        assert (rescued.runs, rescued.full, rescued.now) == (3, False, OVERDUE)
        dead = await fetch(store, uid(0))
        assert (dead.state, dead.reason) == (RunState.DEAD, "error")
        assert dead.attempts[-1].error is not None
        assert [(await fetch(store, uid(number))).state for number in (1, 2)] == [RunState.PENDING] * 2

    async def test_a_decide_that_raises_leaves_everything(self, store: Store) -> None:
        """Neither lease nor run is touched."""
        (run,) = await start(store, new_run(1))
        with pytest.raises(ZeroDivisionError):
            await store.rescue(failing, ends_until=FOREVER, now=OVERDUE)
        assert await fetch(store, uid(1)) == run
        assert len(await store.list_workers()) == 1

    async def test_a_lease_later_than_possible_counts_from_now(self, store: Store) -> None:
        """After a clock that stepped back, a dead worker's runs wait one lease and not for the old time to come."""
        await start(store, new_run(1), now=NOW + 60 * MINUTE)
        assert (await store.rescue(lose, ends_until=FOREVER, now=NOW)).workers == ()
        assert (await store.rescue(lose, ends_until=FOREVER, now=OVERDUE)).workers == ("w1",)
        assert (await fetch(store, uid(1))).state is RunState.PENDING

    async def test_a_registered_worker_that_holds_nothing_ends_too(self, store: Store) -> None:
        """Overdue rows go, with or without runs."""
        await join(store, "w1", "w2")
        assert sorted((await store.rescue(lose, ends_until=FOREVER, now=OVERDUE)).workers) == ["w1", "w2"]

    async def test_renewed_in_time_is_not_overdue(self, store: Store) -> None:
        """A renewal between two rescues counts."""
        await start(store, new_run(1))
        await store.register_worker(worker(), lease_us=LEASE, now=NOW + LEASE)
        assert (await store.rescue(lose, ends_until=FOREVER, now=OVERDUE)).runs == 0

    async def test_a_rescued_run_is_claimed_by_another(self, store: Store) -> None:
        """It comes back with the next attempt number."""
        await start(store, new_run(1))
        await store.rescue(lose, ends_until=FOREVER, now=OVERDUE)
        await join(store, "w2", now=OVERDUE)
        waiting = await fetch(store, uid(1))
        (run,) = await take(store, "w2", now=waiting.claim_at)
        assert (run.attempt, run.worker) == (2, "w2")


class TestUpkeepLease:
    """Who does the upkeep."""

    async def test_one_holder_at_a_time(self, store: Store) -> None:
        """Another one waits until the lease has run out."""
        assert await store.hold_upkeep("a", lease_us=LEASE, now=NOW)
        assert not await store.hold_upkeep("b", lease_us=LEASE, now=NOW + LEASE - 1)
        assert await store.hold_upkeep("b", lease_us=LEASE, now=NOW + LEASE + 1)
        assert not await store.hold_upkeep("a", lease_us=LEASE, now=NOW + LEASE + 2)

    async def test_the_holder_renews(self, store: Store) -> None:
        """Holding on moves the end."""
        await store.hold_upkeep("a", lease_us=LEASE, now=NOW)
        assert await store.hold_upkeep("a", lease_us=LEASE, now=NOW + LEASE - 1)
        assert not await store.hold_upkeep("b", lease_us=LEASE, now=NOW + LEASE + 1)
        assert (await store.snapshot(now=NOW)).upkeep_until == NOW + 2 * LEASE - 1

    async def test_a_resigned_lease_is_free(self, store: Store) -> None:
        """The next one takes it at once."""
        await store.hold_upkeep("a", lease_us=LEASE, now=NOW)
        await store.resign_upkeep("a")
        assert await store.hold_upkeep("b", lease_us=LEASE, now=NOW)

    async def test_whoever_is_patient_waits_longer(self, store: Store) -> None:
        """A free lease is left for those who should have it, until it has been free for a while."""
        await store.hold_upkeep("a", lease_us=LEASE, now=NOW)
        over = NOW + LEASE
        assert not await store.hold_upkeep("b", lease_us=LEASE, patience_us=MINUTE, now=over + MINUTE - 1)
        assert await store.hold_upkeep("b", lease_us=LEASE, patience_us=MINUTE, now=over + MINUTE)
        assert await store.hold_upkeep("b", lease_us=LEASE, patience_us=MINUTE, now=over + MINUTE + 1)

    async def test_a_lease_never_held_is_free_for_the_patient_too(self, store: Store) -> None:
        """Nobody has had it since ever."""
        assert await store.hold_upkeep("a", lease_us=LEASE, patience_us=DAY, now=NOW)

    async def test_only_the_holder_resigns(self, store: Store) -> None:
        """Another's resignation changes nothing."""
        await store.hold_upkeep("a", lease_us=LEASE, now=NOW)
        await store.resign_upkeep("b")
        assert not await store.hold_upkeep("b", lease_us=LEASE, now=NOW)

    async def test_of_many_at_once_one_holds(self, store: Store) -> None:
        """Concurrent candidates agree."""
        answers = await asyncio.gather(*(store.hold_upkeep(f"h{n}", lease_us=LEASE, now=NOW) for n in range(10)))
        assert sum(answers) == 1

    async def test_work_waits_for_no_upkeep(self, store: Store) -> None:
        """Claims go on while nobody holds it."""
        await join(store)
        await add(store, new_run(1))
        assert len(await take(store)) == 1
