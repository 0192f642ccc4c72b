"""What rules cost: next ticks a second, with calendars too, a phrase compiled, and a day of ten thousand foreseen."""

from __future__ import annotations

import time
from typing import Final

import msgspec

from puntual.bench.context import Bench, Measured
from puntual.engine import edit
from puntual.engine.edit import Moment
from puntual.engine.forecast import Window, forecast
from puntual.model.instant import DAY, parse_instant
from puntual.model.schedule import Schedule, ScheduleSpec, Target
from puntual.timing.calendar import CalendarDays, Otherwise
from puntual.timing.parse import RuleOptions, parse_rule
from puntual.timing.rule import Closures, CronRule, Timetable
from puntual.timing.rule import compile as compile_rule

_RULES: Final = ("*/5 * * * *", "0 9 * * MON-FRI", "30 2 * * *", "0 0 1,15 * *", "every 90s")
_ZONES: Final = ("UTC", "America/New_York")
_START: Final = "2026-01-01T00:00:00Z"
_PHRASES: Final = (
    "every weekday at 9:30",
    "first monday of the month at 8am",
    "every 15 minutes from 9 to 17 on weekdays",
    "cada lunes y jueves a las 6 de la tarde",
    "el último día hábil del mes a las 18:00",
)
_OTHERWISE: Final[tuple[Otherwise, ...]] = ("skip", "next", "previous")
#: Of ten schedules, so many have each of these rules; ``H`` spreads them by their names.
_TEN: Final = (
    *("* * * * *", "*/5 * * * *", "*/5 * * * *", "0 * * * *", "0 * * * *"),
    *("H * * * *", "H * * * *", "H 9 * * *", "H 9 * * *", "0 9 * * 1-5"),
)


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


async def with_calendars(bench: Bench) -> dict[str, Measured]:
    """Daily rules with a calendar of 18 days a year, skipped or moved to the next or the previous business day."""
    count = bench.choose(20_000, 500)
    start = parse_instant(_START, field="start")
    first = start // DAY
    days = CalendarDays(name="holidays", version=1, dates=tuple(first + place * 20 for place in range(12 * 18)))
    rates = []
    for _ in bench.rounds():
        seconds = 0.0
        for otherwise in _OTHERWISE:
            closures = Closures(exclude=("holidays",), otherwise=otherwise, calendars=(days,))
            daily = CronRule(expr="0 9 * * *", dialect="unix")
            rule = compile_rule(Timetable(rule=daily, timezone="America/Bogota", closures=closures))
            tick: int | None = start
            before = time.perf_counter()
            for _ in range(count):
                tick = rule.open_next(tick or start)
            seconds += time.perf_counter() - before
        rates.append(count * len(_OTHERWISE) / seconds)
    return {"next_calendar_per_second": Measured(max(rates))}


async def phrases(bench: Bench) -> dict[str, Measured]:
    """A phrase read in either language, and the rule made ready to be asked, with its sentence and warnings."""
    count = bench.choose(200, 5)
    options = RuleOptions(now=parse_instant(_START, field="start"), timezone="America/Bogota")
    taken = []
    for _ in bench.rounds():
        before = time.perf_counter()
        for _ in range(count):
            for text in _PHRASES:
                parse_rule(text, options=options)
        taken.append((time.perf_counter() - before) / (count * len(_PHRASES)))
    return {"phrase_compile_us": Measured(min(taken) * 1_000_000)}


async def foreseen(bench: Bench) -> dict[str, Measured]:
    """A day of ten thousand schedules: a tenth of each minute, two tenths of every five, the rest hourly or daily."""
    now = parse_instant(_START, field="start")
    schedules = [_schedule(number, now) for number in range(bench.choose(10_000, 200))]
    taken = []
    for _ in bench.rounds():
        before = time.perf_counter()
        forecast(schedules, None, Window(now, now + DAY), now)
        taken.append(time.perf_counter() - before)
    return {"forecast_10k_s": Measured(min(taken))}


def _schedule(number: int, now: int) -> Schedule:
    name = f"s{number}"
    options = RuleOptions(now=now, timezone="America/Bogota", hash_key=name)
    timetable = parse_rule(_TEN[number % len(_TEN)], options=options).timetable
    spec = ScheduleSpec(name=name, timetable=msgspec.json.encode(timetable).decode(), source={}, target=Target("bench"))
    made = edit.create(spec, name, Moment(now=now)).schedule
    assert made is not None
    return made
