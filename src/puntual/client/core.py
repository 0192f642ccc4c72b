"""What every client part is made from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, Protocol, TypeVar

import msgspec

from puntual.engine.service import Randomness
from puntual.manifest import ManifestContext
from puntual.model.clock import Clock
from puntual.model.errors import ChangedError
from puntual.model.ids import run_id, run_ids
from puntual.store.contract import Store
from puntual.wake.contract import Wake

#: How often schedules are read again because a calendar changed while they were written.
_TRIES: Final = 5

T = TypeVar("T")


class Block(Protocol):
    """Waits for a coroutine from another thread."""

    def __call__(self, work: Coroutine[Any, Any, T]) -> T:
        """Its result."""
        ...


class Core(msgspec.Struct, frozen=True, kw_only=True):
    """The store, who is woken, where time and chance come from, how manifests are read, and how to wait in a thread."""

    store: Store
    wake: Wake
    clock: Clock
    random: Randomness
    context: Callable[[], ManifestContext]
    block: Block

    async def write_against_calendars(self, write: Callable[[ManifestContext], Awaitable[T]], *, named: bool) -> T:
        """What ``write`` gives, which reads schedules against a context and writes them.

        Where they name calendars (``named``) that is done again if one of these was changed meanwhile.
        """
        if not named:
            return await write(self.context())
        for _ in range(_TRIES - 1):
            try:
                return await write(await self.context_with_calendars())
            except ChangedError:
                # If it was about something else it is refused again.
                continue
        return await write(await self.context_with_calendars())

    async def context_with_calendars(self) -> ManifestContext:
        """What a schedule that names calendars is read against: with what they mean now."""
        known = {each.name: each.days for each in await self.store.list_calendars()}
        return msgspec.structs.replace(self.context(), calendars=known)

    def new_run_id(self) -> str:
        """A fresh id."""
        return run_id(self.clock.now(), self.random.bytes(10))

    def new_run_ids(self, count: int) -> list[str]:
        """Fresh ids for runs that are enqueued together."""
        return run_ids(self.clock.now(), self.random.bytes(10), count)

    def new_id(self) -> str:
        """A random id for anything that is not a run."""
        return self.random.bytes(16).hex()
