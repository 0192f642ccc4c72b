"""A virtual event loop: no time passes but by its own hand, and chance comes from a seed.

Every callback belongs to an actor, the part of a simulated process in whose context it was scheduled. Callbacks of one
actor run in the order in which they came, as in any event loop; which actor is next is drawn, as among processes. An
actor that is held keeps its callbacks for later, timers that ran out included; one that is dead runs none ever again.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from heapq import heappop, heappush
from random import Random
from typing import Any, TypeVar, cast

T = TypeVar("T")
#: More steps than this without time passing mean a loop that never waits.
_MOST_STEPS = 1_000_000


class StuckError(Exception):
    """Nobody has anything to do any more, or somebody does without ever waiting."""


class Call:
    """One callback to come; cancelled, it never does. It stands for both of asyncio's handles."""

    __slots__ = ("_when", "actor", "args", "callback", "context", "gone")

    def __init__(
        self, callback: Callable[..., object], args: tuple[object, ...], context: Context, actor: Actor, when: float
    ) -> None:
        self.callback = callback
        self.args = args
        self.context = context
        self.actor = actor
        self._when = when
        self.gone = False

    def cancel(self) -> None:
        """It will not be made."""
        self.gone = True

    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self.gone

    def when(self) -> float:
        """The loop's time at which it is due."""
        return self._when


class Actor:
    """Whoever callbacks belong to. ``rate`` is how fast its timers go: 1.01 gains a hundredth."""

    __slots__ = ("calls", "dead", "held", "name", "rate")

    def __init__(self, name: str, rate: float = 1.0) -> None:
        self.name = name
        self.rate = rate
        self.held = False
        self.dead = False
        self.calls: deque[Call] = deque()


#: Whose callbacks are scheduled here.
ACTOR: ContextVar[Actor] = ContextVar("ACTOR")


def context_of(actor: Actor) -> Context:
    """A context in which all that is scheduled belongs to this actor."""
    context = copy_context()
    context.run(ACTOR.set, actor)
    return context


class VirtualLoop:
    """What asyncio asks of its loop, as far as the engine uses it.

    Args:
        random: draws whose turn it is.

    ``now`` is its time, seconds since the simulation began. ``troubles`` holds what no task was there to take:
    exceptions that asyncio reports to its loop.
    """

    def __init__(self, random: Random) -> None:
        # asyncio asks no more of its loop than what is here, whatever its base class lists.
        self._as_asyncio = cast("asyncio.AbstractEventLoop", self)
        self._random = random.random
        self.now = 0.0
        self._order = itertools.count()
        self._timers: list[tuple[float, int, Call | asyncio.Future[None]]] = []
        self._ready: list[Actor] = []
        self.world = Actor("world")
        self._running = False
        self._closed = False
        self._begun: list[asyncio.Task[Any]] = []
        self.troubles: list[str] = []

    # Time and turns

    def time(self) -> float:
        """Seconds since the simulation began."""
        return self.now

    def hold(self, actor: Actor) -> None:
        """Lets an actor do nothing until it is let go."""
        actor.held = True
        if actor in self._ready:
            self._ready.remove(actor)

    def let_go(self, actor: Actor) -> None:
        """The actor goes on where it stood."""
        if actor.held and not actor.dead:
            actor.held = False
            if actor.calls:
                self._ready.append(actor)

    def end(self, actor: Actor) -> None:
        """The actor is no more; what it had to do never happens."""
        self.hold(actor)
        actor.dead = True

    def run_until_complete(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs until the coroutine has ended, and gives its result.

        Raises:
            StuckError: it never will.
        """
        asyncio._set_running_loop(self._as_asyncio)  # noqa: SLF001 - this is how a loop says that it runs
        self._running = True
        try:
            task = context_of(self.world).run(self.create_task, work)
            self._make_calls()
            while not task.done():
                self._pass_time()
                self._make_calls()
            result: T = task.result()
            return result
        finally:
            self._running = False
            asyncio._set_running_loop(None)  # noqa: SLF001 - as above

    def _make_calls(self) -> None:
        """Makes the calls of this instant, and those that they lead to."""
        ready, random = self._ready, self._random
        for _ in range(_MOST_STEPS):
            if not ready:
                break
            place = int(random() * len(ready)) if len(ready) > 1 else 0
            actor = ready[place]
            call = actor.calls.popleft()
            if not actor.calls:
                last = ready.pop()
                if last is not actor:
                    ready[place] = last
            if not call.gone:
                call.context.run(call.callback, *call.args)
        else:
            raise StuckError(f"{actor.name} never waits.")

    def _pass_time(self) -> None:
        """Lets time pass to the next timer."""
        timers = self._timers
        while timers:
            when, _, timer = heappop(timers)
            if not isinstance(timer, Call):
                self.now = when
                if not timer.done():
                    timer.set_result(None)
                return
            actor = timer.actor
            if not timer.gone and not actor.dead:
                self.now = when
                if not actor.calls and not actor.held:
                    self._ready.append(actor)
                actor.calls.append(timer)
                return
        raise StuckError("Nobody has anything to wait for.")

    # What asyncio calls

    def call_soon(self, callback: Callable[..., object], *args: object, context: Context | None = None) -> Call:
        """As asyncio's."""
        if context is None:
            context = copy_context()
        actor = context.get(ACTOR, self.world)
        call = Call(callback, args, context, actor, self.now)
        calls = actor.calls
        if not calls and not actor.held:
            self._ready.append(actor)
        calls.append(call)
        return call

    #: There are no other threads.
    call_soon_threadsafe = call_soon

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> Call:
        """As asyncio's, by the clock of whoever calls."""
        if context is None:
            context = copy_context()
        actor = context.get(ACTOR, self.world)
        when = self.now + delay / actor.rate if delay > 0 else self.now
        call = Call(callback, args, context, actor, when)
        heappush(self._timers, (when, next(self._order), call))
        return call

    def call_at(
        self, when: float, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> Call:
        """As asyncio's."""
        return self.call_later(when - self.now, callback, *args, context=context)

    def pause(self, seconds: float) -> asyncio.Future[None]:
        """As ``asyncio.sleep``, for messages under way: by the world's time, whoever waits."""
        future: asyncio.Future[None] = asyncio.Future(loop=self._as_asyncio)
        heappush(self._timers, (self.now + seconds, next(self._order), future))
        return future

    def create_future(self) -> asyncio.Future[Any]:
        """As asyncio's."""
        return asyncio.Future(loop=self._as_asyncio)

    def create_task(
        self, coro: Coroutine[Any, Any, T], *, name: str | None = None, context: Context | None = None
    ) -> asyncio.Task[T]:
        """As asyncio's."""
        return asyncio.Task(coro, loop=self._as_asyncio, name=name, context=context)

    def begin(self, work: Coroutine[Any, Any, object], context: Context) -> None:
        """Starts a task in that context; what it raises is a trouble."""
        self._begun.append(self.create_task(work, context=context))

    #: Asked with each future that is made: this is the quickest way to say no.
    get_debug = staticmethod(bool)

    def is_running(self) -> bool:
        """As asyncio's."""
        return self._running

    def is_closed(self) -> bool:
        """As asyncio's."""
        return self._closed

    def close(self) -> None:
        """Looks what became of the tasks that were begun, and forgets what was still to come."""
        for task in self._begun:
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                self.troubles.append(repr(error))
        self._closed = True
        for task in asyncio.all_tasks(self._as_asyncio):
            with suppress(RuntimeError):  # It would rather wait for something once more.
                task.get_coro().close()

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Keeps what asyncio has to report, unless all is over and what lay about is cleared away."""
        if not self._closed:
            error = context.get("exception")
            self.troubles.append(f"{context.get('message')} {error!r}")
