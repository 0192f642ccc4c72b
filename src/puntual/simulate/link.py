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
#: How long after a cut the answer of before may come, seconds.
_FOLLOWS = 2.0
#: What strikes when an operation has been done.
_AFTER = frozenset((Hit.CRASH_AFTER, Hit.FREEZE_AFTER, Hit.ANSWER_LOST, Hit.CUT_AFTER))
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
    ``busy_until`` until when an operation hangs, ``answered_at`` when it last heard an answer from before a cut.
    ``disturbed`` is called with each hit.
    """

    def __init__(self, world: World, who: str, *, crash: Callable[[], None], freeze: Callable[[float], None]) -> None:
        self._world = world
        self._who = who
        self._crash = crash
        self._freeze = freeze
        self._chance = world.random(f"link:{who}").random
        self._strikes: list[Strike] = []
        self._hung: dict[str, float] = {}
        self.cut_until = 0.0
        self.mute_until = 0.0
        self.busy_until = 0.0
        self.answered_at = 0.0
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
        self._hung.clear()
        self.cut_until = self.mute_until = 0.0

    def cut(self, seconds: float) -> None:
        """Nothing that it sends arrives for so long from now."""
        self.cut_until = max(self.cut_until, self._world.loop.now + seconds)

    def mute(self, seconds: float) -> None:
        """It hears no answer for so long from now."""
        self.mute_until = max(self.mute_until, self._world.loop.now + seconds)

    def hang(self, operation: str, seconds: float) -> None:
        """Operations of this name stand still for so long from now, and all others go on."""
        self._hung[operation] = max(self._hung.get(operation, 0.0), self._world.loop.now + seconds)

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
        hit = self._next_hit(operation, after=False) if self._strikes else None
        if hit is not None:
            await self._before(hit, operation, args, keywords)
        if self._hung and (left := self._hung.get(operation, 0.0) - world.loop.now) > 0:
            await self._hangs(left)
        now = world.loop.now
        if now < max(self.cut_until, world.away_until):
            await self._nothing_comes()
        if hit is not None and hit.kind is ServerBlow.CUT:
            cast("Server", world.database).cut_next()
        result, failed = self._done(operation, args, keywords)
        if self._strikes and (operation != "claim" or (result is not None and result.runs)):
            hit = self._next_hit(operation, after=True)
            if hit is not None:
                await self._after(hit)
        if now < self.mute_until:
            await self._nothing_comes()
        await world.loop.pause(world.latency())
        if failed is not None:
            raise failed
        return result

    def _done(self, operation: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, Exception | None]:
        """The database does it: what it answers, or why it did not."""
        try:
            result = self._world.do(self._who, operation, args, keywords)
        except Exception as error:  # noqa: BLE001 - the answer is on its way too
            return None, error
        if operation == "claim" and len(result.runs) >= args[0].limit:
            self.disturbed()  # It has no room for more.
        return result, None

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

    async def _after(self, hit: Strike) -> None:
        """What strikes when the database has done what was asked."""
        if hit.kind is Hit.CRASH_AFTER:
            self._crash()
        elif hit.kind is Hit.FREEZE_AFTER:
            self._freeze(hit.seconds)
        elif hit.kind is Hit.ANSWER_LOST:
            await self._nothing_comes()
        elif hit.kind is Hit.CUT_AFTER:
            # What was on its way is sent again and again, until it comes through.
            self.cut(hit.seconds)
            await self._hangs(hit.seconds + _FOLLOWS * self._chance())
            self.answered_at = self._world.loop.now

    def _arrive(self, operation: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """A request that nobody waits for any more is done all the same."""
        self._world.pending -= 1
        if self._world.loop.now < self._world.away_until:
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
        self.busy_until = max(self.busy_until, self._world.loop.now + seconds)
        await asyncio.sleep(seconds)
        self.disturbed()

    def _next_hit(self, operation: str, *, after: bool) -> Strike | None:
        for strike in self._strikes:
            if (strike.kind in _AFTER) is not after:
                continue
            if operation == strike.operation or self._world.loop.now > strike.at + _WAITED:
                self._strikes.remove(strike)
                self.disturbed()
                self._world.record.struck(strike.kind, self._who, operation)
                return strike
        return None
