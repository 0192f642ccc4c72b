"""Recurrence rules against a walk over every day or second, far from their start, and against python-dateutil."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from random import Random

import pytest
from dateutil.rrule import rrulestr

from puntual.model.errors import InvalidRuleError
from puntual.model.instant import SECOND, Instant
from puntual.timing import rule as rules
from puntual.timing.recurrence.rule import RruleRule
from puntual.timing.rule import Compiled, Timetable
from tests.support.rrule_walk import UNITS, Drawn, draw, instants, walls

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZONES = ("UTC", "America/New_York", "Australia/Lord_Howe", "Europe/Madrid", "America/Havana", "Asia/Kathmandu")
POLICIES = (("boundary", "first"), ("shift", "last"), ("skip", "both"))


def compiled(rule: Drawn, zone: str, gap: str = "skip", fold: str = "first") -> Compiled | None:
    """The rule compiled from its stored form; None where it never fires."""
    stored = Timetable(
        rule=RruleRule(expr=rule.text, dtstart=f"{rule.start:%Y-%m-%dT%H:%M:%S}", dst_gap=gap, dst_fold=fold),  # type: ignore[arg-type]  # drawn from the names
        timezone=zone,
    )
    try:
        return rules.compile(stored)
    except InvalidRuleError as error:
        if "never fires" in error.message:
            return None
        raise


def instant(moment: datetime) -> Instant:
    """The instant of a datetime in UTC."""
    return (moment - EPOCH) // timedelta(seconds=1) * SECOND


def check(found: Compiled | None, want: list[Instant], low: Instant, high: Instant, text: str) -> None:
    """All three questions, over one window, against the instants that lie in it."""
    if found is None:
        assert not want, text
        return
    assert found.between(low, high, len(want) + 1) == want, text
    assert found.count(low, high, 10**9) == len(want), text
    back = found.previous(high)
    for tick in reversed(want):
        assert back == tick, text
        back = found.previous(tick - 1)
    assert back is None or back <= low, text


@pytest.mark.parametrize("freq", ["YEARLY", "MONTHLY", "WEEKLY", "DAILY"])
@pytest.mark.parametrize("seed", range(4))
def test_rules_of_days_are_what_a_walk_finds(freq: str, seed: int) -> None:
    """Whatever the parts, the zone and the policies, and however long ago the rule began."""
    random = Random(f"{freq}{seed}")
    for _ in range(60):
        rule = draw(random, freq)
        year = max(rule.start.year, 1990) + random.choice((0, 1, 2, 7, 35, 48))
        first, end = (datetime(at, 1, 1, tzinfo=UTC) for at in (year, year + random.choice((1, 1, 3))))
        zone, (gap, fold) = random.choice(ZONES), random.choice(POLICIES)
        # Far from the ends of the window, since a zone's offset moves instants over them.
        low, high = (instant(edge) for edge in (first + timedelta(days=2), end - timedelta(days=2)))
        real = [instant(moment) for moment in instants(walls(rule, first, end), zone, gap, fold)]
        want = [tick for tick in real if low < tick <= high]
        check(compiled(rule, zone, gap, fold), want, low, high, f"{rule.start} {rule.text} {zone} {gap} {fold} {year}")


@pytest.mark.parametrize("freq", ["HOURLY", "MINUTELY", "SECONDLY"])
@pytest.mark.parametrize("seed", range(4))
def test_rules_within_the_day_are_what_a_walk_finds(freq: str, seed: int) -> None:
    """The walk counts periods from the start; the rule is asked about a few hours or weeks, years later."""
    random = Random(f"{freq}{seed}")
    span = {"HOURLY": timedelta(days=60), "MINUTELY": timedelta(days=3), "SECONDLY": timedelta(hours=2)}[freq]
    for _ in range(40):
        rule = draw(random, freq)
        first = rule.start + timedelta(days=random.choice((-1, 0, 30, 4_000, 9_000)), seconds=random.randrange(86_400))
        # Each second of a day is many: their zone is UTC, so that the walk needs no more than the window.
        zone = "UTC" if freq == "SECONDLY" else random.choice(ZONES)
        gap, fold = random.choice(POLICIES)
        low, high = (instant(edge) for edge in (first, first + span))
        margin = timedelta(seconds=1) if freq == "SECONDLY" else timedelta(days=1)
        found = walls(rule, first - margin, first + span + margin)
        want = [tick for moment in instants(found, zone, gap, fold) if low < (tick := instant(moment)) <= high]
        check(compiled(rule, zone, gap, fold), want, low, high, f"{rule.start} {rule.text} {zone} {gap} {fold} {first}")


@pytest.mark.parametrize("freq", ["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY"])
def test_rules_are_those_of_dateutil_where_it_follows_the_rfc(freq: str) -> None:
    """Where it numbers weeks over years, takes ``MO,1FR`` for both or chooses from half a week, it is not asked."""
    random = Random(freq)
    end = instant(datetime(2050, 1, 1, tzinfo=UTC))
    for _ in range(120):
        rule = draw(random, freq)._replace(weeks=())
        if freq == "WEEKLY":
            rule = rule._replace(positions=())
        if len({bool(which) for which, _ in rule.days}) > 1:
            continue
        ours = compiled(rule, "UTC")
        found = [] if ours is None else ours.between(-(10**18), end, 50)
        if len(found) < 50:
            # What comes seldom or never, it looks for up to the year 9999, for minutes.
            continue
        text = f"DTSTART:{rule.start:%Y%m%dT%H%M%SZ}\nRRULE:{rule.text}"
        theirs = islice(rrulestr(text).xafter(rule.start, inc=True), 50)
        assert found == [instant(tick) for tick in theirs], text


def test_a_count_ends_with_the_last_of_so_many_ticks() -> None:
    """The end is found without walking from the start, and is the tick that a walk ends at."""
    random = Random(5)
    for _ in range(60):
        freq = random.choice(["YEARLY", "MONTHLY", "WEEKLY", "DAILY", *UNITS])
        rule, count = draw(random, freq), random.randint(1, 70)
        free = compiled(rule, "America/New_York")
        if free is None:
            continue
        stored = RruleRule(
            expr=f"{rule.text};COUNT={count}",
            dtstart=f"{rule.start:%Y-%m-%dT%H:%M:%S}",
            dst_gap="skip",
            dst_fold="first",
        )
        ended = rules.compile(Timetable(rule=stored, timezone="America/New_York"))
        want = free.between(-(10**18), 1 << 60, count)
        assert ended.between(-(10**18), 1 << 60, count + 5) == want, rule.text
        assert ended.previous(1 << 60) == want[-1]
