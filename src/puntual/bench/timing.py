"""How many next ticks a second a compiled rule gives, over rules of every kind and two zones."""

from __future__ import annotations

import time
from typing import Final

from puntual.bench.context import Bench, Measured
from puntual.model.instant import parse_instant
from puntual.timing.parse import RuleOptions, parse_rule
from puntual.timing.rule import compile as compile_rule

_RULES: Final = ("*/5 * * * *", "0 9 * * MON-FRI", "30 2 * * *", "0 0 1,15 * *", "every 90s")
_ZONES: Final = ("UTC", "America/New_York")
_START: Final = "2026-01-01T00:00:00Z"


async def next_ticks(bench: Bench) -> dict[str, Measured]:
    """Each rule in each zone, walked forwards from one year's start."""
    count = bench.choose(20_000, 500)
    start = parse_instant(_START, field="start")
    rates = []
    for _ in bench.rounds():
        seconds = 0.0
        for zone in _ZONES:
            for expression in _RULES:
                options = RuleOptions(now=start, timezone=zone, zone_given=True)
                rule = compile_rule(parse_rule(expression, options=options).timetable)
                tick: int | None = start
                before = time.perf_counter()
                for _ in range(count):
                    tick = rule.next(tick or start)
                seconds += time.perf_counter() - before
        rates.append(count * len(_RULES) * len(_ZONES) / seconds)
    return {"next_per_second": Measured(max(rates))}
