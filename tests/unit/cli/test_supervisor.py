"""Tests of `puntual.cli.supervisor`: what is started again, how soon, and how all of it ends."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Self

import pytest
import structlog

from puntual.cli import supervisor
from puntual.cli.supervisor import Kept, Restarts, Supervisor, words_of
from tests.support.flaky import until

QUICK = Restarts(shortest=0.001, longest=0.002)
FIRST, OTHER = Kept(words=("first",), opening=("--hello",)), Kept(words=("other",))


class Child:
    """Stands for a process: a test says what it does. Those that were started, in order."""

    started: list[Child]
    refuses: int
    stubborn: bool

    def __init__(self, words: Sequence[str], *, speaks: bool) -> None:
        self.words = tuple(words)
        self.speaks = speaks
        self.pid = 1000 + len(Child.started)
        self.up = asyncio.Event()
        self.grace = 0.0
        self.taken = 0
        self.done = False
        self.asked = 0
        self._code: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    @classmethod
    async def start(cls, words: Sequence[str], **how: bool) -> Self:
        """Starts one, unless the system has no process left."""
        if cls.refuses:
            cls.refuses -= 1
            raise OSError("out of processes")
        child = cls(words, speaks=how["speaks"])
        cls.started.append(child)
        return child

    def ask(self) -> None:
        """Drains at once, unless it is stubborn."""
        self.asked += 1
        if not Child.stubborn:
            self.end(0, done=True)

    def kill(self) -> None:
        """Ends as the system ends it."""
        self.end(-signal.SIGKILL)

    def end(self, code: int, *, done: bool = False) -> None:
        """Ends."""
        self.done = done
        if not self._code.done():
            self._code.set_result(code)

    async def ended(self) -> int:
        """Waits for the end."""
        return await asyncio.shield(self._code)


@pytest.fixture(autouse=True)
def _children(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No process is started; what is logged is not printed; signal handlers are put back."""
    Child.started, Child.refuses, Child.stubborn = [], 0, False
    monkeypatch.setattr(supervisor, "Child", Child)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    with structlog.testing.capture_logs():
        yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Running:
    """A supervisor at work."""

    def __init__(self, *kept: Kept, restarts: Restarts = QUICK) -> None:
        self.supervisor = Supervisor(kept, restarts=restarts)
        self._task = asyncio.create_task(self.supervisor.run())

    async def child(self, place: int) -> Child:
        """The one that is started as the so manieth."""
        await until(lambda: len(Child.started) > place)
        return Child.started[place]

    async def code(self) -> int:
        """Its exit code."""
        return await asyncio.wait_for(self._task, 10)

    async def stop(self) -> int:
        """Its exit code after one SIGTERM."""
        signal.raise_signal(signal.SIGTERM)
        return await self.code()


@pytest.mark.parametrize(
    ("pause", "lived", "expected"),
    [(0.0, 0.0, 0.5), (0.5, 1.0, 1.0), (16.0, 59.9, 30.0), (30.0, 3.0, 30.0), (30.0, 60.0, 0.5), (0.0, 999.0, 0.5)],
)
def test_quick_deaths_are_answered_more_and_more_slowly(pause: float, lived: float, expected: float) -> None:
    """Twice the pause each time, up to half a minute; who lived for a minute begins anew."""
    assert Restarts().after(pause, lived) == expected


async def test_what_dies_is_started_again_and_speaks_no_more() -> None:
    """With the same words; but what is for the very start is said until it was up once."""
    running = Running(FIRST)
    (await running.child(0)).end(-signal.SIGKILL)
    second = await running.child(1)
    second.up.set()
    second.end(1)
    third = await running.child(2)
    assert [(each.words, each.speaks) for each in Child.started] == [
        (("first", "--hello"), True),
        (("first", "--hello"), True),
        (("first", "--aside"), False),
    ]
    third.end(0, done=True)
    assert await running.code() == 0


async def test_the_others_wait_for_the_first() -> None:
    """What is wrong with all is found by one, and what one does for all is done."""
    running = Running(FIRST, OTHER, OTHER)
    first = await running.child(0)
    await asyncio.sleep(0)
    assert len(Child.started) == 1
    first.up.set()
    await running.child(2)
    assert [each.words for each in Child.started[1:]] == [("other", "--aside")] * 2
    assert await running.stop() == 0


@pytest.mark.parametrize("code", [1, 2])
async def test_what_keeps_the_first_from_starting_ends_all(code: int) -> None:
    """It is not tried again, and no other process is started."""
    running = Running(FIRST, OTHER)
    (await running.child(0)).end(code)
    assert await running.code() == code
    assert len(Child.started) == 1


async def test_a_configuration_that_breaks_later_ends_nothing() -> None:
    """The others work on, and it may be mended."""
    running = Running(FIRST)
    (await running.child(0)).up.set()
    Child.started[0].end(1)
    (await running.child(1)).end(2)
    (await running.child(2)).end(0, done=True)
    assert await running.code() == 0


async def test_who_leaves_without_having_drained_is_started_again() -> None:
    """A handler can end its process with any code: zero is no farewell by itself."""
    running = Running(FIRST)
    first = await running.child(0)
    first.up.set()
    first.end(0)
    (await running.child(1)).end(0, done=True)
    assert await running.code() == 0


async def test_a_signal_without_a_name_is_a_death_like_any() -> None:
    """Real-time signals have numbers only; what is said of them ends nobody."""
    running = Running(FIRST)
    with structlog.testing.capture_logs() as lines:
        (await running.child(0)).end(-40)
        (await running.child(1)).end(0, done=True)
    assert [line["signal"] for line in lines if line["event"] == "supervisor.restarts"] == ["signal 40"]
    assert await running.code() == 0


async def test_who_was_drained_is_gone_and_the_others_work_on() -> None:
    """It is not started again."""
    running = Running(FIRST, OTHER)
    first = await running.child(0)
    first.up.set()
    other = await running.child(1)
    other.up.set()
    first.end(0, done=True)
    other.end(-signal.SIGSEGV)
    again = await running.child(2)
    assert again.words == ("other", "--aside")
    again.end(0, done=True)
    assert await running.code() == 0
    assert len(Child.started) == 3


async def test_a_system_without_processes_is_asked_again() -> None:
    """That none can be had now is no reason to end those that work."""
    Child.refuses = 2
    running = Running(FIRST)
    (await running.child(0)).end(0, done=True)
    assert await running.code() == 0


async def test_the_first_signal_asks_and_the_second_kills() -> None:
    """Each is asked once; the exit code is the one that shells expect."""
    Child.stubborn = True
    running = Running(FIRST, OTHER)
    (await running.child(0)).up.set()
    await running.child(1)
    signal.raise_signal(signal.SIGINT)
    await until(lambda: all(each.asked for each in Child.started))
    signal.raise_signal(signal.SIGINT)
    assert await running.code() == 130
    assert [each.asked for each in Child.started] == [1, 1]


async def test_a_signal_ends_the_pause_before_a_start() -> None:
    """What is waiting to be started again is not."""
    running = Running(FIRST, restarts=Restarts(shortest=60))
    first = await running.child(0)
    first.up.set()
    first.end(1)
    with structlog.testing.capture_logs() as lines:
        await until(lambda: [line for line in lines if line["event"] == "supervisor.restarts"])
    assert await running.stop() == 0
    assert len(Child.started) == 1


async def test_one_that_dies_while_it_drains_is_told_of() -> None:
    """Its runs are for the others to find; the exit code says that not all went well."""
    Child.stubborn = True
    running = Running(FIRST)
    first = await running.child(0)
    first.up.set()
    signal.raise_signal(signal.SIGTERM)
    await until(lambda: first.asked)
    first.end(-signal.SIGSEGV)
    assert await running.code() == 1


async def test_one_that_had_not_begun_is_no_failure() -> None:
    """Whoever stops a service may tell all its processes, also one that does not listen yet."""
    Child.stubborn = True
    running = Running(FIRST)
    first = await running.child(0)
    signal.raise_signal(signal.SIGTERM)
    await until(lambda: first.asked)
    first.end(-signal.SIGTERM)
    assert await running.code() == 0


async def test_one_that_is_frozen_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has its grace and what it allows itself beyond; then somebody else has to end it."""
    monkeypatch.setattr(supervisor, "MARGIN", 0.01)
    monkeypatch.setattr(supervisor, "_LATE", 0.01)
    Child.stubborn = True
    running = Running(FIRST)
    (await running.child(0)).up.set()
    assert await running.stop() == 1


async def test_what_each_took_is_added_up() -> None:
    """Over all lives of all processes."""
    running = Running(FIRST, OTHER)
    first = await running.child(0)
    first.up.set()
    other = await running.child(1)
    first.taken, other.taken = 3, 4
    first.end(0, done=True)
    other.end(0, done=True)
    assert await running.code() == 0
    assert running.supervisor.taken == 7


def test_options_are_said_as_they_were() -> None:
    """Those that were not said are not, and a value may begin with a dash."""
    said = {"app": "jobs:app", "older_than": "5m", "once": True, "alone": False, "queues": None, "max_runs": 3}
    assert words_of(said) == ("--app=jobs:app", "--older-than=5m", "--once", "--max-runs=3")


def test_it_imports_neither_the_app_nor_the_server() -> None:
    """It stays small beside what it keeps, from the command to the log."""
    code = (
        "import sys; from puntual.cli import serve, worker, supervisor; from puntual import logs;"
        "heavy = ('puntual.app', 'puntual.api', 'puntual.engine.node', 'puntual.store', 'aiohttp', 'fastapi');"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
