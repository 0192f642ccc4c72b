"""Tests of `puntual.cli.stop`, `member` and `process`: how a process ends."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar

import pytest

from puntual.cli.alone import command_line
from puntual.cli.member import Member
from puntual.cli.process import allow_files, roles_of
from puntual.cli.stop import Stop, first_of
from puntual.settings import load_settings
from tests.support.flaky import until


class Timer(threading.Thread):
    """Stands for the timer that ends a process whose drain takes too long."""

    made: ClassVar[list[Timer]] = []

    def __init__(self, interval: float, function: Callable[[int], None], args: list[int]) -> None:
        super().__init__(daemon=True)
        self.interval = interval
        self.fire: Callable[[], None] = lambda: function(*args)
        Timer.made.append(self)

    def start(self) -> None:
        """Does not: the test says when the time is up."""


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The codes by which the process would have ended; the handlers of signals are put back."""
    codes: list[int] = []
    Timer.made.clear()
    monkeypatch.setattr(os, "_exit", codes.append)
    monkeypatch.setattr(threading, "Timer", Timer)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield codes
    for number, handler in before.items():
        signal.signal(number, handler)


@contextmanager
def joined() -> Iterator[tuple[socket.socket, Member]]:
    """A supervisor's end of a line, and who is at the other one."""
    ours, theirs = socket.socketpair()
    member = Member(theirs.detach(), aside=True)
    with ours, member._line:
        yield ours, member


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
async def test_the_first_signal_asks_and_the_second_takes(ends: list[int], number: int, code: int) -> None:
    """One signal is a wish to drain; the same again ends the process at once, with the code that shells expect."""
    stop = Stop(1)
    stop.listen()
    signal.raise_signal(number)
    await asyncio.wait_for(stop.asked.wait(), 5)
    assert ends == []
    signal.raise_signal(number)
    assert ends == [code]


async def test_a_drain_that_takes_longer_than_its_grace_is_ended(ends: list[int]) -> None:
    """Even where nothing else in the process answers any more: the grace and what writing takes, then it is over."""
    Stop(30).listen()
    signal.raise_signal(signal.SIGTERM)
    assert [timer.interval for timer in Timer.made] == [42]
    assert ends == []
    Timer.made[0].fire()
    assert ends == [143]


async def test_the_wish_is_heard_where_no_thread_is_to_be_had(ends: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler has taken them all: then the system's own timer limits the drain."""

    def refuse(timer: Timer) -> None:
        raise RuntimeError("can't start new thread")

    limits: list[tuple[int, float]] = []
    monkeypatch.setattr(Timer, "start", refuse)
    monkeypatch.setattr(signal, "setitimer", lambda *limit: limits.append(limit))
    stop = Stop(30)
    stop.listen()
    signal.raise_signal(signal.SIGTERM)
    await asyncio.wait_for(stop.asked.wait(), 5)
    assert ends == []
    assert (limits, signal.getsignal(signal.SIGALRM)) == ([(signal.ITIMER_REAL, 42)], signal.SIG_DFL)


async def test_that_a_supervisor_asks_for_the_same_is_no_second_signal(ends: list[int]) -> None:
    """Whoever stops a service may tell all its processes, and the supervisor tells them too: that is one wish."""
    with joined() as (line, member):
        stop = Stop(1)
        stop.listen(member)
        signal.raise_signal(signal.SIGTERM)
        line.shutdown(socket.SHUT_WR)
        # Each of the two set its own limit.
        await until(lambda: len(Timer.made) == 2 and stop.asked.is_set())
        assert ends == []
        signal.raise_signal(signal.SIGTERM)
        assert ends == [143]


async def test_a_supervisor_that_is_gone_asks_for_the_end(ends: list[int]) -> None:
    """However it went: the system closes its end of the line."""
    with joined() as (line, member):
        stop = Stop(1)
        stop.listen(member)
        line.close()
        await asyncio.wait_for(stop.asked.wait(), 5)
    assert ends == []


def test_what_is_said_to_a_supervisor_that_is_gone_is_no_error() -> None:
    """The process ends by itself then."""
    with joined() as (line, member):
        line.close()
        member.tell("up", 3.0)
        member.tell("done")


async def test_waiting_ends_with_whatever_comes_first() -> None:
    """What is still waiting is given up."""
    forever = asyncio.Event()
    await asyncio.wait_for(first_of(forever.wait(), asyncio.sleep(0)), 5)


async def test_an_error_in_the_work_is_not_lost() -> None:
    """What goes wrong while waiting is raised."""

    async def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await first_of(asyncio.Event().wait(), broken())


def test_a_process_may_open_as_many_files_as_the_system_grants(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within reason; what it may already is never taken away, and a refusal is no reason not to start."""
    limits = [(1024, 524_288), (1024, 4096), (1024, resource.RLIM_INFINITY), (100_000, 524_288), (4096, 4096)]
    found: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda _, limit: found.append(limit))
    for limit in limits:
        monkeypatch.setattr(resource, "getrlimit", lambda _, limit=limit: limit)
        allow_files()
    assert found == [(65_536, 524_288), (4096, 4096), (65_536, resource.RLIM_INFINITY)]

    def refuse(*_: object) -> None:
        raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    allow_files()


def test_the_api_is_no_role_of_the_engine() -> None:
    """A server that is only an API starts no engine."""
    assert roles_of(load_settings({"PUNTUAL_ROLES": "api,worker"})) == ("worker",)


def test_a_process_of_its_own_is_told_what_only_the_command_line_said() -> None:
    """What stands in the environment is inherited; flags have to be said again."""
    settings = load_settings({"PUNTUAL_APP": "jobs:app"}, overrides={"QUEUES": "a,b"})
    assert command_line(settings) == ["--queues", "a,b"]
