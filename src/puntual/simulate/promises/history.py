"""What was asked of every schedule, and when: the rule, the policies and the pauses under which each tick came due."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from puntual.model.schedule import Pause
from puntual.store.requests import ScheduleWrite


class ScheduleHistory:
    """All edits that were committed, in their order, with the database's time of each."""

    def __init__(self) -> None:
        self._writes: list[tuple[int, ScheduleWrite]] = []
        self._pauses: list[tuple[int, Pause]] = []

    def wrote(self, now: int, writes: Sequence[ScheduleWrite]) -> None:
        """Schedules were created, edited, paused, resumed, removed or triggered."""
        self._writes += [(now, write) for write in writes]

    def paused_all(self, now: int, pause: Pause) -> None:
        """Everything was paused, or resumed."""
        self._pauses.append((now, pause))

    def copy(self) -> ScheduleHistory:
        """As it is now: what stays after a failover."""
        return copy.deepcopy(self)
