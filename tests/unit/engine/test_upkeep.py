from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

import pytest

from puntual.engine.clock import SystemRandom
from puntual.engine.upkeep.lease import Upkeep
from puntual.engine.upkeep.prune import Pruner
from puntual.engine.upkeep.rescue import Rescuer
from puntual.store.contract import Store
from puntual.store.requests import Rescued
from puntual.wake.local import LocalWake

LEASE = 10.0
SECOND = 1_000_000


class HandClock:
    """A steady clock and a store's clock that a test moves, together or apart."""

    def __init__(self) -> None:
        self.at = 100.0
        self.stored = 5_000 * SECOND

    def now(self) -> int:
        """What the store's clock says."""
        return self.stored

    def steady(self) -> float:
        """Seconds."""
        return self.at

    def pass_by(self, seconds: float) -> None:
        """Time goes by for both."""
        self.at += seconds
        self.stored += int(seconds * SECOND)


class Notes:
    """A store that notes what it is asked of upkeep."""

    def __init__(self, clock: HandClock) -> None:
        self._clock = clock
        self.ended: list[bool] = []
        self.holders: list[str] = []
        self.resigned = 0
        self.expired = 0

    async def rescue(self, decide: object, *, ends_until: int | None) -> Rescued:
        """Notes whether leases may be ended."""
        self.ended.append(ends_until is not None and self._clock.stored <= ends_until)
        return Rescued(now=self._clock.stored)

    async def hold_upkeep(self, holder: str, *, lease_us: int, patience_us: int) -> bool:
        """Always free."""
        self.holders.append(holder)
        return True

    async def resign_upkeep(self, holder: str) -> None:
        """Notes it."""
        self.resigned += 1

    async def prune(self, *, limit: int) -> int:
        """As much as there is, at most the limit."""
        removed = min(limit, self.expired)
        self.expired -= removed
        return removed


@pytest.fixture
def clock() -> HandClock:
    """Time that a test moves."""
    return HandClock()


@pytest.fixture
def notes(clock: HandClock) -> Notes:
    """What was asked."""
    return Notes(clock)


def rescuer(clock: HandClock, notes: Notes) -> Rescuer:
    """A rescuer with a lease of 10 s."""
    return Rescuer(cast("Store", notes), LocalWake(), clock=clock, random=SystemRandom(), lease=LEASE)


async def rounds(one: Rescuer, clock: HandClock, count: int) -> None:
    """That many rounds at their usual distance."""
    for _ in range(count):
        clock.pass_by(3.4)
        await one.round()


async def test_no_lease_is_ended_before_one_lease_of_good_rounds(clock: HandClock, notes: Notes) -> None:
    """At start the others are given the time to renew."""
    await rounds(rescuer(clock, notes), clock, 6)
    assert notes.ended == [False, False, False, True, True, True]


async def test_a_rescuer_that_was_frozen_gives_the_others_time(clock: HandClock, notes: Notes) -> None:
    """It was away as they may have been: its own worker too, which is about to renew."""
    one = rescuer(clock, notes)
    await rounds(one, clock, 6)
    clock.pass_by(LEASE)
    notes.ended.clear()
    await rounds(one, clock, 5)
    assert notes.ended == [False, False, False, True, True]


async def test_a_step_of_the_stores_clock_ends_no_lease(clock: HandClock, notes: Notes) -> None:
    """All leases look overdue at once, and nobody is gone."""
    one = rescuer(clock, notes)
    await rounds(one, clock, 6)
    for step in (3_600, LEASE * 0.9):
        clock.stored += int(step * SECOND)
        notes.ended.clear()
        await rounds(one, clock, 5)
        assert notes.ended == [False, False, False, True, True]


async def test_an_outage_counts_too(clock: HandClock, notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an error of the database the wait begins again."""
    one = rescuer(clock, notes)
    await rounds(one, clock, 6)

    async def away(decide: object, *, ends_until: int | None) -> Rescued:
        raise ConnectionError

    with monkeypatch.context() as patched:
        patched.setattr(notes, "rescue", away)
        with pytest.raises(ConnectionError):
            await rounds(one, clock, 1)
    notes.ended.clear()
    await rounds(one, clock, 4)
    assert notes.ended == [False, False, False, True]


def upkeep(notes: Notes, duties: dict[str, Callable[[], Awaitable[None]]]) -> Upkeep:
    """Upkeep with these duties."""
    return Upkeep(cast("Store", notes), "me", lease=LEASE, duties=duties, reserve=False)


async def test_a_duty_that_fails_holds_up_no_other_and_costs_the_lease(notes: Notes) -> None:
    """Who cannot do the upkeep must not keep others from it."""
    done: list[str] = []

    async def good() -> None:
        done.append("good")

    async def bad() -> None:
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        await upkeep(notes, {"bad": bad, "good": good}).step()
    assert (done, notes.resigned) == (["good"], 1)


async def test_who_could_not_do_the_first_duty_lets_others_have_the_lease(
    notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is back at once with its next step, and asks for nothing until everybody has had the time to."""
    at = 100.0
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: at)

    async def bad() -> None:
        raise OSError("disk")

    one = upkeep(notes, {"bad": bad})
    for seconds, asked in ((0.0, 1), (0.0, 1), (LEASE / 3, 1), (LEASE / 10, 2)):
        at += seconds
        with pytest.raises(OSError, match="disk"):
            await one.step()
        assert len(notes.holders) == asked


async def test_the_lease_is_renewed_by_a_finished_round(notes: Notes) -> None:
    """Taken, then renewed when all duties were done."""

    async def good() -> None:
        assert notes.holders == ["me"]

    await upkeep(notes, {"good": good}).step()
    assert (notes.holders, notes.resigned) == (["me", "me"], 0)


async def test_pruning_goes_on_each_round_until_nothing_is_left(clock: HandClock, notes: Notes) -> None:
    """A backlog of expired rows is not left for the next minute."""
    notes.expired = 120_500
    one = Pruner(cast("Store", notes), clock=clock, budget=5)
    for left in (70_500, 20_500, 0):
        await one.round()
        assert notes.expired == left
    notes.expired = 10
    await one.round()
    assert notes.expired == 10
    clock.pass_by(60)
    await one.round()
    assert notes.expired == 0
