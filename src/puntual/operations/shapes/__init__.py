"""The replies of the API and of ``--json``: pure functions from model values to JSON values, and their types."""

from __future__ import annotations

from puntual.operations.shapes.calendars import CalendarShape, calendar_shape
from puntual.operations.shapes.fleet import (
    QueueShape,
    TokenShape,
    WorkerShape,
    pause_shape,
    queue_shape,
    token_shape,
    worker_shape,
)
from puntual.operations.shapes.forecast import ForecastShape
from puntual.operations.shapes.runs import RunShape, TickShape, fresh_shape, response_shape, run_shape, tick_shape
from puntual.operations.shapes.schedules import ScheduleShape, schedule_shape, written

__all__ = [
    "CalendarShape",
    "ForecastShape",
    "QueueShape",
    "RunShape",
    "ScheduleShape",
    "TickShape",
    "TokenShape",
    "WorkerShape",
    "calendar_shape",
    "fresh_shape",
    "pause_shape",
    "queue_shape",
    "response_shape",
    "run_shape",
    "schedule_shape",
    "tick_shape",
    "token_shape",
    "worker_shape",
    "written",
]
