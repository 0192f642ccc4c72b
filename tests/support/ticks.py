"""The whole record of a schedule's ticks, that it has no hole, and that nothing but a pause kept one from running."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from puntual import App
from puntual.model.schedule import Fate, FateReason, Tick
from puntual.store.requests import Page, TickFilter


async def all_ticks(app: App, name: str) -> list[Tick]:
    """The whole record of one schedule, oldest first."""
    ticks: list[Tick] = []
    after = None
    while page := await app.schedules.ticks(TickFilter(schedule=name), Page(limit=1000, after=after)):
        ticks += page
        after = page[-1].key
    return sorted(ticks, key=lambda tick: tick.number)


def check_record(ticks: Sequence[Tick], period_us: int) -> None:
    """Each tick has one fate: one period after the other from the first on, by their instants and by their numbers."""
    assert ticks[0].number == 1, "the first ticks are missing from the record"
    for tick in ticks:
        assert tick.last_tick_at - tick.tick_at == (tick.count - 1) * period_us, "a stretch has more ticks, or fewer"
    for before, tick in pairwise(ticks):
        assert tick.number == before.number + before.count, "a number is missing from the record, or stands twice"
        assert tick.tick_at == before.last_tick_at + period_us, "a tick is missing from the record, or stands twice"


def check_all_ran(ticks: Sequence[Tick]) -> list[Tick]:
    """Each tick has run, but for those of a pause; gives those that ran."""
    others = {(tick.fate, tick.reason) for tick in ticks if tick.fate is not Fate.RAN}
    assert others <= {(Fate.SKIPPED, FateReason.PAUSED)}, "a tick did not run that was not paused"
    return [tick for tick in ticks if tick.fate is Fate.RAN]
