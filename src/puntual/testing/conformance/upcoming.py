"""What is promised of pending runs by the minute: those that can be claimed in a span, each once, to a bound."""

from __future__ import annotations

from puntual.store.contract import Store
from puntual.testing.conformance.build import MINUTE, NOW, hand_out, join, new_run, put, schedule, take, tick

FIRST = (NOW // MINUTE + 1) * MINUTE


class TestDueByMinute:
    """Counting pending runs by the minute in which they are due."""

    async def test_minutes_with_their_runs_in_order(self, store: Store) -> None:
        """From the first instant on, up to but not including the last."""
        at = (FIRST - 1, FIRST, FIRST + MINUTE - 1, FIRST + 2 * MINUTE, FIRST + 3 * MINUTE)
        await store.enqueue([new_run(number, due_at=due_at) for number, due_at in enumerate(at)], now=NOW)
        found = await store.due_by_minute(FIRST, FIRST + 3 * MINUTE, limit=100)
        assert found == [(FIRST, 2), (FIRST + 2 * MINUTE, 1)]

    async def test_what_is_running_is_not_pending(self, store: Store) -> None:
        """Nor is what has ended."""
        await join(store, "w1")
        await store.enqueue([new_run(1, due_at=FIRST)], now=NOW)
        await take(store, now=FIRST)
        assert await store.due_by_minute(FIRST, FIRST + MINUTE, limit=100) == []

    async def test_a_tick_planned_ahead_is_left_out(self, store: Store) -> None:
        """It is counted as a tick; once it was tried it is a run like others."""
        owner = schedule()
        await put(store, owner)
        await hand_out(store, owner, 1)
        at = tick(1) // MINUTE * MINUTE
        assert await store.due_by_minute(at, at + MINUTE, limit=100) == []

    async def test_no_more_are_counted_than_asked_for(self, store: Store) -> None:
        """So that a million of them cost no more than a glance."""
        await store.enqueue([new_run(number, due_at=FIRST + MINUTE) for number in range(1, 11)], now=NOW)
        found = await store.due_by_minute(FIRST, FIRST + 2 * MINUTE, limit=4)
        assert found == [(FIRST + MINUTE, 4)]
