"""The whole record of a schedule's ticks, and that it has no hole."""

from __future__ import annotations

from collections.abc import Sequence

from puntual import App
from puntual.model.schedule import Tick
from puntual.store.requests import Page, TickFilter


async def all_ticks(app: App, name: str) -> list[Tick]:
    """The whole record of one schedule, oldest first."""
    ticks: list[Tick] = []
    after = None
    while page := await app.schedules.ticks(TickFilter(schedule=name), Page(limit=1000, after=after)):
        ticks += page
        after = f"{page[-1].tick_at}:{page[-1].number}:{name}"
    return sorted(ticks, key=lambda tick: tick.number)


def check_numbered(ticks: Sequence[Tick]) -> None:
    """Each tick has one fate: they are numbered from one without a hole, and none comes before the one before it."""
    expected, last = 1, 0
    for tick in ticks:
        assert tick.number == expected, "a tick is missing from the record, or stands twice"
        assert tick.tick_at > last, "a tick was repeated"
        expected += tick.count
        last = tick.last_tick_at
