"""Says each thing at once, and again at most every 100 ms however often it is asked to; what cannot be said is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import structlog

#: Seconds in which a text is sent once.
_WINDOW: Final = 0.1

log = structlog.get_logger("puntual.wake")


class Teller:
    """Sends texts to other processes, those that come together in one go.

    Args:
        send: sends them; it may fail, or take long.
    """

    def __init__(self, send: Callable[[Sequence[str]], Awaitable[None]]) -> None:
        self._send = send
        #: Texts sent lately, and whether they were said again since.
        self._lately: dict[str, bool] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._ready: dict[str, None] = {}
        self._task: asyncio.Task[None] | None = None
        self._failing = False
        self._closed = False

    def say(self, text: str) -> None:
        """Sends it now, or once more when its time has come."""
        if self._closed:
            return
        if text in self._lately:
            self._lately[text] = True
            return
        self._lately[text] = False
        self._timers[text] = asyncio.get_running_loop().call_later(_WINDOW, self._over, text)
        self._ready[text] = None
        if self._task is None:
            self._task = asyncio.create_task(self._send_all(), name="puntual-teller")

    async def close(self) -> None:
        """Sends what was said again, and waits until all is sent; what is said later is lost."""
        self._closed = True
        for text, timer in list(self._timers.items()):
            timer.cancel()
            if self._lately.get(text):
                self._ready[text] = None
        self._timers.clear()
        self._lately.clear()
        if self._ready and self._task is None:
            self._task = asyncio.create_task(self._send_all(), name="puntual-teller")
        if self._task is not None:
            await self._task

    def _over(self, text: str) -> None:
        del self._timers[text]
        if self._lately.pop(text):
            self.say(text)

    async def _send_all(self) -> None:
        try:
            while self._ready:
                texts = list(self._ready)
                self._ready.clear()
                try:
                    await self._send(texts)
                    self._failing = False
                except Exception as error:  # noqa: BLE001 - a hint may be lost, and nobody may be kept by it
                    if not self._failing:
                        log.warning("hints.not_sent", error=str(error))
                    self._failing = True
        finally:
            self._task = None
