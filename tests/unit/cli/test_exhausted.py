"""Tests of `puntual.cli.exhausted`: when a process has used up what it may have, and that it ends then."""

from __future__ import annotations

import _thread
import asyncio
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from puntual.cli import exhausted as module
from puntual.cli.exhausted import Exhausted, no_files, no_threads
from puntual.targets.refused import REFUSED

# Not one of its threads ends, no other can be had, and it drains for ever; unless it is said that it drained.
LEAKING = """
import asyncio, sys, threading
from puntual.cli.exhausted import Exhausted

def refuse(thread):
    raise RuntimeError("can't start new thread")

async def main():
    threading.Thread(target=threading.Event().wait).start()
    threading.Thread.start = refuse
    exhausted = Exhausted(float(sys.argv[1]), every=0, looks={"threads": lambda: True})
    await exhausted.wait()
    print("drained", end="")
    exhausted.end()

if sys.argv[2:] == ["stuck"]:
    Exhausted.end = lambda self: threading.Event().wait()
asyncio.run(main())
"""


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


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The limits that were set to the drain, and the codes by which the process would have ended."""
    seen: list[object] = []
    monkeypatch.setattr(module, "alarm", seen.append)
    monkeypatch.setattr(module, "leave", seen.append)
    return seen


async def test_ten_looks_in_vain_end_the_process(ends: list[object]) -> None:
    """It says at once what is spent and where to look, limits its drain before that begins, and ends after it."""
    looks = Answers(*[True] * 9, False, *[True] * 10)
    exhausted = Exhausted(42, every=0, looks={"files": Answers(), "threads": looks})
    with capture_logs() as logs:
        await exhausted.wait()
    assert [(line["event"], line["no_more"], line["hint"]) for line in logs] == [
        ("process.exhausted", "threads", "A handler keeps the threads it starts.")
    ]
    assert ends == [42]
    exhausted.end()
    assert ends == [42, 1]


async def test_a_burst_passes(ends: list[object]) -> None:
    """One good look in ten, and what was spent was no leak."""
    answers = Answers(*[True] * 9, False, *[True] * 9)
    exhausted = Exhausted(42, every=0, looks={"files": answers})
    waiting = asyncio.create_task(exhausted.wait())
    await answers.done.wait()
    assert not waiting.done()
    exhausted.end()
    assert ends == []
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


def run_leaking(limit: float, *how: str) -> subprocess.CompletedProcess[str]:
    """The process, to its end."""
    words = [sys.executable, "-c", LEAKING, str(limit), *how]
    return subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)


def test_threads_that_never_end_keep_no_process() -> None:
    """The interpreter would join them; what was said until then is on its way all the same."""
    ended = run_leaking(60)
    assert (ended.returncode, ended.stdout.endswith("drained")) == (1, True), ended


def test_a_drain_that_never_ends_keeps_no_process() -> None:
    """Where there is no thread to count the time the system does."""
    assert run_leaking(0.2, "stuck").returncode != 0


def test_no_file_is_told_from_one() -> None:
    """By the limit of this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert not no_files()
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        assert no_files()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def many() -> Iterator[None]:
    """Threads as a handler leaves them."""
    over = threading.Event()
    threads = [threading.Thread(target=over.wait) for _ in range(64)]
    for thread in threads:
        thread.start()
    yield
    over.set()
    for thread in threads:
        thread.join()


@pytest.fixture
def none_to_have(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Whoever starts a thread is refused, and says so."""

    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    REFUSED.set()
    yield monkeypatch
    REFUSED.clear()


@pytest.mark.usefixtures("many")
def test_threads_are_spent_while_the_system_refuses_them_to_who_has_many(none_to_have: pytest.MonkeyPatch) -> None:
    """When it has one again that is forgotten, until somebody else is refused one."""
    assert no_threads()
    none_to_have.undo()
    assert not no_threads()
    assert not REFUSED.is_set()


@pytest.mark.usefixtures("none_to_have")
def test_threads_that_others_have_used_up_are_no_reason_to_end() -> None:
    """The limit is the user's or the container's, and this process has few."""
    assert not no_threads()


@pytest.mark.usefixtures("many")
def test_no_thread_is_tried_before_somebody_was_refused_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start costs the loop its time."""
    monkeypatch.delattr(_thread, "start_new_thread")
    assert not no_threads()


def test_no_memory_is_told_from_some() -> None:
    """By the limit of this process alone: of the machine's the system itself ends whom it chooses."""
    program = (
        "import resource\n"
        "from puntual.cli.exhausted import no_memory\n"
        "print(no_memory())\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 40, 1 << 40))\n"
        "print(no_memory())\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 20, 1 << 40))\n"
        "print(no_memory())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout.split() == ["False", "False", "True"], done.stderr
