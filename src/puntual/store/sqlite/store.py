"""The store on SQLite: each operation of the contract, put in line for the thread that owns its connection."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from random import SystemRandom

from puntual.model.clock import Clock
from puntual.model.errors import StoreDataError, StoreUnavailableError
from puntual.model.fleet import Queue, Token, Worker
from puntual.model.run import NewRun, Run
from puntual.model.schedule import Pause, Schedule, Tick
from puntual.store.requests import (
    Beat,
    BeatReply,
    Claimed,
    ClaimRequest,
    DecideChange,
    DecideLost,
    DecidePlan,
    Enqueued,
    Page,
    Planned,
    Rescued,
    Response,
    Retention,
    RunEdit,
    RunFilter,
    Selection,
    Settled,
    Settlement,
    Snapshot,
    TickFilter,
)
from puntual.store.contract import HeartbeatLine
from puntual.store.sqlite import admin, claims, control, enqueue, history, listing, schedules, settle, ticks, workers
from puntual.store.sqlite.cancel import cancel
from puntual.store.sqlite.heartbeat import InlineHeartbeatLine, SqliteHeartbeatLine
from puntual.store.sqlite.lanes import InlineLane, Lane
from puntual.store.sqlite.opening import open_lanes
from puntual.store.sqlite.session import Surroundings


class SqliteStore:
    """One file, or ``:memory:``.

    Args:
        path: the file; ``:memory:`` is inline by its nature.
        clock: where time comes from when an operation is given none; only ``now()`` is used.
        retention: how long what is over is kept.
        inline: no threads at all: each operation is done at once, on the caller's thread and on one connection.
        random: numbers in [0, 1), for the jitter of waits.
    """

    def __init__(
        self,
        path: str,
        *,
        clock: Clock,
        retention: Retention = Retention(),  # noqa: B008 - a frozen value
        inline: bool = False,
        random: Callable[[], float] = SystemRandom().random,
    ) -> None:
        self._around = Surroundings(path, clock, retention, random)
        self._inline = inline
        self._lanes: tuple[Lane, Lane] | None = None
        self._shares = claims.Shares()

    @property
    def _writer(self) -> Lane:
        return self._open_lanes()[0]

    @property
    def _reader(self) -> Lane:
        return self._open_lanes()[1]

    def _open_lanes(self) -> tuple[Lane, Lane]:
        if self._lanes is None:
            raise StoreUnavailableError("The store is not open: open it before it is used.")
        return self._lanes

    # The pending list

    async def enqueue(self, runs: Sequence[NewRun], *, now: int | None = None) -> list[Enqueued]:
        """As ``RunStore.enqueue``."""
        rows = enqueue.new_rows(runs)
        return await self._writer.call_joint(enqueue.enqueue_calls, rows, now=now)

    async def claim(self, request: ClaimRequest, *, now: int | None = None) -> Claimed:
        """As ``RunStore.claim``."""
        return await self._writer.call(lambda tx: claims.claim(tx, request, self._shares), now=now)

    async def settle(self, settlements: Sequence[Settlement], *, now: int | None = None) -> Settled:
        """As ``RunStore.settle``; a batch that fails on data is done again, carefully: nothing of it was written."""
        try:
            return await self._writer.call(lambda tx: settle.settle(tx, settlements), now=now)
        except StoreDataError:
            return await self._writer.call(lambda tx: settle.settle_carefully(tx, settlements), now=now)
