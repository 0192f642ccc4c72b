"""A heartbeat line: a connection and an event loop of its own, for one thread."""

from __future__ import annotations

from puntual.store.postgres.place import Place
from puntual.store.requests import Beat, BeatReply


class PostgresHeartbeatLine:
    """Beats from the thread that calls it; nothing is shared with the store's own connections."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def beat(self, beat: Beat) -> BeatReply:
        """As ``HeartbeatLine.beat``."""
        raise NotImplementedError

    def close(self) -> None:
        """As ``HeartbeatLine.close``."""
