"""The heartbeat: one sign of life for all that a worker holds, from a pulse and a connection of its own.

It is not the event loop's, so that a handler that blocks the loop for a while costs no lease; but it falls silent once
the loop has not turned for a whole lease, because a worker that cannot work must not look alive. Local trust counts
from before a beat was sent. Its answer brings cancels, and the claims that the store holds for this worker when the two
counts differ. Whatever goes wrong in it is logged and shown, and the next beat is tried on a new connection.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog

from puntual.engine.offset import ClockOffset, offset
from puntual.engine.pulse import Pulse
from puntual.engine.service import Health
from puntual.model.clock import Clock
from puntual.model.payload import safe_text
from puntual.store.contract import HeartbeatLine, Store
from puntual.store.requests import Beat, BeatReply

#: Beats per lease: one may be lost, and one late, before anybody is missed.
_BEATS_PER_LEASE = 4
_COMPARE_EVERY = 60.0
#: A loop that turns gives its sign within this part of a lease; the thread itself may have been away for longer.
_SIGN_WAITS = 16

log = structlog.get_logger("puntual.engine")


class Heartbeat:
    """Keeps one worker's lease alive.

    Args:
        store: gives the connection.
        clock: the steady clock that trust is measured with.
        lease: seconds.
        heard: called on the event loop with each answer and the steady times at which it was asked for, and came.
        pulse: what it beats with.

    ``held`` says how many claims the worker believes it holds, ``unsure`` whether it wants them listed; ``failed`` is
    called on the event loop with each error. ``offset`` is the one of this machine's clock, by the last beats.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        lease: float,
        heard: Callable[[BeatReply, float, float], None],
        pulse: Pulse,
    ) -> None:
        self._store = store
        self._clock = clock
        self._lease = lease
        self._heard = heard
        self._pulse = pulse
        self._worker = ""
        self._turned_at = 0.0
        self._trusted_until = 0.0
        self._compared_at = 0.0
        self._silent = False
        self._failures = 0
        self._error: str | None = None
        self.offset = ClockOffset()
        self.held: Callable[[], int] = lambda: 0
        self.unsure: Callable[[], bool] = lambda: False
        self.failed: Callable[[Exception], None] = _unheard

    def start(self, worker: str, *, asked_at: float) -> None:
        """Begins to beat for a worker whose lease was just written.

        Args:
            worker: its id.
            asked_at: the steady time before the lease was asked for: trust counts from then.
        """
        self._worker = worker
        self._turned_at = self._clock.steady()
        self._compared_at = asked_at
        self._trusted_until = asked_at + self._lease
        self._pulse.start(self._live)

    def trusted(self) -> bool:
        """Whether the lease certainly stands: counted from before the last answered beat was sent."""
        return self._clock.steady() < self._trusted_until

    def beat_now(self) -> None:
        """Beats at once, because somebody in this process asked for a cancel."""
        self._pulse.nudge()

    def health(self) -> Health:
        """How it is doing; a thread that has ended although nobody stopped it is a failure."""
        ended = self._pulse.ended
        error = "the heartbeat's thread has ended" if ended else self._error
        return Health(name="heartbeat", failures=self._failures + ended, error=error)

    async def stop(self) -> None:
        """Ends it."""
        await self._pulse.stop()

    async def _live(self) -> None:
        line: HeartbeatLine | None = None
        while not self._pulse.stopped:
            try:
                if await self._turning():
                    line = line or self._store.heartbeat_line()
                    await self._beat_once(line)
            except Exception as error:  # noqa: BLE001 - a heart that stops takes the worker with it: try the next beat
                self._failed(error)
                _close(line)
                line = None
            await self._pulse.wait(self._lease / _BEATS_PER_LEASE)
        _close(line)

    async def _turning(self) -> bool:
        """Asks the loop for a sign and waits a moment for it; says whether the last one is recent."""

        def sign() -> None:
            self._turned_at = self._clock.steady()

        asked = await self._pulse.ask(sign, self._lease / _SIGN_WAITS)
        recent = self._clock.steady() - self._turned_at <= self._lease
        if not recent and not self._silent:
            reason = "the event loop has not turned for a whole lease"
            log.error("heartbeat.silent", reason=reason, worker=self._worker)
        self._silent = not recent
        return asked and recent

    async def _beat_once(self, line: HeartbeatLine) -> None:
        sent_at = self._clock.steady()
        compare = self.unsure() or sent_at - self._compared_at >= _COMPARE_EVERY
        beat = Beat(worker=self._worker, lease_us=int(self._lease * 1_000_000), held=self.held(), compare=compare)
        reply = await self._pulse.beat(line, beat)
        self.offset.heard(offset(reply.now, sent_at=sent_at, clock=self._clock))
        self._failures = 0
        self._error = None
        if compare:
            self._compared_at = sent_at
        if reply.alive:
            self._trusted_until = sent_at + self._lease
        self._pulse.tell(self._heard, reply, sent_at, self._clock.steady())

    def _failed(self, error: Exception) -> None:
        self._failures += 1
        self._pulse.tell(self.failed, error)
        self._error = safe_text(error, limit=500)
        if self._failures == 1:
            log.warning("heartbeat.failed", error=self._error, worker=self._worker)


def _unheard(error: Exception) -> None:
    """Takes errors that nobody counts."""


def _close(line: HeartbeatLine | None) -> None:
    """As well as can be."""
    if line is not None:
        try:
            line.close()
        except Exception as error:  # noqa: BLE001 - it is given up in any case
            log.warning("heartbeat.line_not_closed", error=safe_text(error, limit=500))
