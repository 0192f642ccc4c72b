"""Each overlap policy in a store, while runs go on for long, fail and are tried again, or do not hear a cancel.

Ticks are the minutes; somebody looks each second.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from random import Random

import pytest

from puntual.engine.clock import SystemClock
from puntual.model.attempt import OutcomeKind
from puntual.model.policy import Backoff, RetryPolicy
from puntual.model.run import RunState
from puntual.model.schedule import Fate, FateReason, Overlap, Target, Tick
from puntual.store.contract import Store
from puntual.store.requests import Retention
from puntual.store.sqlite import SqliteStore
from tests.support.hand import Hand
from tests.support.plans import SECOND, START, every

RETRY = RetryPolicy(max_attempts=3, delay_us=90 * SECOND, backoff=Backoff.FIXED, jitter=False)
OVERLAP = (Fate.SKIPPED, FateReason.OVERLAP)
RAN = (Fate.RAN, None)


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    """An empty store in memory."""
    made = SqliteStore(":memory:", clock=SystemClock(), retention=Retention(), inline=True)
    await made.open()
    yield made
    await made.close()


class Minutes:
    """A schedule of every minute.

    Args:
        store: where it is.
        overlap: its policy.
        ends: by second, how all that is held then comes out; what is claimed at other times ends at once, well.
    """

    def __init__(self, store: Store, overlap: Overlap, ends: Mapping[int, OutcomeKind]) -> None:
        self._store = store
        self.hand = Hand(store, every(60, overlap=overlap, retry=RETRY, target=Target("task")), START, Random(0))
        self._ends = ends
        #: When each tick began, by minute: more than once where it was tried again.
        self.begun: list[tuple[int, int]] = []
        self.most = 0

    async def until(self, last: int) -> list[Tick]:
        """Lives through so many seconds; gives the record."""
        await self.hand.begin()
        for second in range(last + 1):
            self.hand.now = START + second * SECOND
            if (kind := self._ends.get(second)) is not None:
                for run in self.hand.held:
                    await self.hand.end(run, kind)
            while await self._turn(second):
                pass
        return await self.hand.record()

    async def _turn(self, second: int) -> bool:
        before = {run.id for run in self.hand.held}
        await self.hand.plan()
        await self.hand.hold(0)
        fresh = [run for run in self.hand.held if run.id not in before]
        self.begun += [(((run.tick_at or 0) - START) // 60 // SECOND, second) for run in fresh]
        self.most = max(self.most, len(self.hand.held))
        if not any(later > second for later in self._ends):
            for run in self.hand.held:
                await self.hand.end(run)
        return bool(fresh)


@pytest.mark.parametrize(
    ("overlap", "begun", "fates"),
    [
        (Overlap.SKIP, [(1, 60), (5, 300), (6, 360)], [RAN, OVERLAP, RAN, RAN]),
        (Overlap.BUFFER_ONE, [(1, 60), (2, 270), (5, 300), (6, 360)], [RAN, RAN, OVERLAP, RAN, RAN]),
        (Overlap.BUFFER_ALL, [(1, 60), (2, 270), (3, 270), (4, 270), (5, 300), (6, 360)], [RAN] * 6),
        (Overlap.CANCEL_OTHER, [(1, 60), (2, 270), (3, 270), (4, 270), (5, 300), (6, 360)], [RAN] * 6),
        (Overlap.ALLOW_ALL, [(minute, minute * 60) for minute in range(1, 7)], [RAN] * 6),
    ],
)
async def test_under_a_run_of_three_and_a_half_minutes(
    store: Store, overlap: Overlap, begun: list[tuple[int, int]], fates: list[tuple[Fate, FateReason | None]]
) -> None:
    """Each tick begins when its policy says, and those that do not begin are one stretch."""
    minutes = Minutes(store, overlap, {270: OutcomeKind.SUCCEEDED})
    rows = await minutes.until(370)
    assert minutes.begun == begun
    assert [(row.fate, row.reason) for row in rows] == fates
    assert (minutes.most > 1) == (overlap is Overlap.ALLOW_ALL)


@pytest.mark.parametrize("overlap", [Overlap.SKIP, Overlap.BUFFER_ALL])
async def test_a_run_that_waits_for_its_retry_is_live(store: Store, overlap: Overlap) -> None:
    """Between its attempts no tick overtakes it; all of them are one tick, which ran."""
    minutes = Minutes(store, overlap, {70: OutcomeKind.FAILED, 165: OutcomeKind.SUCCEEDED})
    rows = await minutes.until(250)
    skip = overlap is Overlap.SKIP
    assert minutes.begun == [(1, 60), (1, 160), *([] if skip else [(2, 165)]), (3, 180), (4, 240)]
    assert [(row.fate, row.reason) for row in rows] == [RAN, OVERLAP if skip else RAN, RAN, RAN]


async def test_a_dead_run_holds_up_nothing(store: Store) -> None:
    """Its attempts are spent: the next tick runs as if it had succeeded, and its own has run."""
    ends = dict.fromkeys((70, 165, 260), OutcomeKind.FAILED)
    minutes = Minutes(store, Overlap.SKIP, ends)
    rows = await minutes.until(310)
    assert [(row.fate, row.reason, row.run_state) for row in rows] == [
        (*RAN, RunState.DEAD),
        (*OVERLAP, None),
        (*RAN, RunState.SUCCEEDED),
    ]
    assert minutes.begun[-1] == (5, 300)


async def test_cancel_other_waits_for_a_run_that_does_not_hear_it(store: Store) -> None:
    """It is asked and goes on for an hour; nothing runs beside it, and every tick comes after it, none twice."""
    minutes = Minutes(store, Overlap.CANCEL_OTHER, {3_630: OutcomeKind.FAILED})
    rows = await minutes.until(3_700)
    assert minutes.most == 1
    assert minutes.begun[:2] == [(1, 60), (2, 3_630)]
    assert sorted(tick for tick, _ in minutes.begun) == list(range(1, 62))
    assert {(row.fate, row.reason) for row in rows} == {RAN}
    first = rows[0]
    # It failed, and was to stop: that is no failure to try again.
    assert (first.tick_at, first.run_state) == (START + 60 * SECOND, RunState.CANCELLED)
