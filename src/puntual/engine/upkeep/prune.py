"""Prune: history leaves when its day has come, in short chunks; its ticks stay, folded into stretches."""

from __future__ import annotations

from puntual.model.clock import Clock
from puntual.store.contract import Store

_EVERY = 60.0
_CHUNK = 1_000
_CHUNKS = 50


class Pruner:
    """Once a minute removes what has expired, a bounded number of chunks at a time."""

    def __init__(self, store: Store, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._done_at: float | None = None
        self.pruned = 0

    async def round(self) -> None:
        """Prunes, if it is time."""
        if self._done_at is not None and self._clock.steady() - self._done_at < _EVERY:
            return
        for _ in range(_CHUNKS):
            removed = await self._store.prune(limit=_CHUNK)
            self.pruned += removed
            if removed < _CHUNK:
                break
        self._done_at = self._clock.steady()
