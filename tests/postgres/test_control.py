"""Hands on runs that somebody else has a hand on too: each run takes one way, and every answer is true."""

from __future__ import annotations

import asyncio

import pytest

from puntual.model.attempt import OutcomeKind
from puntual.model.errors import StoreDataError
from puntual.model.run import Priority, RunState
from puntual.store.contract import Store
from puntual.store.postgres import control
from puntual.store.postgres.cancel import cancel
from puntual.store.postgres.enqueue import insert
from puntual.store.postgres.settle import settle_carefully
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Page, RunEdit, RunFilter
from puntual.testing.conformance.build import (
    MINUTE,
    NOW,
    add,
    after,
    cursor_at,
    deciding,
    fetch,
    hand_out,
    join,
    kill,
    named,
    new_run,
    plan_to,
    schedule,
    start,
    take,
    tick,
    tick_run,
    uid,
)
from tests.support.rivals import rival, somebody_waits

NOT_IDS = ("", "x", "0198C1F2-7D3A-7B0E-9C55-3F1D2A4B6C8D", "0198c1f27d3a7b0e9c553f1d2a4b6c8d", "a\0b", "' OR true --")


def _one(number: int = 1) -> RunFilter:
    return RunFilter(ids=(uid(number),))


async def _claim(tx: Tx, number: int = 1) -> None:
    """What a claim writes."""
    claimed = (
        "UPDATE puntual.runs SET state = 'running', attempt = 1, worker = 'w1', claimed_at = $2 WHERE id = $1::uuid"
    )
    await tx.connection.execute(claimed, uid(number), NOW)


class TestCancel:
    """Against claims, settlements and replays."""

    async def test_a_run_that_is_claimed_meanwhile_is_asked(self, store: Store, url: str) -> None:
        """The wish is not lost between the two."""
        await add(store, new_run(1))
        async with rival(url) as tx:
            await _claim(tx)
            cancelling = asyncio.create_task(store.cancel([uid(1)], now=NOW))
            await somebody_waits(tx)
        assert await cancelling == {uid(1): "requested"}
        run = await fetch(store, uid(1))
        assert (run.state, run.cancel_requested) == (RunState.RUNNING, True)

    async def test_a_run_that_is_being_cancelled_is_not_claimed(self, store: Store, url: str) -> None:
        """A claim passes it by."""
        await join(store)
        await add(store, new_run(1), new_run(2))
        async with rival(url) as tx:
            assert await cancel(tx, [uid(1)]) == {uid(1): "cancelled"}
            assert [run.id for run in await take(store)] == [uid(2)]
        assert (await fetch(store, uid(1))).state is RunState.CANCELLED

    async def test_a_run_that_ends_meanwhile_has_ended(self, store: Store, url: str) -> None:
        """It is looked for in history once it is no longer live."""
        (run,) = await start(store, new_run(1))
        async with rival(url) as tx:
            await settle_carefully(tx, [after(run, OutcomeKind.SUCCEEDED)])
            cancelling = asyncio.create_task(store.cancel([uid(1)], now=NOW))
            await somebody_waits(tx)
        assert await cancelling == {uid(1): "ended"}

    async def test_two_cancels_of_the_same_runs_agree(self, store: Store, url: str) -> None:
        """One ends them, the other finds them ended; in whatever order they were named nobody deadlocks."""
        await add(store, *(new_run(number) for number in range(50)))
        ids = [uid(number) for number in range(50)]
        answers = await asyncio.gather(store.cancel(ids, now=NOW), store.cancel(ids[::-1], now=NOW))
        assert all({one[id] for one in answers} == {"cancelled", "ended"} for id in ids)

    async def test_a_schedule_with_a_tick_waiting_is_looked_at(self, store: Store) -> None:
        """The end of its run is what the tick waits for."""
        owner = await hand_out(store, schedule(), 1)
        waiting = cursor_at(1, seen_at=tick(2), look_at=tick(9))
        await store.plan(deciding(lambda seen: plan_to(seen, 1, runs=(), cursor=waiting)), now=tick(2))
        assert await store.cancel([tick_run(owner, 1).id], now=tick(3)) == {tick_run(owner, 1).id: "cancelled"}
        assert (await named(store, owner.name)).cursor.look_at == tick(3)

    async def test_a_schedule_that_is_being_planned_is_not_waited_for(self, store: Store, url: str) -> None:
        """It would be a deadlock with a plan that cancels; its look comes again by itself."""
        owner = await hand_out(store, schedule(), 1)
        async with rival(url) as tx:
            await tx.connection.execute("SELECT FROM puntual.schedules FOR UPDATE")
            run = tick_run(owner, 1).id
            assert await store.cancel([run], now=tick(3)) == {run: "cancelled"}

    @pytest.mark.parametrize("id", NOT_IDS)
    async def test_what_is_no_id_is_missing(self, store: Store, id: str) -> None:
        """Nobody's mistake becomes an error of the database, or an answer about another run."""
        await add(store, new_run(1, id=NOT_IDS[2].lower()))
        assert await store.cancel([id], now=NOW) == {id: "missing"}
        assert await store.replay(RunFilter(ids=(id,)), now=NOW) == {id: "missing"}
        assert await store.discard(RunFilter(ids=(id,)), now=NOW) == []
        assert await store.edit_runs(RunFilter(ids=(id,)), RunEdit(queue="b"), now=NOW) == []
        assert (await store.get_run(id), await store.get_response(id, 1)) == (None, None)


class TestEdit:
    """Of pending runs only."""

    async def test_a_run_that_is_claimed_meanwhile_is_left(self, store: Store, url: str) -> None:
        """The others are changed."""
        await add(store, new_run(1), new_run(2))
        async with rival(url) as tx:
            await _claim(tx)
            editing = asyncio.create_task(
                store.edit_runs(RunFilter(tasks=("task",)), RunEdit(priority=Priority.LOW), now=NOW)
            )
            await somebody_waits(tx)
        assert await editing == [uid(2)]
        assert (await fetch(store, uid(1))).priority is Priority.NORMAL

    async def test_a_run_that_no_longer_matches_is_left(self, store: Store, url: str) -> None:
        """The filter is asked once more of what another has changed."""
        await add(store, new_run(1, queue="a"))
        async with rival(url) as tx:
            assert await control.edit(tx, _one(), RunEdit(queue="b"), None) == [uid(1)]
            editing = asyncio.create_task(store.edit_runs(RunFilter(queues=("a",)), RunEdit(queue="c"), now=NOW))
            await somebody_waits(tx)
        assert await editing == []
        assert (await fetch(store, uid(1))).queue == "b"

    async def test_a_queue_that_nobody_had_is_served(self, store: Store) -> None:
        """Whoever claims from all queues learns of it."""
        await join(store)
        await add(store, new_run(1))
        await store.edit_runs(_one(), RunEdit(queue="brand new"), now=NOW)
        assert [run.queue for run in await take(store)] == ["brand new"]

    async def test_an_instant_beyond_all_time_is_refused(self, store: Store) -> None:
        """As a value, not as a fault of the database."""
        await add(store, new_run(1))
        with pytest.raises(StoreDataError):
            await store.edit_runs(_one(), RunEdit(due_at=2**80), now=NOW)


class TestReplay:
    """Once, and never beside a live run of its key."""

    async def test_of_two_at_once_exactly_one_replays(self, store: Store, url: str) -> None:
        """The other is told that the run is not dead any more."""
        await kill(store, new_run(1))
        async with rival(url) as tx:
            assert await control.replay(tx, _one(), Page(), None) == {uid(1): "replayed"}
            second = asyncio.create_task(store.replay(_one(), now=NOW))
            await somebody_waits(tx)
        assert await second == {uid(1): "not_dead"}
        assert (await fetch(store, uid(1))).max_attempts == 10

    async def test_a_replay_that_was_waited_for_and_undone_counts_for_nothing(self, store: Store, url: str) -> None:
        """The second one replays."""
        await kill(store, new_run(1))
        async with rival(url) as tx:
            undone = tx.connection.transaction()
            await undone.start()
            await control.replay(tx, _one(), Page(), None)
            second = asyncio.create_task(store.replay(_one(), now=NOW))
            await somebody_waits(tx)
            await undone.rollback()
            assert await second == {uid(1): "replayed"}

    async def test_a_key_that_is_taken_meanwhile_holds_it(self, store: Store, url: str) -> None:
        """The answer names the run that has the key, and the dead one stays dead."""
        await kill(store, new_run(1, unique_key="k"))
        async with rival(url) as tx:
            await insert(tx, [new_run(2, unique_key="k")])
            replaying = asyncio.create_task(store.replay(_one(), now=NOW))
            await somebody_waits(tx)
        assert await replaying == {uid(1): f"held_by:{uid(2)}"}
        assert (await fetch(store, uid(1))).state is RunState.DEAD

    async def test_a_key_that_comes_free_meanwhile_is_taken(self, store: Store, url: str) -> None:
        """Whoever held it has ended by the time it is needed."""
        await kill(store, new_run(1, unique_key="k"))
        await add(store, new_run(2, unique_key="k", delay_us=MINUTE))
        async with rival(url) as tx:
            await cancel(tx, [uid(2)])
            replaying = asyncio.create_task(store.replay(_one(), now=NOW))
            await somebody_waits(tx)
        assert await replaying == {uid(1): "replayed"}

    async def test_of_two_dead_runs_of_one_key_the_newer_comes_back(self, store: Store) -> None:
        """And holds the key before the other."""
        await kill(store, new_run(1, unique_key="k"))
        await kill(store, new_run(2, unique_key="k"))
        answers = await store.replay(RunFilter(tasks=("task",)), now=NOW)
        assert answers == {uid(2): "replayed", uid(1): f"held_by:{uid(2)}"}

    async def test_a_run_discarded_meanwhile_is_not_replayed_by_a_filter(self, store: Store, url: str) -> None:
        """What was seen to is left alone, and discarding twice tells it once."""
        await kill(store, new_run(1), new_run(2))
        every = RunFilter(states=(RunState.DEAD,))
        async with rival(url) as tx:
            assert await control.discard(tx, _one(), Page(), None) == [uid(1)]
            replaying = asyncio.create_task(store.replay(every, now=NOW))
            await somebody_waits(tx)
        assert await replaying == {uid(2): "replayed"}
        assert await store.discard(_one(), now=NOW) == []
