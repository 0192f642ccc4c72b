"""Tests of `puntual.cli.process`: how a process ends."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from puntual.cli.alone import command_line
from puntual.cli.process import Stop, roles_of, until
from puntual.settings import load_settings


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
async def test_the_first_signal_asks_and_the_second_takes(
    monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    """One signal is a wish to drain; the same again ends the process at once, with the code that shells expect."""
    ends: list[int] = []
    heard = asyncio.Event()

    def end(status: int) -> None:
        ends.append(status)
        heard.set()

    monkeypatch.setattr(os, "_exit", end)
    stop = Stop()
    stop.listen()
    os.kill(os.getpid(), number)
    await asyncio.wait_for(stop.asked.wait(), 5)
    assert ends == []
    os.kill(os.getpid(), number)
    await asyncio.wait_for(heard.wait(), 5)
    assert ends == [code]
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.remove_signal_handler(each)


async def test_waiting_ends_with_whatever_comes_first() -> None:
    """When the work is over nobody has to ask for the end; what is still waiting is given up."""
    forever = asyncio.Event()
    await asyncio.wait_for(until(Stop(), asyncio.sleep(0)), 5)
    stop = Stop()
    stop.asked.set()
    await asyncio.wait_for(until(stop, forever.wait()), 5)


async def test_an_error_in_the_work_is_not_lost() -> None:
    """What goes wrong while waiting is raised."""

    async def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await until(Stop(), broken())


def test_the_api_is_no_role_of_the_engine() -> None:
    """A server that is only an API starts no engine."""
    assert roles_of(load_settings({"PUNTUAL_ROLES": "api,worker"})) == ("worker",)


def test_a_process_of_its_own_is_told_what_only_the_command_line_said() -> None:
    """What stands in the environment is inherited; flags have to be said again."""
    settings = load_settings({"PUNTUAL_APP": "jobs:app"}, overrides={"QUEUES": "a,b"})
    assert command_line(settings) == ["--queues", "a,b"]
