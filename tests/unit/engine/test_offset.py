from __future__ import annotations

import pytest

from puntual.engine.offset import ClockOffset, Offset, offset

SECOND = 1_000_000


class HandClock:
    """Clocks that stand where the test puts them."""

    def __init__(self, now: int, steady: float) -> None:
        self._now = now
        self._steady = steady

    def now(self) -> int:
        """Microseconds since 1970."""
        return self._now

    def steady(self) -> float:
        """Seconds."""
        return self._steady


def test_half_of_the_way_there_and_back_is_taken_off() -> None:
    """The database said its time, as far as is known, in the middle; it may have been at either end."""
    asked = HandClock(now=1_000 * SECOND, steady=50.2)
    assert offset(1_003 * SECOND, sent_at=50.0, clock=asked) == Offset(3 * SECOND + 100_000, 100_000)


def test_of_the_last_answers_the_quickest_is_believed() -> None:
    """A slow one says little; after eight more a quick one has had its time."""
    clock = ClockOffset()
    assert clock.best is None
    for one in (Offset(70, 500), Offset(5, 10), Offset(90, 800)):
        clock.heard(one)
    assert clock.best == Offset(5, 10)
    for _ in range(8):
        clock.heard(Offset(40, 50))
    assert clock.best == Offset(40, 50)


@pytest.mark.parametrize(
    ("one", "good"),
    [
        (Offset(SECOND, 0), True),
        (Offset(SECOND + 1, 0), False),
        (Offset(-SECOND - 1, 0), False),
        (Offset(-3 * SECOND, 2 * SECOND), True),
    ],
)
def test_only_what_is_certain_is_held_against_a_clock(one: Offset, good: bool) -> None:  # noqa: FBT001 - a row of the table
    """A slow answer makes no clock wrong."""
    assert one.good is good
