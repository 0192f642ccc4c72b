"""Heartbeats: a connection of its own, so that a busy writer of this process never delays a lease."""

from __future__ import annotations

from collections.abc import Callable

from puntual.store.requests import Beat, BeatReply
from puntual.store.sqlite import workers
from puntual.store.sqlite.connection import connect
from puntual.store.sqlite.session import Job, Session, Surroundings


class SqliteHeartbeatLine:
    """Opened by the first beat, on the thread that beats."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._session: Session | None = None

    def beat(self, beat: Beat) -> BeatReply:
        """Renews the lease, waiting its turn for some seconds at most."""
        if self._session is None:
            self._session = Session(connect(self._around.path, cache_kb=512), self._around)
        job = Job(lambda tx: workers.beat(tx, beat), None)
        self._session.write([job])
        return job.answer()

    def close(self) -> None:
        """Closes the connection."""
        if self._session is not None:
            self._session.close()
            self._session = None


class InlineHeartbeatLine:
    """Beats on the store's one connection."""

    def __init__(self, beat: Callable[[Beat], BeatReply]) -> None:
        self.beat = beat

    def close(self) -> None:
        """Leaves the connection to its store."""
