"""Tests of `puntual.cli.exhausted`: when a process has nothing more to give, and what it says then."""

from __future__ import annotations

import asyncio
import resource
import threading

import pytest
from structlog.testing import capture_logs

from puntual.cli.exhausted import Exhausted, no_files, no_threads
from puntual.model.errors import PuntualError


class Answers:
    """Says at each look what the test wants, and no in the end."""

    def __init__(self, *answers: bool) -> None:
        self._answers = list(answers)
        self.done = asyncio.Event()

    def __call__(self) -> bool:
        """The next answer."""
        if self._answers:
            return self._answers.pop(0)
        self.done.set()
        return False


async def test_three_looks_in_vain_end_the_wait() -> None:
    """It says what is spent, in the log at once and as an error in the end."""
    exhausted = Exhausted(0, {"files": Answers(), "threads": Answers(True, False, True, True, True)})
    with capture_logs() as logs:
        await exhausted.wait()
    assert [(line["event"], line["no_more"]) for line in logs] == [("process.exhausted", "threads")]
    with pytest.raises(PuntualError, match="This process got no more threads, and ended"):
        exhausted.check()


async def test_a_burst_passes() -> None:
    """What comes back before the third look was no leak."""
    answers = Answers(True, True, False, True, True)
    exhausted = Exhausted(0, {"files": answers})
    waiting = asyncio.create_task(exhausted.wait())
    await answers.done.wait()
    assert not waiting.done()
    exhausted.check()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


def test_no_file_is_told_from_one() -> None:
    """By the limit of this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert not no_files()
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        assert no_files()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_no_thread_is_told_from_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what happens when one is started."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    assert not no_threads()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert no_threads()
