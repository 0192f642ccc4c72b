"""When runs have really ended: what was given back unstarted is settled too, and must not be taken for work done."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final, cast

from puntual.app import App
from puntual.bench.context import until
from puntual.model.run import RunState
from puntual.store.contract import Store
from puntual.store.requests import Claimed, ClaimRequest, Settled, Settlement

_LOOK: Final = 0.002


class CountingStore:
    """A store, counting the runs that ended, and the transactions that took and ended them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.claims = 0
        self.settles = 0
        self.ended = 0

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the store has
        return getattr(self._store, name)

    async def claim(self, request: ClaimRequest, *, now: int | None = None) -> Claimed:
        """As ``RunStore.claim``."""
        claimed = await self._store.claim(request, now=now)
        self.claims += bool(claimed.runs)
        return claimed

    async def settle(self, settlements: Sequence[Settlement], *, now: int | None = None) -> Settled:
        """As ``RunStore.settle``."""
        settled = await self._store.settle(settlements, now=now)
        back = {one.id for one in settlements if one.transition.state is RunState.PENDING}
        self.settles += 1
        self.ended += sum(id not in back for id in settled.written)
        return settled


def count_ends(app: App) -> CountingStore:
    """Gives an app that is not open yet a store that counts."""
    store = CountingStore(app.store)
    app.connect_to(cast("Store", store), app.clock)
    return store


async def seconds_to_end(app: App, store: CountingStore, count: int) -> float:
    """From before the engine starts until that many runs are written down as ended."""
    started = time.perf_counter()
    async with app.running():
        await until(lambda: store.ended >= count, _LOOK)
        return time.perf_counter() - started
