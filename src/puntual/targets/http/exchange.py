"""The record of one request: how far it came, how long each phase took, which addresses the guard refused."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar


class Exchange:
    """What happened so far. ``connected`` is True from the moment when bytes may have been sent."""

    def __init__(self, steady: Callable[[], float]) -> None:
        self._steady = steady
        self._began = steady()
        self._phases: dict[str, float] = {}
        self._opened: dict[str, float] = {}
        self.connected = False
        self.tried = False
        self.refused: dict[str, str] = {}

    def begin(self, phase: str) -> None:
        """Starts to measure a phase."""
        self._opened[phase] = self._steady()

    def end(self, phase: str) -> None:
        """Ends a phase; one that was never begun counts from the start of the request."""
        self._phases[phase] = self._steady() - self._opened.get(phase, self._began)

    def timings(self) -> dict[str, float]:
        """Milliseconds by phase: dns, connect (with TLS), first_byte and total, as far as it came."""
        self.end("total")
        return {phase: round(seconds * 1000, 3) for phase, seconds in self._phases.items()}


#: The exchange on whose behalf a socket is opened: the only way to it from within the client's connection attempts.
CURRENT: ContextVar[Exchange] = ContextVar("puntual_http_exchange")
