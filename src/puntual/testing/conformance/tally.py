"""What tally promises: what went wrong is counted, and nothing else is."""

from __future__ import annotations

import msgspec

from puntual.model.attempt import ErrorInfo, OutcomeKind
from puntual.model.schedule import Fate, FateReason, Stretch
from puntual.store.contract import Store
from puntual.store.requests import LATE_US, MOST_COUNTED, MOST_NAMED, Counted, RunFilter
from puntual.testing.conformance.build import (
    MINUTE,
    NOW,
    SECOND,
    cursor_at,
    deciding,
    end,
    hand_out,
    join,
    kill,
    named,
    new_run,
    plan_to,
    put,
    schedule,
    start,
    take,
    tick,
    tick_run,
    uid,
)

BEFORE = NOW - MINUTE
NOTHING = Counted()
ERROR = ErrorInfo("ValueError", "no luck")


def missed(number: int, count: int, *, at_least: bool = False, fate: Fate = Fate.MISSED) -> Stretch:
    """Ticks that made no run because nothing was there."""
    return Stretch(number, tick(number), tick(number + count - 1), count, at_least, fate, FateReason.DOWN)


class TestTally:
    """Counting what went wrong."""

    async def test_what_goes_well_is_not_counted(self, store: Store) -> None:
        """An empty store, and one in which runs succeed, wait and run, have nothing to tell."""
        one, _ = await start(store, new_run(1), new_run(2))
        await end(store, one)
        await store.enqueue([new_run(3)], now=NOW)
        found = await store.tally(BEFORE, now=NOW)
        assert (found.now, found.dead, found.retrying, found.missed) == (NOW, NOTHING, NOTHING, NOTHING)
        assert (found.late, found.unplanned) == (NOTHING, NOTHING)

    async def test_dead_runs_are_counted_by_their_end(self, store: Store) -> None:
        """Those that ended from ``since`` on and were not discarded, the newest end first."""
        await kill(store, new_run(2), now=BEFORE - SECOND)
        await kill(store, new_run(3), now=NOW - SECOND)
        await kill(store, new_run(1), new_run(4), now=NOW)
        await store.discard(RunFilter(ids=(uid(4),)), now=NOW)
        assert (await store.tally(BEFORE, now=NOW)).dead == Counted(count=2, first=(uid(1), uid(3)))

    async def test_of_many_the_first_are_named(self, store: Store) -> None:
        """All are counted, a hundred named."""
        await kill(store, *(new_run(number) for number in range(MOST_NAMED + 5)))
        found = (await store.tally(BEFORE, now=NOW)).dead
        assert (found.count, found.at_least, len(found.first)) == (MOST_NAMED + 5, False, MOST_NAMED)

    async def test_a_run_that_failed_and_is_tried_again_is_told(self, store: Store) -> None:
        """Pending or running again, whenever it failed; a snoozed run did not fail."""
        one, two = await start(store, new_run(1), new_run(2))
        await end(store, one, OutcomeKind.FAILED, error=ERROR)
        await end(store, two, OutcomeKind.SNOOZED, retry_after_us=MINUTE)
        found = await store.tally(NOW + MINUTE, now=NOW + 2 * MINUTE)
        assert found.retrying == Counted(count=1, first=(uid(1),))
        assert {run.id for run in await take(store, now=NOW + 10 * MINUTE)} >= {uid(1)}
        assert (await store.tally(NOW, now=NOW + 10 * MINUTE)).retrying.first == (uid(1),)

    async def test_missed_ticks_are_counted_in_open_and_closed_stretches(self, store: Store) -> None:
        """By their number; ticks that were skipped or made good are not missed."""
        await put(store, schedule())
        closed = (missed(1, 3), missed(4, 2, fate=Fate.SKIPPED), missed(6, 1, fate=Fate.COALESCED))
        cursor = cursor_at(10, stretch=missed(7, 4))
        await store.plan(
            deciding(lambda seen: msgspec.structs.replace(plan_to(seen, 10), runs=(), stretches=closed, cursor=cursor)),
            now=tick(10),
        )
        assert (await store.tally(NOW, now=tick(11))).missed == Counted(count=7)
        assert (await store.tally(tick(4), now=tick(11))).missed == Counted(count=4)
        assert (await store.tally(tick(11), now=tick(12))).missed == NOTHING

    async def test_what_was_not_counted_out_is_at_least_that_many(self, store: Store) -> None:
        """Beyond the bound, and where the plan itself counted no further."""
        await put(store, schedule("a"), schedule("b"))

        async def miss(name: str, stretch: Stretch) -> None:
            cursor = cursor_at(stretch.number + stretch.count, stretch=stretch)
            owner = await named(store, name)
            move = msgspec.structs.replace(plan_to(owner, 1), runs=(), cursor=cursor)
            await store.plan(deciding(lambda seen: move if seen.name == name else None), now=tick(1))

        await miss("a", missed(1, 5, at_least=True))
        assert (await store.tally(NOW, now=tick(9))).missed == Counted(count=5, at_least=True)
        await miss("b", missed(1, MOST_COUNTED))
        assert (await store.tally(NOW, now=tick(9))).missed == Counted(count=MOST_COUNTED, at_least=True)

    async def test_late_ticks_are_counted_by_their_tick(self, store: Store) -> None:
        """Ended or to be tried again; a minute is not late, and what is not from a tick has none."""
        owner = await hand_out(store, schedule(), 4, now=tick(4))
        assert owner.cursor.last_number == 4
        await store.enqueue([new_run(1, due_at=NOW)], now=NOW)
        await join(store, now=tick(4))
        held = {run.due_at: run for run in await take(store, now=tick(4))}
        for number, lateness in ((1, LATE_US + 1), (2, LATE_US), (3, 3 * MINUTE)):
            kind = OutcomeKind.FAILED if number == 3 else OutcomeKind.SUCCEEDED
            await end(store, held[tick(number)], kind, now=tick(number) + lateness)
        await end(store, held[NOW], now=tick(9))
        late = (await store.tally(NOW, now=tick(20))).late
        ids = tuple(tick_run(owner, number).id for number in (3, 1))
        assert late == Counted(count=2, first=ids)
        assert (await store.tally(tick(2), now=tick(20))).late.first == ids[:1]

    async def test_a_schedule_that_cannot_be_planned_is_named(self, store: Store) -> None:
        """As long as its cursor says why."""
        await put(store, schedule("good"), schedule("bad"))
        bad = await named(store, "bad")
        troubled = msgspec.structs.replace(bad.cursor, trouble="its zone is gone")
        move = msgspec.structs.replace(plan_to(bad, 0), runs=(), cursor=troubled)
        await store.plan(deciding(lambda seen: move if seen.name == "bad" else None), now=tick(1))
        assert (await store.tally(NOW, now=NOW)).unplanned == Counted(count=1, first=("bad",))
