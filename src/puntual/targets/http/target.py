"""Does the work of an ``http`` run: one request, one outcome; it never raises but for cancellation."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from puntual.model.attempt import ErrorInfo, OutcomeKind
from puntual.model.clock import Clock
from puntual.model.errors import InvalidError
from puntual.model.outcome import Outcome
from puntual.model.run import HTTP_TASK, Run
from puntual.targets.http.answer import outcome_of
from puntual.targets.http.exchange import Exchange
from puntual.targets.http.guard import Networks
from puntual.targets.http.request import read_request

if TYPE_CHECKING:
    from aiohttp.abc import AbstractResolver

    from puntual.targets.http.sender import Sender


class HttpSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator decided for HTTP targets.

    Args:
        allow_private: ranges that the guard lets through although they are not public.
        max_response: bytes of an answer's body that are read, on the wire and decoded.
        version: of puntual, for ``User-Agent``.
    """

    allow_private: Networks = ()
    max_response: int = 64 << 10
    version: str = "0"


class HttpTarget:
    """The task ``http``. The pool of connections is made at the first request, in the loop that runs it.

    Args:
        settings: the operator's decisions.
        clock: what time it is for a ``Retry-After`` date, and what measures the phases.
        resolver: looks names up instead of the operating system.
    """

    def __init__(self, settings: HttpSettings, clock: Clock, *, resolver: AbstractResolver | None = None) -> None:
        self._settings = settings
        self._clock = clock
        self._resolver = resolver
        self._sender: Sender | None = None

    def tasks(self) -> tuple[str, ...]:
        """The one task name."""
        return (HTTP_TASK,)

    async def execute(self, run: Run) -> Outcome:
        """Sends the request of one attempt; 2xx is success, all else failure, or unknown if no answer came."""
        try:
            request = read_request(run.args)
        except InvalidError as error:
            info = ErrorInfo("InvalidRequest", error.message)
            return Outcome(kind=OutcomeKind.FAILED, error=info, final=True)
        # aiohttp takes 150 ms to import: only a process that sends requests pays for it.
        from puntual.targets.http.failure import failure_of  # noqa: PLC0415

        exchange = Exchange(self._clock.steady)
        try:
            answer = await self._open().send(request, run.id, exchange)
        except Exception as error:  # noqa: BLE001 - a target never raises; the exchange knows what may have been sent
            host = urlsplit(request.url).hostname or ""
            return failure_of(error, exchange, host, self._settings.allow_private)
        return outcome_of(answer, timings=exchange.timings(), now=self._clock.now())

    async def close(self) -> None:
        """Ends all connections; the target can be used again."""
        sender, self._sender = self._sender, None
        if sender is not None:
            await sender.close()

    def _open(self) -> Sender:
        if self._sender is None:
            from puntual.targets.http.sender import Sender, SenderOptions  # noqa: PLC0415 - as above

            agent = f"puntual/{self._settings.version}"
            options = SenderOptions(self._settings.allow_private, self._settings.max_response, agent)
            self._sender = Sender(options, self._resolver)
        return self._sender
