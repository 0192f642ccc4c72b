"""What is to come: the ticks of all schedules and the runs that are pending, by the minute."""

from __future__ import annotations

import asyncio
from typing import Final

from puntual.app import App
from puntual.engine.forecast import LONGEST_US, Window, forecast
from puntual.model.errors import InvalidError
from puntual.model.instant import DAY, MINUTE, Instant
from puntual.operations import filters
from puntual.operations.contract import Json
from puntual.operations.filters import Moment
from puntual.operations.local.base import Local
from puntual.operations.shapes.forecast import forecast_shape

_COUNTED: Final = 100_000


class LocalForecast(Local):
    """``ForecastOperations``."""

    def __init__(self, app: App) -> None:
        super().__init__(app)
        # One after the other: many at once would share the processor with the engine of this process.
        self._foreseeing = asyncio.Lock()

    async def forecast(self, since: str | None = None, until: str | None = None) -> Json:
        """Runs by the minute, from ``since`` (now) until ``until`` (a day later)."""
        store = self._app.store
        now = await store.now()
        window = _window(since, until, Moment(now, self._app.settings.timezone))
        async with self._foreseeing:
            schedules, paused = await store.list_schedules(), await store.paused_all()
            due = await store.due_by_minute(max(window.since, now), window.until, limit=_COUNTED + 1)
            told = await asyncio.to_thread(forecast, schedules, paused, window, now)
            more = sum(held for _, held in due) > _COUNTED
            return {**await asyncio.to_thread(forecast_shape, told, dict(due), schedules, more=more)}


def _window(since: str | None, until: str | None, moment: Moment) -> Window:
    """Whole minutes.

    Raises:
        InvalidError: they lie in the past, are none, or too many.
    """
    begin = moment.now if since is None else filters.later(since, "since", moment)
    end = begin + DAY if until is None else filters.later(until, "until", Moment(begin, moment.timezone), start="since")
    first, last = begin // MINUTE * MINUTE, _up(end)
    if last - first > LONGEST_US + MINUTE:
        raise InvalidError(f"until lies more than {LONGEST_US // DAY} days after since: ask for less.", field="until")
    return Window(first, last)


def _up(instant: Instant) -> Instant:
    return -(-instant // MINUTE) * MINUTE
