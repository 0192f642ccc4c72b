from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from puntual.engine.clock import SystemClock, SystemRandom


def test_bytes_are_never_given_twice_to_any_thread() -> None:
    """Ids are made of them: a repeat would be somebody else's run."""
    chance = SystemRandom()
    with ThreadPoolExecutor(8) as threads:
        drawn = list(threads.map(lambda _: chance.bytes(10), range(20_000)))
    assert len(set(drawn)) == len(drawn)


def test_a_forked_child_draws_its_own_bytes() -> None:
    """Parent and child begin with the same memory, and must not go on with the same page."""
    chance = SystemRandom()
    chance.bytes(1)
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(theirs, chance.bytes(10))
        os._exit(0)
    os.waitpid(child, 0)
    try:
        assert os.read(ours, 10) != chance.bytes(10)
    finally:
        os.close(ours)
        os.close(theirs)


def test_more_than_a_page_is_drawn_at_once() -> None:
    """However much is asked for comes in one piece."""
    assert len(SystemRandom().bytes(10_000)) == 10_000


def test_the_steady_clock_does_not_go_back() -> None:
    """It is what leases and deadlines are measured with."""
    clock = SystemClock()
    readings = [clock.steady() for _ in range(1_000)]
    assert readings == sorted(readings)
