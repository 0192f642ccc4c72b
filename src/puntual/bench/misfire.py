"""What it costs to decide ten years of ticks that nobody was there to plan, from reading the schedule to the commit."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from puntual.app import App
from puntual.bench.context import Bench, Measured
from puntual.engine import edit
from puntual.engine.edit import Moment
from puntual.engine.plan import plan
from puntual.manifest import read_schedule
from puntual.model.instant import DAY
from puntual.model.schedule import Pause
from puntual.store.requests import PlanView, PlanWrite, ScheduleWrite, Selection

Fields: TypeAlias = Mapping[str, object]

_TEN_YEARS: Final = 3_653 * DAY
_EVERY_SECOND: Final[Fields] = {"every": "1s"}
_CRON: Final[Fields] = {"cron": {"expr": "* * * * * *", "dialect": "seconds"}, "timezone": "Europe/Madrid"}
_ALL: Final[Fields] = {**_EVERY_SECOND, "misfire_policy": "fire_all", "overlap": "allow_all"}


async def ten_years(bench: Bench) -> dict[str, Measured]:
    """A schedule of every second that was made ten years ago and is looked at for the first time: one round of each."""
    app = await bench.app()
    rounds = bench.choose(20, 2)
    async with app:
        found = {}
        for name, fields in (("misfire_ms", _EVERY_SECOND), ("misfire_cron_ms", _CRON), ("misfire_all_ms", _ALL)):
            times = [await _one(app, f"{name}-{number}", fields) for number in range(rounds)]
            found[name] = Measured(statistics.median(times))
    return found


async def _one(app: App, name: str, fields: Fields) -> float:
    """Milliseconds of one plan."""
    spec = read_schedule(name, {**fields, "task": "bench"}, app.context()).spec
    now = app.clock.now()

    def create(_views: Sequence[PlanView], paused_all: Pause | None, then: int) -> list[ScheduleWrite]:
        return [edit.create(spec, app.core.new_id(), Moment(now=then, paused_all=paused_all))]

    def remove(views: Sequence[PlanView], paused_all: Pause | None, then: int) -> list[ScheduleWrite]:
        return [edit.remove(view, Moment(now=then, paused_all=paused_all)) for view in views]

    only = Selection(names=(name,))
    await app.store.change_schedules(only, create, now=now - _TEN_YEARS)
    before = time.perf_counter()
    planned = await app.store.plan(_decide, now=now)
    taken = (time.perf_counter() - before) * 1000
    assert planned.schedules == 1
    await app.store.change_schedules(only, remove, now=now)
    return taken


def _decide(views: Sequence[PlanView], paused_all: Pause | None, now: int) -> list[PlanWrite]:
    return [plan(view, paused_all, now) for view in views]
