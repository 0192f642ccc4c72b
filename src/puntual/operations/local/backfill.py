"""Backfill as it is asked for: times as people write them, and an answer that accounts for every tick looked at."""

from __future__ import annotations

import re
from typing import Final

from puntual.client.backfill import Backfilled, BackfillOptions
from puntual.engine.backfill import MOST_TICKS
from puntual.model.errors import InvalidRuleError
from puntual.model.instant import SECOND, format_instant
from puntual.model.names import check_queue
from puntual.model.run import Priority
from puntual.model.schedule import Schedule
from puntual.operations import filters
from puntual.operations.bodies import BackfillBody, overlap_of, read_body
from puntual.operations.contract import Json
from puntual.operations.local.base import Local
from puntual.operations.shapes.units import time
from puntual.timing.rule import read_timetable
from puntual.timing.wallclock import parse_wall
from puntual.timing.zone import load_zone

_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


class LocalBackfill(Local):
    """``ScheduleOperations.backfill_schedule``."""

    async def backfill_schedule(self, name: str, body: Json) -> Json:
        """Makes up for ticks of the past."""
        asked = read_body(body, BackfillBody)
        schedule = await self._app.schedules.get(name)
        zone = read_timetable(schedule.spec.timetable).timezone
        moment = filters.Moment(await self._app.store.now(), zone)
        done = await self._app.schedules.backfill(
            name,
            since=_instant(asked.since, "since", moment),
            until=None if asked.until is None else _instant(asked.until, "until", moment),
            dry_run=asked.dry_run,
            options=_options(asked),
        )
        said = [*_paused(done.schedule, moment.now), *await self._warnings.of_tasks([schedule.spec.target.task])]
        return {**_shape(done, dry_run=asked.dry_run), "warnings": said}


def _options(asked: BackfillBody) -> BackfillOptions:
    return BackfillOptions(
        overlap=None if asked.overlap is None else overlap_of(asked.overlap),
        queue=None if asked.queue is None else check_queue(asked.queue),
        priority=None if asked.priority is None else Priority.parse(asked.priority),
        limit=None if asked.limit is None else filters.whole(asked.limit, "limit", most=MOST_TICKS),
    )


def _instant(text: str, field: str, moment: filters.Moment) -> int:
    """The instant that a text names; a date, and a time without an offset, are local to the schedule."""
    try:
        wall = parse_wall(f"{text}T00:00" if _DATE.fullmatch(text) else text, field=field)
    except InvalidRuleError:
        return filters.when(text, field, moment)
    return load_zone(moment.timezone).resolve(wall, "boundary", "first")[0] * SECOND


def _shape(done: Backfilled, *, dry_run: bool) -> Json:
    return {
        "schedule": done.schedule.name,
        "since": format_instant(done.span.since),
        "until": format_instant(done.span.until),
        "dry_run": dry_run,
        "ticks": done.ticks,
        "runs": done.runs,
        "existing": done.existing,
        "skipped": done.skipped,
        "first": [format_instant(tick) for tick in done.first],
        "last": [format_instant(tick) for tick in done.last],
        "next_since": time(done.next_since),
    }


def _paused(schedule: Schedule, now: int) -> list[str]:
    pause = schedule.pause
    if pause is None or not pause.active(now):
        return []
    return [f"{schedule.name} is paused: that holds back its ticks to come, and not these runs"]
