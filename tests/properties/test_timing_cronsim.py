"""The engine agrees with cronsim wherever both speak the dialect."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from random import Random

import cronsim
import pytest

from puntual.model.instant import from_datetime, to_datetime
from puntual.timing import rule as rules
from tests.support import timing_oracle as oracle

RULES_A_SEED = 250
# It takes 4-4/16 for 4-31/16, and reads neither L-3 nor weekday ranges that wrap.
NOT_ITS_DIALECT = re.compile(r"\b(\d+)-\1/|L-\d")
# Where the offset changes by less than an hour, or at midnight, cronsim departs from crontab(5): not an oracle there.
ZONES = ("UTC", "America/New_York", "Europe/Berlin", "Australia/Sydney", "America/Los_Angeles")


@pytest.mark.parametrize("seed", range(8))
def test_cronsim_agrees(seed: int) -> None:
    """Random rules give the same next five ticks, half of them asked shortly before a clock change."""
    random = Random(seed)
    compared = 0
    for _ in range(RULES_A_SEED):
        zone = random.choice(ZONES)
        after = datetime(2000, 1, 1, tzinfo=UTC) + timedelta(minutes=random.randrange(60 * 24 * 365 * 50))
        if random.random() < 0.5 and zone != "UTC":
            after = random.choice(oracle.changes(zone, 2020, 2030)) - timedelta(minutes=random.randrange(3_000))
        drawn = oracle.draw_rule(random, near=(2, 30))
        if NOT_ITS_DIALECT.search(drawn.unix):
            continue
        try:
            theirs = cronsim.CronSim(drawn.unix, after.astimezone(oracle.zone(zone)))
            expected = [next(theirs).astimezone(UTC) for _ in range(5)]
        except (cronsim.CronSimError, StopIteration):
            continue
        compared += 1
        rule = rules.CronRule(expr=drawn.unix, dialect="unix")
        compiled = rules.compile(rules.Timetable(rule=rule, timezone=zone))
        found = [to_datetime(tick) for tick in compiled.between(from_datetime(after), from_datetime(expected[-1]), 6)]
        assert found == expected, f"seed {seed}: {drawn.unix} {zone} after {after}"
    assert compared > RULES_A_SEED / 2
