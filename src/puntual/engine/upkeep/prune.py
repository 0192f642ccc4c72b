"""Prune: history leaves when its day has come, in short chunks; its ticks stay, folded into stretches."""

from __future__ import annotations

from puntual.model.clock import Clock
from puntual.store.contract import Store

_EVERY = 60.0
_CHUNK = 1_000
_CHUNKS = 50


class Pruner:
    """Once a minute removes what has expired; while there is more it goes on each round, for ``budget`` seconds."""

    def __init__(self, store: Store, *, clock: Clock, budget: float) -> None:
        self._store = store
        self._clock = clock
        self._budget = budget
        self._done_at: float | None = None

    async def round(self) -> None:
        """Prunes, if it is time."""
        began = self._clock.steady()
        if self._done_at is not None and began - self._done_at < _EVERY:
            return
        self._done_at = None
        for _ in range(_CHUNKS):
            if await self._store.prune(limit=_CHUNK) < _CHUNK:
                self._done_at = self._clock.steady()
                return
            if self._clock.steady() - began > self._budget:
                return
