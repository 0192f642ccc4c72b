"""The operations on the database of an app."""

from __future__ import annotations

from puntual.app import App
from puntual.operations.local.backfill import LocalBackfill
from puntual.operations.local.calendars import LocalCalendars
from puntual.operations.local.fleet import LocalFleet
from puntual.operations.local.forecast import LocalForecast
from puntual.operations.local.runs import LocalRuns
from puntual.operations.local.schedules import LocalSchedules

__all__ = ["LocalOperations"]


class LocalOperations(LocalSchedules, LocalBackfill, LocalCalendars, LocalForecast, LocalRuns, LocalFleet):
    """``Operations`` on the database of an app that is open."""

    def __init__(self, app: App) -> None:
        super().__init__(app)
