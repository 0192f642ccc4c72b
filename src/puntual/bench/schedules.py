"""Thousands of schedules that all fire at the same instants: how late, whether all, and whether none twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Final

from puntual.app import App
from puntual.bench.context import Bench, Measured, percentile, until
from puntual.manifest import read_schedule
from puntual.model.handle import Run
from puntual.model.instant import to_datetime
from puntual.model.run import NewRun

_PERIOD_US: Final = 10_000_000
_LEAD_US: Final = 3_000_000
_WARM: Final = 200
TASK: Final = "bench.tick"
_CHUNK: Final = 1_000
#: How long after the last instant a tick is waited for before it counts as missed.
_PATIENCE_US: Final = 15_000_000
_LOOK: Final = 0.1
_GRACE: Final = 0.5


class Ticks:
    """What the handlers saw: which schedule, which tick, how late."""

    def __init__(self) -> None:
        self.seen: Counter[tuple[str, int]] = Counter()
        self.due: dict[tuple[str, int], int] = {}
        self.late: dict[tuple[str, int], float] = {}

    def note(self, schedule: str, tick_at: int, due_at: int, now: int) -> None:
        """A handler's first line."""
        self.seen[schedule, tick_at] += 1
        self.due.setdefault((schedule, tick_at), due_at)
        self.late.setdefault((schedule, tick_at), (now - due_at) / 1000)


async def same_instant(bench: Bench) -> dict[str, Measured]:
    """Every ten seconds, all of them; only instants that come after everything was set up are counted."""
    count, instants = bench.choose(10_000, 300), bench.choose(3, 1)
    app = await bench.app()
    ticks = Ticks()

    @app.task(name=TASK)
    async def tick(run: Run) -> None:
        ticks.note(run.row.schedule or "", run.row.tick_at or 0, run.row.due_at, app.clock.now())

    async with app:
        anchor = app.clock.now() + _LEAD_US
        await _put(bench, app, count, anchor)
        async with app.running():
            await warm(app, ticks)
            first = _first_instant(anchor, app.clock.now())
            chosen = [first + number * _PERIOD_US for number in range(instants)]
            await _until_all(app, ticks, chosen, count)
    wanted = {(_name(number), instant) for number in range(count) for instant in chosen}
    late = [ticks.late[key] for key in wanted if key in ticks.late]
    return {
        "schedules_p99_ms": Measured(percentile(late, 99) if late else float("inf")),
        "schedules_missed": Measured(sum(key not in ticks.seen for key in wanted)),
        "schedules_doubled": Measured(sum(times > 1 for times in ticks.seen.values())),
    }


async def _put(bench: Bench, app: App, count: int, anchor: int) -> None:
    fields = {"every": "10s", "anchor": to_datetime(anchor).isoformat(), "task": TASK}
    context = app.context()
    for start in range(0, count, _CHUNK):
        names = [_name(number) for number in range(start, min(start + _CHUNK, count))]
        await app.schedules.put_many([read_schedule(name, fields, context) for name in names])
        bench.progress(start, count)


async def warm(app: App, ticks: Ticks) -> None:
    """A little work, from which the worker learns how long a run takes, and so how many to claim ahead."""
    core = app.core
    await app.runs.enqueue([NewRun(id=core.new_run_id(), task=TASK) for _ in range(_WARM)])
    await until(lambda: ticks.seen["", 0] >= _WARM, _LOOK)
    ticks.seen.clear()
    ticks.due.clear()


def _first_instant(anchor: int, now: int) -> int:
    """The first one that is far enough away for its ticks to be planned before."""
    periods = max(-(-(now + _LEAD_US // 2 - anchor) // _PERIOD_US), 0)
    return anchor + periods * _PERIOD_US


async def _until_all(app: App, ticks: Ticks, chosen: list[int], count: int) -> None:
    """Waits for every tick of the instants, and a while longer than that for one that does not come."""
    wanted = set(chosen)
    given_up_at = chosen[-1] + _PATIENCE_US

    def over() -> bool:
        found = sum(tick_at in wanted for _, tick_at in ticks.seen)
        return found >= count * len(chosen) or app.clock.now() >= given_up_at

    await until(over, _LOOK)
    # A second run of a tick would be on its way by now.
    await asyncio.sleep(_GRACE)


def _name(number: int) -> str:
    return f"bench-{number:05d}"
