"""Claim: takes what is due, lane by lane from a floor, as far as pauses, limits and shares allow."""

from __future__ import annotations

from puntual.store.postgres.session import Session
from puntual.store.requests import Claimed, ClaimRequest


class Claims:
    """What the claimers of one process remember: the floors of their lanes, and whose turn it is."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def claim(self, request: ClaimRequest, *, now: int | None) -> Claimed:
        """As ``RunStore.claim``."""
        raise NotImplementedError

    def forget(self) -> None:
        """Forgets every floor: they may not hold for the server that is reached next."""
        raise NotImplementedError
