"""Tests of `StoreTime`: the store's clock as a process reckons it from answers, some of which were long under way."""

from __future__ import annotations

import pytest

from puntual.engine.held import StoreTime
from puntual.model.instant import SECOND


class HandClock:
    """A steady clock that a test moves; the node's own is far off."""

    def __init__(self) -> None:
        self.at = 100.0

    def now(self) -> int:
        """What the node's own clock says."""
        return 7

    def steady(self) -> float:
        """Seconds."""
        return self.at


@pytest.fixture
def clock() -> HandClock:
    """Time that a test moves."""
    return HandClock()


@pytest.fixture
def time(clock: HandClock) -> StoreTime:
    """It was 5,000 s by the store just now."""
    made = StoreTime(clock)
    made.heard(5_000 * SECOND, asked_at=clock.at)
    return made


def test_it_goes_on_between_answers(clock: HandClock, time: StoreTime) -> None:
    """By the steady clock, not by the node's own."""
    clock.at += 3
    assert time.now() == 5_003 * SECOND


def test_an_answer_that_was_long_under_way_does_not_set_it_back(clock: HandClock, time: StoreTime) -> None:
    """What it says may have been true when it was asked for, and what is known is true now."""
    asked_at = clock.at
    clock.at += 20
    time.heard(5_001 * SECOND, asked_at=asked_at)
    assert time.now() == 5_020 * SECOND


@pytest.mark.parametrize("told", [4_000, 6_000])
def test_a_step_of_the_stores_clock_is_followed(clock: HandClock, time: StoreTime, told: int) -> None:
    """What no delay explains was a step."""
    asked_at = clock.at
    clock.at += 20
    time.heard(told * SECOND, asked_at=asked_at)
    assert time.now() == told * SECOND
