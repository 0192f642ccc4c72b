"""The heartbeat: one sign of life for all that a worker holds, from a thread and a connection of its own.

It is not the event loop's, so that a handler that blocks the loop for a while costs no lease; but it falls silent
once the loop has not turned for a whole lease, because a worker that cannot work must not look alive. Local trust
counts from before a beat was sent. Its answer brings cancels, and the claims that the store holds for this worker
when the two counts differ.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import structlog

from puntual.model.clock import Clock
from puntual.model.errors import PuntualError
from puntual.store.contract import Store
from puntual.store.requests import Beat, BeatReply

#: Beats per lease: one may be lost, and one late, before anybody is missed.
_BEATS_PER_LEASE = 4
_COMPARE_EVERY = 60.0

log = structlog.get_logger("puntual.engine")


class Heartbeat:
    """Keeps one worker's lease alive.

    Args:
        store: gives the connection.
        clock: the steady clock that trust is measured with.
        lease: seconds.
        heard: called on the event loop with each answer, and the beat's number.
    """

    def __init__(self, store: Store, *, clock: Clock, lease: float, heard: Callable[[BeatReply], None]) -> None:
        self._store = store
        self._clock = clock
        self._lease = lease
        self._heard = heard
        self._worker = ""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()
        self._now = threading.Event()
        self._turned_at = 0.0
        self._trusted_until = 0.0
        self._compared_at = 0.0
        self._silent = False
        self.held: Callable[[], int] = lambda: 0
        self.unsure: Callable[[], bool] = lambda: False
        self.failures = 0

    def start(self, worker: str) -> None:
        """Begins to beat for a worker whose lease was just written."""
        self._worker = worker
        self._loop = asyncio.get_running_loop()
        self._turned_at = self._compared_at = self._clock.steady()
        self._trusted_until = self._turned_at + self._lease
        self._stopped.clear()
        self._thread = threading.Thread(target=self._run, name="puntual-heartbeat", daemon=True)
        self._thread.start()

    def trusted(self) -> bool:
        """Whether the lease certainly stands: counted from before the last answered beat was sent."""
        return self._clock.steady() < self._trusted_until

    def beat_now(self) -> None:
        """Beats at once, for example because a cancel was asked."""
        self._now.set()

    async def stop(self) -> None:
        """Ends the thread."""
        self._stopped.set()
        self._now.set()
        if self._thread is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._thread.join)
            self._thread = None

    def _run(self) -> None:
        line = self._store.heartbeat_line()
        try:
            while not self._stopped.is_set():
                self._now.clear()
                if self._turning():
                    self._beat_once(line.beat)
                self._now.wait(self._lease / _BEATS_PER_LEASE)
        finally:
            line.close()

    def _turning(self) -> bool:
        """Asks the loop for a sign, and says whether the last one is recent; a loop that turns again counts again."""
        recent = self._clock.steady() - self._turned_at <= self._lease
        if not recent and not self._silent:
            log.error("heartbeat.silent", reason="the event loop has not turned for a whole lease", worker=self._worker)
        self._silent = not recent
        return self._call(self._turn) and recent

    def _turn(self) -> None:
        self._turned_at = self._clock.steady()

    def _beat_once(self, send: Callable[[Beat], BeatReply]) -> None:
        sent_at = self._clock.steady()
        compare = self.unsure() or sent_at - self._compared_at >= _COMPARE_EVERY
        beat = Beat(worker=self._worker, lease_us=int(self._lease * 1_000_000), held=self.held(), compare=compare)
        try:
            reply = send(beat)
        except PuntualError as error:
            self.failures += 1
            if self.failures == 1:
                log.warning("heartbeat.failed", error=error.message, worker=self._worker)
            return
        self.failures = 0
        if compare:
            self._compared_at = sent_at
        if reply.alive:
            self._trusted_until = sent_at + self._lease
        self._call(self._heard, reply)

    def _call(self, callback: Callable[..., None], *args: object) -> bool:
        """On the event loop; False when it has closed."""
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(callback, *args)
        except RuntimeError:
            return False
        return True
