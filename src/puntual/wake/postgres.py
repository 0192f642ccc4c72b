"""Hints between the processes on one PostgreSQL database: NOTIFY after the commit, heard on a connection of its own."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from random import SystemRandom
from typing import TYPE_CHECKING, Final

import structlog

from puntual.wake.contract import ANY_QUEUE, CHANNEL, RUNS
from puntual.wake.local import LocalWake
from puntual.wake.teller import Teller

if TYPE_CHECKING:
    import asyncpg
    from asyncpg.pool import PoolConnectionProxy

#: What is said, and nothing more: ``runs:<queue>``, ``schedules``, ``cancels``; a listener says ``probe:<word>``.
SCHEDULES: Final = "schedules"
CANCELS: Final = "cancels"
_PROBE: Final = "probe:"
#: Seconds between probes, and how long one may be under way.
_PROBE_EVERY: Final = 15.0
_PROBE_TAKES: Final = 5.0
#: Seconds before the listener connects anew: at first, and at most.
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 15.0

log = structlog.get_logger("puntual.wake")


class DeafError(Exception):
    """A listener does not hear what it sent itself."""


class PostgresWake:
    """Wakes this process at once, and the others by NOTIFY.

    Args:
        send: notifies others of these texts, in a transaction of its own on the path that the store takes.
        connect: makes the connection on which to listen, past any transaction pooler: through one nothing is heard.

    A listener sends itself a word at the start and every 15 s, the way in which others send theirs. What was said while
    nobody listened is lost, so each new connection begins by waking everybody.
    """

    def __init__(
        self, send: Callable[[Sequence[str]], Awaitable[None]], connect: Callable[[], Awaitable[asyncpg.Connection]]
    ) -> None:
        self._local = LocalWake()
        self._teller = Teller(send)
        self._send = send
        self._connect = connect
        self._random = SystemRandom().random
        self._expected = ""
        self._heard = asyncio.Event()
        self.probe_every = _PROBE_EVERY
        self.probe_takes = _PROBE_TAKES
        self.trouble: str | None = None

    def hint(self, queues: Iterable[str]) -> None:
        """Wakes the claimers of these queues."""
        named = set(queues)
        self._local.hint(named)
        for queue in named:
            self._teller.say(RUNS + queue)

    def hint_planner(self) -> None:
        """Wakes the planners."""
        self._local.hint_planner()
        self._teller.say(SCHEDULES)

    def hint_cancels(self) -> None:
        """Lets the workers ask what is to be stopped."""
        self._local.hint_cancels()
        self._teller.say(CANCELS)

    def subscribe(
        self,
        *,
        queues: Collection[str] | None = None,
        runs: Callable[[], None] | None = None,
        schedules: Callable[[], None] | None = None,
        cancels: Callable[[], None] | None = None,
    ) -> Callable[[], None]:
        """As ``LocalWake.subscribe``."""
        return self._local.subscribe(queues=queues, runs=runs, schedules=schedules, cancels=cancels)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Listens while inside, whatever becomes of the connection."""
        task = asyncio.create_task(self._listen(), name="puntual-listener")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            self.trouble = None

    async def close(self) -> None:
        """Sends what waits for its turn."""
        await self._teller.close()

    async def _listen(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            try:
                async with self._connected() as gone:
                    await self._probe(gone)
                    self._hears()
                    pause = _FIRST_PAUSE
                    while await _quiet(gone, self.probe_every * (0.8 + 0.4 * self._random())):
                        await self._probe(gone)
                    self._failed("its connection was closed")
            except Exception as error:  # noqa: BLE001 - whatever it is, polling finds the work meanwhile
                self._failed(str(error) or type(error).__name__)
            await asyncio.sleep(pause * (0.5 + self._random() / 2))
            pause = min(pause * 2, _LONGEST_PAUSE)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[asyncio.Event]:
        """A connection that listens; the event says that it is gone."""
        connection = await self._connect()
        gone = asyncio.Event()
        try:
            connection.add_termination_listener(lambda _: gone.set())
            await connection.add_listener(CHANNEL, self._on_notice)
            yield gone
        finally:
            connection.terminate()

    async def _probe(self, gone: asyncio.Event) -> None:
        """Returns when the word came back, or the connection is gone.

        Raises:
            DeafError: it did not come back.
        """
        self._expected = _PROBE + secrets.token_hex(8)
        self._heard.clear()
        await self._send([self._expected])
        heard = asyncio.ensure_future(self._heard.wait())
        closed = asyncio.ensure_future(gone.wait())
        try:
            done, _ = await asyncio.wait({heard, closed}, timeout=self.probe_takes, return_when=asyncio.FIRST_COMPLETED)
        finally:
            heard.cancel()
            closed.cancel()
        if not done:
            raise DeafError("what it sends itself does not arrive: behind a pooler set LISTEN_URL to PostgreSQL itself")

    def _on_notice(
        self,
        _connection: asyncpg.Connection | PoolConnectionProxy,
        _pid: int,
        _channel: str,
        payload: object,
    ) -> None:
        text = str(payload)
        if text.startswith(RUNS):
            self._local.hint([text.removeprefix(RUNS)])
        elif text == SCHEDULES:
            self._local.hint_planner()
        elif text == CANCELS:
            self._local.hint_cancels()
        elif text == self._expected:
            self._heard.set()

    def _hears(self) -> None:
        if self.trouble is not None:
            log.info("hints.heard_again")
        self.trouble = None
        self._local.hint([ANY_QUEUE])
        self._local.hint_planner()
        self._local.hint_cancels()

    def _failed(self, why: str) -> None:
        trouble = f"Hints of other processes are not heard ({why.rstrip('.')}); polling finds the work within a second."
        if trouble != self.trouble:
            log.warning("hints.not_heard", error=why)
        self.trouble = trouble


async def _quiet(gone: asyncio.Event, seconds: float) -> bool:
    """Waits; False as soon as the connection is gone."""
    try:
        async with asyncio.timeout(seconds):
            await gone.wait()
    except TimeoutError:
        return True
    return False
