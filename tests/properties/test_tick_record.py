"""Every tick between the creation of a schedule and now stands in its record exactly once, whatever happened meanwhile.

Months pass by hand: planners come and go, runs fail or go on for weeks, schedules are edited and paused, clocks are
set, history is pruned. ``PUNTUAL_TICK_EXAMPLES`` sets how many such lives are tried.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from random import Random

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from puntual.engine.clock import SystemClock
from puntual.model.policy import RetryPolicy
from puntual.model.schedule import MisfirePolicy, Overlap, ScheduleSpec, Target, Tick
from puntual.store.contract import Store
from puntual.store.requests import Retention
from puntual.store.sqlite import SqliteStore
from tests.support.databases import database, opened, server
from tests.support.grids import SECOND, Daily, Expected, Grid, spread_of
from tests.support.hand import Hand

DAY = 86_400 * SECOND
START = 1_774_310_400 * SECOND  # 2026-03-24T00:00:00Z, a few days before clocks change
EXAMPLES = int(os.environ.get("PUNTUAL_TICK_EXAMPLES", "240"))
ZONES = ("UTC", "Europe/Madrid", "America/New_York", "Australia/Lord_Howe")

Rule = Grid | Daily
Op = tuple[str, int]
Edit = tuple[Rule, dict[str, object]]
Drawn = tuple[list[Edit], list[Op], int]
Opening = Callable[[Retention], AbstractAsyncContextManager[Store]]


def bounded(rule: Rule, policies: dict[str, object]) -> dict[str, object]:
    """The policies, with so little grace that what is caught up after years are tens of runs and not thousands."""
    dense = isinstance(rule, Grid) and rule.period <= 3_600
    catches_up = policies["misfire_policy"] is MisfirePolicy.FIRE_ALL
    return {**policies, "misfire_grace_us": 3_600 * SECOND} if dense and catches_up else policies


RULES = st.one_of(
    st.builds(Grid, st.sampled_from([60, 90, 600, 3_600, 25_200]), st.sampled_from([START, START - 7 * SECOND])),
    st.builds(
        Daily,
        st.lists(st.integers(0, 23), min_size=1, max_size=3, unique=True).map(lambda hours: tuple(sorted(hours))),
        st.sampled_from([0, 30, 59]),
        st.lists(st.integers(0, 6), min_size=1, max_size=7, unique=True).map(lambda days: tuple(sorted(days))),
        st.sampled_from(ZONES),
    ),
)
POLICIES = st.fixed_dictionaries(
    {
        "overlap": st.sampled_from(Overlap),
        "misfire_policy": st.sampled_from([MisfirePolicy.FIRE_ONCE, MisfirePolicy.SKIP, MisfirePolicy.FIRE_ALL]),
        "misfire_grace_us": st.sampled_from([None, 0, 3_600 * SECOND, 3 * DAY]),
        "spread_us": st.sampled_from([0, 0, 45 * SECOND]),
        "unique_key": st.sampled_from([None, None, "one"]),
    }
)
EDITS = st.tuples(RULES, POLICIES).map(lambda drawn: (drawn[0], bounded(*drawn)))
#: Seconds: moments, hours, days, and longer than runs, dead runs and the record are kept.
SPANS = st.tuples(st.sampled_from([7, 600, 90_000, 900_000, 8_000_000, 35_000_000]), st.integers(0, 100)).map(
    lambda drawn: drawn[0] + drawn[0] * drawn[1] // 1_000
)
OPS = st.lists(
    st.one_of(
        st.tuples(st.just("live"), st.integers(1, 9)),
        st.tuples(st.just("live"), st.integers(1, 9)),
        st.tuples(st.just("away"), SPANS),
        st.tuples(st.just("away"), SPANS),
        st.tuples(st.just("set_back"), st.sampled_from([1, 30, 4_000, 100_000, 900_000])),
        st.tuples(st.just("edit"), st.integers(0, 7)),
        st.tuples(st.sampled_from(["pause", "pause_all"]), st.one_of(st.just(0), SPANS)),
        st.tuples(st.sampled_from(["hand_out", "hold"]), st.integers(0, 4)),
        st.tuples(st.sampled_from(["resume", "resume_all", "cancel", "replay", "end_all"]), st.just(0)),
        st.tuples(st.just("prune"), st.just(0)),
        st.tuples(st.just("expire"), st.integers(0, 20)),
    ),
    min_size=8,
    max_size=30,
)
LIVES = st.tuples(st.lists(EDITS, min_size=1, max_size=4), OPS, st.integers(0, 2**16))


class Life:
    """A schedule from its creation on, and what its record has to say."""

    def __init__(self, store: Store, edits: Sequence[Edit], ticks_us: int, seed: int) -> None:
        self._edits = edits
        self._rule, policies = edits[0]
        spec = ScheduleSpec(name="job", timetable=self._rule.timetable, source={}, target=Target("task"))
        spec = msgspec.structs.replace(spec, retry=RetryPolicy(max_attempts=2), **policies)
        self._spread = spread_of("job", spec.spread_us)
        self.hand = Hand(store, spec, START, Random(seed))
        self._ticks_us = ticks_us
        self._since = START
        #: The rules that are over, each with where it began and its last tick.
        self._reigns: list[tuple[Rule, int, int]] = []
        self._kept_since = 0

    async def do(self, ops: Sequence[Op]) -> None:
        """All of it, checking the record at each prune and in the end."""
        hand = self.hand
        await hand.begin()
        for name, size in ops:
            own = getattr(self, f"_{name}", None)
            await (getattr(hand, name)() if own is None else own(size))
        await hand.resume_all()
        await hand.end_all()
        await hand.live()
        await self.check()

    async def _live(self, ticks: int) -> None:
        for _ in range(ticks):
            await self._to_next(0)
            await self.hand.live()

    async def _away(self, seconds: int) -> None:
        self.hand.now += seconds * SECOND
        await self.hand.live()

    async def _set_back(self, seconds: int) -> None:
        await self._away(-seconds)

    async def _hand_out(self, seconds: int) -> None:
        await self._to_next(seconds)
        await self.hand.plan()

    async def _hold(self, seconds: int) -> None:
        await self._hand_out(seconds)
        await self.hand.hold()

    async def _edit(self, which: int) -> None:
        await self._perhaps_hand_out(which)
        rule, policies = self._edits[which // 2 % len(self._edits)]
        if await self.hand.edit(timetable=rule.timetable, **policies):
            await self._new_reign(rule, policies)
        await self.check()

    async def _pause(self, seconds: int) -> None:
        await self._perhaps_hand_out(seconds)
        await self.hand.pause(self.hand.now + seconds * SECOND if seconds else None)
        await self._new_reign(self._rule, None)

    async def _pause_all(self, seconds: int) -> None:
        await self.hand.pause_all(self.hand.now + seconds * SECOND if seconds else None)

    async def _perhaps_hand_out(self, number: int) -> None:
        """Half of all edits come when the run of the next tick has been planned ahead."""
        if number % 2:
            await self._hand_out(2)

    async def _expire(self, which: int) -> None:
        """Prunes at the last moment at which a certain row must still be there."""
        rows = await self.hand.record()
        if rows:
            self.hand.now = max(self.hand.now, rows[which % len(rows)].last_tick_at + self._ticks_us - 1)
            await self.hand.live()
            await self._prune(0)

    async def _prune(self, _nothing: int) -> None:
        await self.hand.prune()
        self._kept_since = max(self._kept_since, self.hand.now - self._ticks_us)
        await self.check()

    async def _to_next(self, seconds: int) -> None:
        """It is so long before the next tick, if it is not later already."""
        due = (await self.hand.schedule()).cursor.next_due_at
        self.hand.now = max(self.hand.now, (due or 0) - seconds * SECOND)

    async def _new_reign(self, rule: Rule, policies: dict[str, object] | None) -> None:
        """The rule that stood is over: nothing that it owed is left; the next begins with what is due after now."""
        last = (await self.hand.schedule()).cursor.last_tick_at
        owed = self._rule.ticks(max(self._since, last), self.hand.now - self._spread)
        assert not owed, f"{owed[0]} was owed when the rule ended"
        self._reigns.append((self._rule, self._since, last))
        # Where the clock was set back, an edit may take back what an earlier rule had handed out.
        self._reigns = [(rule, since, min(until, last)) for rule, since, until in self._reigns]
        self._rule = rule
        if policies is not None:
            self._spread = spread_of("job", int(str(policies["spread_us"])))
        self._since = max(last, self.hand.now - self._spread)

    async def check(self) -> None:
        """Compares the record with what the rules say."""
        schedule = await self.hand.schedule()
        cursor = schedule.cursor
        parts = [rule.ticks(since, until) for rule, since, until in self._reigns]
        parts.append(self._rule.ticks(self._since, cursor.last_tick_at))
        expected = Expected(parts)
        covered(await self.hand.record(), expected, self._kept_since)
        ahead = self._rule.ticks(
            max(self._since, cursor.last_tick_at), max(cursor.last_tick_at, self.hand.now) + 400 * DAY
        )
        assert cursor.next_tick_at == ahead[0], "the cursor does not stand at the first tick that is left"


def covered(rows: Sequence[Tick], expected: Expected, kept_since: int) -> None:
    """The rows are these ticks, each once; only such as need not be kept any longer may be missing."""
    place, number = 0, 1
    for row in rows:
        first, last = expected.place(row.tick_at), expected.place(row.last_tick_at)
        if first == place:
            assert row.number == number, f"number {number} is missing from the record, or stands twice"
        assert first >= place, f"{row.tick_at} stands twice"
        assert first == place or expected[first - 1] < kept_since, f"{expected[first - 1]} is not in the record"
        assert last - first + 1 == row.count or (row.at_least and last - first + 1 > row.count)
        place, number = last + 1, row.number + row.count
    assert place == len(expected) or expected[len(expected) - 1] < kept_since, f"{expected[place]} is not in the record"


@asynccontextmanager
async def on_sqlite(retention: Retention) -> AsyncIterator[Store]:
    """An empty store in memory."""
    store = SqliteStore(":memory:", clock=SystemClock(), retention=retention, inline=True)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def on_postgres(retention: Retention) -> AsyncIterator[Store]:
    """An empty database of the tests' server."""
    async with database() as url, opened(url, retention=retention) as store:
        yield store


async def live_through(opening: Opening, life: Drawn) -> None:
    """One life on a store of its own."""
    edits, ops, seed = life
    retention = Retention()
    async with opening(retention) as store:
        await Life(store, edits, retention.ticks_us, seed).do(ops)


@pytest.mark.timeout(60 + EXAMPLES)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(life=LIVES)
def test_every_tick_is_covered_exactly_once(life: Drawn) -> None:
    """Against an enumeration of the rules by the calendar alone, across every retention."""
    asyncio.run(live_through(on_sqlite, life))


@pytest.fixture(scope="module")
def _server() -> None:
    """The server outlives every test here, so it is there before the first one is watched for leaks."""
    server()


@pytest.mark.timeout(60 + EXAMPLES)
@pytest.mark.usefixtures("_server")
@settings(max_examples=max(EXAMPLES // 40, 1), deadline=None, suppress_health_check=list(HealthCheck))
@given(life=LIVES)
def test_every_tick_is_covered_exactly_once_on_postgres(life: Drawn) -> None:
    """The same in a database that keeps each day of history apart."""
    asyncio.run(live_through(on_postgres, life))
