"""A forecast against a plain count of what is due in each minute, and what it advises."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Final

import msgspec
import pytest

from puntual.engine import forecast as engine_forecast
from puntual.engine.due import compiled, due
from puntual.engine.edit import Moment, create
from puntual.engine.forecast import Forecast, Window, forecast
from puntual.model.errors import InvalidError
from puntual.model.schedule import Pause, Schedule
from puntual.timing.rule import Blackout, Closures, CronRule, IntervalRule, Rule, Timetable
from tests.support.plans import MINUTE, SECOND, START, every, shut

HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR


def made(name: str, rule: Rule, **changes: object) -> Schedule:
    """A schedule of that rule."""
    timetable = msgspec.json.encode(Timetable(rule=rule)).decode()
    spec = msgspec.structs.replace(every(60), name=name, timetable=timetable, **changes)
    write = create(spec, f"id-{name}", Moment(now=START))
    assert write.schedule is not None
    return write.schedule


def cron(name: str, expr: str, **changes: object) -> Schedule:
    """A schedule of a cron expression."""
    return made(name, CronRule(expr=expr, dialect="unix", hash_key=name), **changes)


def counted(schedules: list[Schedule], since: int, until: int) -> Counter[int]:
    """What is due in each minute, one tick after the other."""
    found: Counter[int] = Counter()
    for schedule in schedules:
        spec = schedule.spec
        rule = compiled(spec.timetable)
        tick = rule.next(since - spec.spread_us - spec.jitter_us - 1)
        while tick is not None and tick < until:
            open_ = rule.closed is None or rule.closed.reason(tick) is None
            if open_ and since <= due(spec, tick) < until:
                found[due(spec, tick) // MINUTE * MINUTE] += 1
            tick = rule.next(tick)
    return found


def by_minute(told: Forecast) -> dict[int, int]:
    """The minutes that have something."""
    return {told.window.since + place * MINUTE: count for place, count in enumerate(told.minutes) if count}


@pytest.mark.parametrize("seed", range(20))
def test_minutes_are_those_of_a_plain_count(seed: int) -> None:
    """Dense and rare rules, spread, jitter and blackouts; the first minute counts from now on."""
    random = Random(seed)
    rules: list[Rule] = [
        CronRule(expr=random.choice(("* * * * *", "*/5 * * * *", "7 * * * *", "0 9 * * 1-5")), dialect="unix")
        for _ in range(6)
    ]
    rules += [IntervalRule(period_us=seconds * SECOND, anchor=START + 3 * SECOND) for seconds in (1, 7, 90)]
    schedules = []
    for number, rule in enumerate(rules):
        moved = {"spread_us": random.choice((0, 300)) * SECOND, "jitter_us": random.choice((0, 40)) * SECOND}
        schedule = made(f"s{number}", rule, **(moved if number < 6 or number == 8 else {}))
        if random.random() < 0.5:
            spec = shut(schedule.spec, 20 * MINUTE, random.randrange(1, 900) * SECOND)
            schedule = msgspec.structs.replace(schedule, spec=spec)
        schedules.append(schedule)
    now = START + random.randrange(HOUR)
    window = Window(now // MINUTE * MINUTE, now // MINUTE * MINUTE + 3 * HOUR)
    assert by_minute(forecast(schedules, None, window, now)) == counted(schedules, now, window.until)


def test_a_dense_rule_is_counted_where_its_spread_puts_it() -> None:
    """Whoever ticks each second is not walked, and is moved all the same."""
    schedules = [made("each", IntervalRule(period_us=SECOND, anchor=START), spread_us=90 * SECOND)]
    window = Window(START, START + 10 * MINUTE)
    assert by_minute(forecast(schedules, None, window, START)) == counted(schedules, START, window.until)


def test_a_pause_asks_for_nothing_until_it_ends() -> None:
    """That of a schedule and that of everything."""
    schedule, window = cron("a", "* * * * *"), Window(START, START + HOUR)
    half = Pause(since=START, until=START + HOUR // 2)
    assert sum(forecast([schedule], half, window, START).minutes) == 29
    paused = msgspec.structs.replace(schedule, pause=half)
    assert sum(forecast([paused], None, window, START).minutes) == 29
    assert sum(forecast([schedule], Pause(since=START), window, START).minutes) == 0


def test_what_cannot_be_planned_asks_for_nothing() -> None:
    """It holds up no forecast either."""
    schedule = cron("a", "* * * * *")
    broken = msgspec.structs.replace(schedule, cursor=msgspec.structs.replace(schedule.cursor, trouble="no such zone"))
    assert sum(forecast([broken], None, Window(START, START + HOUR), START).minutes) == 0


def test_one_that_cannot_be_read_spoils_no_other() -> None:
    """Its zone may be unknown here, and no planner has looked at it yet."""
    spec = cron("a", "* * * * *").spec
    nowhere = msgspec.json.encode(
        {"rule": {"type": "cron", "expr": "* * * * *", "dialect": "unix"}, "timezone": "No/Where"}
    )
    broken = msgspec.structs.replace(
        cron("b", "* * * * *"), spec=msgspec.structs.replace(spec, name="b", timetable=nowhere.decode())
    )
    told = forecast([broken, cron("a", "* * * * *")], None, Window(START, START + HOUR), START)
    assert sum(told.minutes) == 60


def test_what_would_take_minutes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A month of many that each move on their own, every minute; less of it is foreseen."""
    monkeypatch.setattr(engine_forecast, "_MOST", 1_000_000)
    schedules = [cron(f"s{number}", "* * * * *", spread_us=300 * SECOND) for number in range(100)]
    with pytest.raises(InvalidError, match="too long"):
        forecast(schedules, None, Window(START, START + 31 * DAY), START)
    assert sum(forecast(schedules, None, Window(START, START + 10 * MINUTE), START).minutes) == 1_000


def test_what_is_closed_all_the_time_is_not_looked_through_for_minutes() -> None:
    """Twenty schedules of each second with fifty blackouts a minute: a month of them is refused before it is begun."""
    schedules = []
    for number in range(20):
        schedule = made(f"s{number}", IntervalRule(period_us=SECOND, anchor=START))
        timetable = msgspec.json.decode(schedule.spec.timetable, type=Timetable)
        blackouts = tuple(
            Blackout(rule=CronRule(expr=f"{second} * * * * *", dialect="seconds"), for_us=10 * SECOND)
            for second in range(50)
        )
        closed = msgspec.structs.replace(timetable, closures=Closures(blackouts=blackouts))
        spec = msgspec.structs.replace(schedule.spec, timetable=msgspec.json.encode(closed).decode())
        schedules.append(msgspec.structs.replace(schedule, spec=spec))
    with pytest.raises(InvalidError, match="too long"):
        forecast(schedules, None, Window(START, START + 31 * DAY), START)
    assert sum(forecast(schedules[:1], None, Window(START, START + 2 * MINUTE), START).minutes) == 2


def test_a_crowd_is_named_with_what_would_flatten_it() -> None:
    """The advice holds: schedules that are given that spread have the peak that it promises."""
    crowd = [cron(f"c{number}", "0 * * * *") for number in range(200)]
    others = [cron(f"o{number}", "H * * * *") for number in range(50)]
    window = Window(START, START + DAY)
    told = forecast([*crowd, *others], None, window, START)
    assert told.crowded[0].runs >= 200
    assert {name for name, _ in told.crowded[0].schedules} >= {schedule.name for schedule in crowd}
    advice = told.advice
    assert advice is not None
    assert advice.after < advice.before / 5
    followed = [
        msgspec.structs.replace(each, spec=msgspec.structs.replace(each.spec, spread_us=advice.spread_us))
        if each.name in advice.schedules
        else each
        for each in (*crowd, *others)
    ]
    assert max(forecast(followed, None, window, START).minutes) == advice.after


def test_nobody_is_advised_to_move_into_the_next_tick() -> None:
    """A spread of more than half of a period is for those alone whose ticks lie further apart."""
    often = [cron(f"often{number}", "*/5 * * * *") for number in range(20)]
    hourly = [cron(f"hourly{number}", "0 * * * *") for number in range(200)]
    advice = forecast([*often, *hourly], None, Window(START, START + DAY), START).advice
    assert advice is not None
    assert advice.spread_us > 5 * MINUTE // 2
    assert set(advice.schedules) == {schedule.name for schedule in hourly}


def test_an_even_load_is_not_crowded() -> None:
    """Nothing is advised where there is nothing to flatten."""
    told = forecast([cron(f"s{number}", "* * * * *") for number in range(50)], None, Window(START, START + DAY), START)
    assert told.crowded == ()
    assert told.advice is None
