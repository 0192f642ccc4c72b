"""How much is worth claiming beyond the free slots."""

from __future__ import annotations

from puntual.engine.pace import Pace
from puntual.testing.manual import ManualClock


def test_nothing_is_expected_before_a_call_was_measured() -> None:
    """Slow calls must not make a worker hold what others could start."""
    assert Pace(10, ManualClock(0)).expected(busy=False) == 0


def test_a_run_of_many_keeps_its_slot_for_its_share_of_the_call() -> None:
    """A hundred runs in a second are as good as a hundredth of a second each."""
    alone, together = Pace(10, ManualClock(0)), Pace(10, ManualClock(0))
    alone.took(0.01, 1)
    together.took(1.0, 100)
    assert alone.expected(busy=False) == together.expected(busy=False) == 400


def test_less_is_expected_the_longer_no_slot_becomes_free() -> None:
    """Of calls with many runs a free slot takes as many."""
    clock = ManualClock(0)
    alone, together = Pace(10, clock), Pace(10, clock)
    for _ in range(200):
        alone.took(0.01, 1)
        together.took(1.0, 100)
    clock.move_to(2_000_000)
    assert (alone.expected(busy=True), alone.expected(busy=False)) == (2, 400)
    assert together.expected(busy=True) == 200
    alone.freed()
    assert alone.expected(busy=True) == 400


def test_a_batch_counts_for_as_many_runs_as_it_had() -> None:
    """One call of a thousand outweighs the few runs before it."""
    pace = Pace(10, ManualClock(0))
    pace.took(1.0, 1)
    pace.took(2.0, 1000)
    assert abs(pace.expected(busy=False) - 2000) <= 1
