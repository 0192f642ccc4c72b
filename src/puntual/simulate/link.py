"""A process's connection to the database: each operation takes its time, and what strikes one strikes it here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, cast

from puntual.model.errors import StoreBusyError, StoreDataError, StoreError, StoreFullError, StoreUnavailableError
from puntual.simulate.database import Server
from puntual.simulate.scenario import Hit, ServerBlow, Strike
from puntual.simulate.world import World
from puntual.store.contract import HeartbeatLine, Store
from puntual.store.requests import Beat, BeatReply

#: A hit whose operation does not come for so long takes any, seconds.
_WAITED = 20.0
#: How long a process waits for an answer that does not come, seconds.
_GIVES_UP = 2.5
_ERRORS: dict[Hit, Callable[[str], StoreError]] = {
    Hit.UNAVAILABLE: StoreUnavailableError,
    Hit.BUSY: StoreBusyError,
    Hit.FULL: StoreFullError,
    Hit.REFUSED: StoreDataError,
    Hit.BROKEN: StoreError,
}


class Line:
    """A heartbeat's own connection: the pulse sends over the link, at the same pace."""

    def beat(self, beat: Beat) -> BeatReply:
        """Never called: a beat takes time, and this could not wait for it."""
        raise NotImplementedError

    def close(self) -> None:
        """There is nothing to close."""


class Link:
    """The store as one process sees it.

    Args:
        world: where it is.
        who: the process's name.
        crash: ends the process, now.
        freeze: holds the process for so many seconds, from now.

    ``cut_until`` is until when nothing that it sends arrives, ``mute_until`` until when it hears no answer,
    ``busy_until`` until when an operation hangs.
    ``disturbed`` is called with each hit.
    """

    def __init__(self, world: World, who: str, *, crash: Callable[[], None], freeze: Callable[[float], None]) -> None:
        self._world = world
        self._who = who
        self._crash = crash
        self._freeze = freeze
        self._strikes: list[Strike] = []
        self.cut_until = 0.0
        self.mute_until = 0.0
        self.busy_until = 0.0
        self.disturbed: Callable[[], None] = lambda: None

    @property
    def store(self) -> Store:
        """The contract, over this link."""
        return cast("Store", self)

    def arm(self, strike: Strike) -> None:
        """The next operation of its name is hit."""
        self._strikes.append(strike)

    def disarm(self) -> None:
        """Nothing more is hit."""
        self._strikes.clear()
        self.cut_until = self.mute_until = 0.0

    def heartbeat_line(self) -> HeartbeatLine:
        """As ``AdminStore.heartbeat_line``."""
        return Line()

    async def beat(self, beat: Beat) -> BeatReply:
        """Sends a beat over this link."""
        reply: BeatReply = await self._call("beat", beat)
        return reply

    def __getattr__(self, operation: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        if operation.startswith("_"):
            raise AttributeError(operation)
        call = partial(self._call, operation)
        self.__dict__[operation] = call
        return call

    async def _call(self, operation: str, *args: Any, **keywords: Any) -> Any:  # noqa: ANN401 - of any operation
        world = self._world
        await world.loop.pause(world.latency())
        hit = self._next_hit(operation)
        kind = None if hit is None else hit.kind
        if hit is not None:
            await self._before(hit, operation, args, keywords)
        now = world.loop.time()
        if now < max(self.cut_until, world.away_until):
            await self._nothing_comes()
        if kind is ServerBlow.CUT:
            cast("Server", world.database).cut_next()
        failed: Exception | None = None
        result = None
        try:
            result = world.do(self._who, operation, args, keywords)
        except Exception as error:  # noqa: BLE001 - the answer is on its way too
            failed = error
        if operation == "claim" and result is not None and len(result.runs) >= args[0].limit:
            self.disturbed()  # It has no room for more.
        if kind is Hit.CRASH_AFTER:
            self._crash()
        elif kind is Hit.FREEZE_AFTER and hit is not None:
            self._freeze(hit.seconds)
        if kind is Hit.ANSWER_LOST or now < self.mute_until:
            await self._nothing_comes()
        await world.loop.pause(world.latency())
        if failed is not None:
            raise failed
        return result

    async def _before(self, hit: Strike, operation: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """What strikes before the database hears of it."""
        if hit.kind is Hit.CRASH_BEFORE:
            self._crash()
            await asyncio.sleep(0)
        elif hit.kind is Hit.FREEZE_BEFORE:
            self._freeze(hit.seconds)
            await asyncio.sleep(0)
        elif hit.kind is Hit.REQUEST_LOST:
            await self._nothing_comes()
        elif hit.kind is Hit.SLOW:
            await self._hangs(hit.seconds)
        elif hit.kind is Hit.LATE:
            self._world.pending += 1
            self._world.later(hit.seconds, self._arrive, operation, args, keywords)
            await self._nothing_comes()
        elif hit.kind in _ERRORS:
            await asyncio.sleep(self._world.latency())
            raise _ERRORS[Hit(hit.kind)](f"Struck: {hit.kind}.")

    def _arrive(self, operation: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """A request that nobody waits for any more is done all the same."""
        self._world.pending -= 1
        if self._world.loop.time() < self._world.away_until:
            return
        try:
            self._world.do(self._who, operation, args, keywords)
        except Exception:  # noqa: BLE001 - nobody is there to be told
            return

    async def _nothing_comes(self) -> None:
        await self._hangs(_GIVES_UP + self._world.latency())
        raise StoreUnavailableError("No answer came.")

    async def _hangs(self, seconds: float) -> None:
        """Whoever asked gets no answer for so long."""
        self.busy_until = max(self.busy_until, self._world.loop.time() + seconds)
        await asyncio.sleep(seconds)
        self.disturbed()

    def _next_hit(self, operation: str) -> Strike | None:
        for strike in self._strikes:
            if operation == strike.operation or self._world.loop.time() > strike.at + _WAITED:
                self._strikes.remove(strike)
                self.disturbed()
                self._world.record.struck(strike.kind, self._who, operation)
                return strike
        return None
