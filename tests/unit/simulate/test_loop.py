"""Tests of `puntual.simulate.loop`: virtual time, whose turn it is, and what holding and ending an actor does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import pytest

from puntual.simulate.clocks import START, SimClock
from puntual.simulate.loop import Actor, StuckError, VirtualLoop, context_of


@contextmanager
def virtual(seed: int = 1) -> Iterator[VirtualLoop]:
    """A loop that is closed in the end."""
    loop = VirtualLoop(Random(seed))
    try:
        yield loop
    finally:
        loop.close()


def ticks(loop: VirtualLoop, actor: Actor, seen: list[tuple[str, float]]) -> None:
    """Has an actor say its name and the time once a second."""

    async def live() -> None:
        while True:
            await asyncio.sleep(1)
            seen.append((actor.name, loop.time()))

    loop.begin(live(), context_of(actor))


def test_time_passes_by_timers_alone() -> None:
    """An hour is over at once, and the loop's time says that it was one."""
    with virtual() as loop:
        loop.run_until_complete(asyncio.sleep(3600))
        assert loop.time() == 3600


def test_timers_of_one_instant_keep_their_order() -> None:
    """Callbacks of one actor run in the order in which they were asked for, the sooner due first."""
    seen: list[int] = []
    with virtual() as loop:
        for number, delay in enumerate((2, 1, 1, 0)):
            loop.call_later(delay, seen.append, number)
        loop.run_until_complete(asyncio.sleep(3))
    assert seen == [3, 1, 2, 0]


def test_a_cancelled_timer_never_comes() -> None:
    """A timeout that was not needed does nothing."""
    seen: list[int] = []
    with virtual() as loop:
        loop.call_later(1, seen.append, 1).cancel()
        loop.run_until_complete(asyncio.sleep(2))
    assert seen == []


def order_of(seed: int) -> list[str]:
    """In which order three actors with one call each have their turn."""
    seen: list[str] = []
    with virtual(seed) as loop:
        for name in "abc":
            loop.call_soon(seen.append, name, context=context_of(Actor(name)))
        loop.run_until_complete(asyncio.sleep(1))
    return seen


def test_whose_turn_it_is_comes_from_the_seed() -> None:
    """The same seed gives the same order, and among seeds each order comes."""
    assert order_of(3) == order_of(3)
    assert len({tuple(order_of(seed)) for seed in range(60)}) == 6


def test_an_actor_that_is_held_goes_on_where_it_stood() -> None:
    """What ran out meanwhile comes late, and nothing of it is lost."""
    actor, seen = Actor("held"), list[tuple[str, float]]()
    with virtual() as loop:
        ticks(loop, actor, seen)
        loop.call_later(1.5, loop.hold, actor)
        loop.call_later(5.5, loop.let_go, actor)
        loop.run_until_complete(asyncio.sleep(7))
    assert seen == [("held", 1.0), ("held", 5.5), ("held", 6.5)]


def test_an_actor_that_ended_does_nothing_any_more() -> None:
    """Neither its timers nor being let go wake the dead."""
    actor, seen = Actor("dead"), list[tuple[str, float]]()
    with virtual() as loop:
        ticks(loop, actor, seen)
        loop.call_later(1.5, loop.end, actor)
        loop.call_later(2.5, loop.let_go, actor)
        loop.run_until_complete(asyncio.sleep(5))
    assert seen == [("dead", 1.0)]


def test_holding_one_actor_holds_no_other() -> None:
    """Others go on."""
    held, other, seen = Actor("held"), Actor("other"), list[tuple[str, float]]()
    with virtual() as loop:
        ticks(loop, held, seen)
        ticks(loop, other, seen)
        loop.call_soon(loop.hold, held, context=context_of(loop.world))
        loop.run_until_complete(asyncio.sleep(2.5))
    assert {name for name, _ in seen} == {"other"}


def test_timers_of_a_fast_actor_come_early() -> None:
    """A machine whose clock gains a tenth has waited ten of its seconds after nine and a bit."""
    actor, seen = Actor("fast", rate=1.1), list[float]()

    async def live() -> None:
        await asyncio.sleep(11)
        seen.append(loop.time())

    with virtual() as loop:
        loop.begin(live(), context_of(actor))
        loop.run_until_complete(asyncio.sleep(20))
    assert seen == [pytest.approx(10)]


def test_a_clock_drifts_and_steps() -> None:
    """What it shows goes at its own pace; a step moves what it shows, and never its steady seconds."""
    with virtual() as loop:
        clock = SimClock(loop, rate=1.5, offset_us=7)
        loop.run_until_complete(asyncio.sleep(10))
        assert clock.now() == START + 7 + 15_000_000
        clock.step(-20_000_000)
        assert clock.now() == START + 7 - 5_000_000
        assert clock.steady() == 15


def test_a_loop_in_which_nobody_waits_for_anything_is_stuck() -> None:
    """It says so; waiting for ever would look like a long simulation."""

    async def live() -> None:
        await loop.create_future()

    with virtual() as loop, pytest.raises(StuckError, match="Nobody has anything to wait for"):
        loop.run_until_complete(live())


def test_an_actor_that_never_waits_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop of an engine that spins without time passing is a finding, not a test that hangs."""
    monkeypatch.setattr("puntual.simulate.loop._MOST_STEPS", 1000)

    def spin() -> None:
        loop.call_soon(spin)

    with virtual() as loop:
        loop.call_soon(spin, context=context_of(Actor("spinner")))
        with pytest.raises(StuckError, match=r"spinner never waits|world never waits"):
            loop.run_until_complete(asyncio.sleep(1))


def test_what_a_task_raises_is_a_trouble() -> None:
    """A part of the engine that ends by an error is found, though nobody awaits it."""

    async def fail() -> None:
        raise KeyError("gone")

    with virtual() as loop:
        loop.begin(fail(), context_of(Actor("n0")))
        loop.run_until_complete(asyncio.sleep(1))
        loop.close()
        assert loop.troubles == ["KeyError('gone')"]
