"""Enqueue: pending runs are inserted, unless their id stands already or their unique key is held."""

from __future__ import annotations

from collections.abc import Sequence

from puntual.model.run import NewRun
from puntual.store.postgres.session import Session
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Enqueued


class Enqueuer:
    """Puts calls that arrive together into one statement, large ones through COPY."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def enqueue(self, runs: Sequence[NewRun], *, now: int | None) -> list[Enqueued]:
        """As ``RunStore.enqueue``."""
        raise NotImplementedError


async def insert(tx: Tx, runs: Sequence[NewRun]) -> list[Enqueued]:
    """Inserts inside a transaction that somebody else began: plans, follow-ups, triggers."""
    raise NotImplementedError
