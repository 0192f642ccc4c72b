from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import cast

import pytest

from puntual.engine.clock import SystemClock
from puntual.engine.heartbeat import Heartbeat
from puntual.engine.pulse import ThreadPulse
from puntual.model.errors import StoreUnavailableError
from puntual.store.contract import Store
from puntual.store.requests import Beat, BeatReply

LEASE = 0.2


class Lines:
    """Gives heartbeat lines whose beats do what the test says, and counts them."""

    def __init__(self, beat: Callable[[int], None] = lambda number: None) -> None:
        self._beat = beat
        self.opened = 0
        self.closed = 0
        self.beats = 0

    def heartbeat_line(self) -> Lines:
        """Another line."""
        self.opened += 1
        return self

    def beat(self, beat: Beat) -> BeatReply:
        """As scripted, then a good answer."""
        self.beats += 1
        self._beat(self.beats)
        return BeatReply(alive=True, now=1)

    def close(self) -> None:
        """Counts."""
        self.closed += 1


def wait(seconds: float) -> None:
    """Holds up the heartbeat's thread."""
    threading.Event().wait(seconds)


def heart(lines: Lines, heard: Callable[[BeatReply, float, float], None]) -> Heartbeat:
    """A heartbeat over these lines."""
    return Heartbeat(cast("Store", lines), clock=SystemClock(), lease=LEASE, heard=heard, pulse=ThreadPulse())


async def test_an_error_of_any_kind_is_outlived_on_a_new_line() -> None:
    """The thread never ends by itself, and says meanwhile that it is failing."""
    failing = asyncio.Event()
    good = asyncio.Event()
    loop = asyncio.get_running_loop()

    def trouble(number: int) -> None:
        if number <= 2:
            loop.call_soon_threadsafe(failing.set)
            raise (OSError("too many open files") if number == 1 else StoreUnavailableError("away"))

    lines = Lines(trouble)
    one = heart(lines, lambda reply, asked_at, at: good.set())
    one.start("w", asked_at=SystemClock().steady())
    await failing.wait()
    await good.wait()
    assert (lines.opened, one.health().failures) == (3, 0)
    await one.stop()
    assert lines.closed == lines.opened


async def test_a_line_that_cannot_be_opened_is_tried_again() -> None:
    """A worker that cannot beat is shown as failing, not as well."""

    class Closed(Lines):
        def heartbeat_line(self) -> Lines:
            self.opened += 1
            if self.opened < 3:
                raise OSError("no more connections")
            return self

    good = asyncio.Event()
    lines = Closed()
    one = heart(lines, lambda reply, asked_at, at: good.set())
    one.start("w", asked_at=SystemClock().steady())
    await good.wait()
    await one.stop()


async def test_trust_counts_from_before_the_lease_was_asked_for() -> None:
    """An answer that took longer than the lease gives no trust at all."""
    one = heart(Lines(lambda number: wait(LEASE)), lambda reply, asked_at, at: None)
    one.start("w", asked_at=SystemClock().steady() - LEASE)
    assert not one.trusted()
    await one.stop()


async def test_a_loop_that_does_not_turn_falls_silent_and_counts_again_when_it_does() -> None:
    """A worker that cannot work does not look alive for longer than a lease."""
    beat = asyncio.Event()
    lines = Lines()
    one = heart(lines, lambda reply, asked_at, at: beat.set())
    one.start("w", asked_at=SystemClock().steady())
    await beat.wait()
    time.sleep(2 * LEASE)  # noqa: ASYNC251, TID251 - a handler that blocks the loop is what this is about
    silent = lines.beats
    time.sleep(2 * LEASE)  # noqa: ASYNC251, TID251 - as above
    assert lines.beats == silent
    beat.clear()
    await beat.wait()
    await one.stop()


async def test_a_thread_that_was_held_up_itself_does_not_accuse_the_loop() -> None:
    """The database answered late; the loop has turned all the while, so the next beat goes out."""
    answers: asyncio.Queue[float] = asyncio.Queue()
    lines = Lines(lambda number: wait(2 * LEASE if number == 1 else 0))
    one = heart(lines, lambda reply, asked_at, at: answers.put_nowait(at))
    one.start("w", asked_at=SystemClock().steady())
    await answers.get()
    await answers.get()
    await one.stop()
    assert lines.beats >= 2


async def test_a_life_that_dies_is_shown_and_another_can_begin() -> None:
    """Health is red while nobody beats."""
    beat = asyncio.Event()
    one = heart(Lines(), lambda reply, asked_at, at: beat.set())

    async def dying() -> None:
        raise OSError("no more threads")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(threading, "excepthook", lambda _: None)
        one._pulse.start(dying)
        await one._pulse.stop()
        one._pulse.start(dying)
        while not one._pulse.ended:  # noqa: ASYNC110 - a thread that ends tells nobody
            await asyncio.sleep(0.001)
    assert not one.health().good
    await one.stop()
    one.start("w", asked_at=SystemClock().steady())
    await beat.wait()
    assert one.health().good
    await one.stop()
