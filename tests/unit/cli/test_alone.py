"""Tests of `puntual.cli.alone`: the process of a run that was lost twice, when the system has none to give."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NoReturn

import pytest
import structlog

from puntual.cli import alone
from puntual.settings import Settings
from tests.support.flaky import until


class Child:
    """Stands for a process that cannot be had."""

    tried = 0

    @classmethod
    async def start(cls, _words: Sequence[str]) -> NoReturn:
        """Says so."""
        cls.tried += 1
        raise OSError("out of processes")


@pytest.fixture(autouse=True)
def _no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system has none; a pause is for ever unless a test says otherwise."""
    monkeypatch.setattr(alone, "Child", Child)
    monkeypatch.setattr(alone, "_PAUSE", 3600)
    monkeypatch.setattr(Child, "tried", 0)


async def test_a_process_that_cannot_be_had_is_followed_by_a_pause() -> None:
    """However often a claim asks meanwhile; and an end does not wait for it."""
    with structlog.testing.capture_logs() as lines:
        async with asyncio.timeout(10), alone.Alone(Settings()) as one:
            one.start()
            await until(lambda: lines)
            one.start()
            assert (one.busy, Child.tried) == (True, 1)
    assert not one.busy
    assert [(line["event"], line["error"]) for line in lines] == [("alone.not_started", "out of processes")]


async def test_it_is_asked_for_again_after_the_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run still waits."""
    monkeypatch.setattr(alone, "_PAUSE", 0)
    with structlog.testing.capture_logs() as lines:
        async with alone.Alone(Settings()) as one:
            for count in (1, 2):
                one.start()
                await until(lambda: not one.busy)
                assert (Child.tried, len(lines)) == (count, count)
