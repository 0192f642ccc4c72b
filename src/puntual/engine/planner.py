"""The planner's loop: looks at the schedules whose time has come, on any node, with no leader."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from puntual.engine.held import StoreTime
from puntual.engine.plan import plan, set_back
from puntual.model.payload import safe_text
from puntual.model.schedule import Pause
from puntual.store.contract import Store
from puntual.store.requests import PlanView, PlanWrite
from puntual.wake.contract import Wake

_BATCH = 500
_IDLE_POLL = 1.0
_SOONEST = 0.001

log = structlog.get_logger("puntual.engine")


class Planner:
    """Plans until nothing is due to be looked at, then waits for the next look, a hint, or a second.

    ``schedules`` and ``runs`` count the schedules that it moved on and the runs that it planned.
    """

    def __init__(self, store: Store, wake: Wake, *, time: StoreTime) -> None:
        self._store = store
        self._wake = wake
        self._time = time
        self.next_look_at: int | None = None
        self.schedules = 0
        self.runs = 0

    async def step(self) -> float:
        """One round."""
        asked_at = self._time.steady()
        planned = await self._store.plan(_decide, limit=_BATCH)
        self._time.heard(planned.now, asked_at=asked_at)
        self.schedules += planned.schedules
        self.runs += planned.runs
        self.next_look_at = planned.now if planned.full else planned.next_look_at
        self._wake.hint(planned.queues)
        if planned.full:
            return 0
        if planned.next_look_at is None:
            return _IDLE_POLL
        return max(min((planned.next_look_at - planned.now) / 1_000_000, _IDLE_POLL), _SOONEST)


def _decide(views: Sequence[PlanView], paused_all: Pause | None, now: int) -> list[PlanWrite]:
    """Each schedule alone: one that cannot be planned is set back and named, and the others go on."""
    writes = []
    for view in views:
        try:
            writes.append(plan(view, paused_all, now))
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one schedule is its own affair
            trouble = safe_text(error, limit=500)
            log.warning("plan.set_back", schedule=view.schedule.name, error=trouble)
            writes.append(set_back(view, now, trouble))
    return writes
