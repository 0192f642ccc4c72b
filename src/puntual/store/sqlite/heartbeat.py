"""Heartbeats: a connection of its own, so that a busy writer of this process never delays a lease."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from puntual.store.requests import Beat, BeatReply
from puntual.store.sqlite import workers
from puntual.store.sqlite.errors import translate
from puntual.store.sqlite.session import Job, Session, Surroundings

#: A beat that waits longer than this, seconds, is better tried again: the next one says the same.
_PATIENCE = 3.0


class SqliteHeartbeatLine:
    """Opened by the first beat, on the thread that beats."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._session: Session | None = None

    def beat(self, beat: Beat) -> BeatReply:
        """As ``HeartbeatLine.beat``."""
        if self._session is None:
            self._session = self._open()
        job = Job(lambda tx: workers.beat(tx, beat), None)
        self._session.write([job])
        return job.answer()

    def close(self) -> None:
        """As ``HeartbeatLine.close``."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _open(self) -> Session:
        try:
            return Session(self._around.connect(cache_kb=512), self._around, patience=_PATIENCE)
        except sqlite3.Error as error:
            raise translate(error, self._around.path) from error


class InlineHeartbeatLine:
    """Beats on the store's one connection, which stays its store's."""

    def __init__(self, beat: Callable[[Beat], BeatReply]) -> None:
        self._beat = beat

    def beat(self, beat: Beat) -> BeatReply:
        """As ``HeartbeatLine.beat``."""
        return self._beat(beat)

    def close(self) -> None:
        """As ``HeartbeatLine.close``."""
