"""Whatever a crontab holds, its manifest can be applied, and its schedules are due when cron would have run them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puntual.manifest import Manifest, TargetChecks, read_manifest
from puntual.manifest.crontab import Imported, Reading, import_crontab
from puntual.model.command import check_command
from puntual.model.instant import from_datetime
from puntual.timing import rule as rules
from tests.support import timing_oracle as oracle
from tests.support.manifest import check_http, context

PIECES = st.sampled_from(
    [
        *(" ", "\t", "*", "*/5", "0", "59", "1-5", "mon", "@daily", "@reboot", "~", "5~", "%", "\\", "\\%", "#", "="),
        *("CRON_TZ=", "Europe/Madrid", "A=", "SHELL=", "/bin/bash", "'", '"', "echo x", "${attempt}", ": ", "- ", "|"),
        *("\n", "\r\n", "\0", "\x85", "\u2028", "\ufeff", "\x1b", "&a", "*a", "!!str", "{", "]", "root", "MAILTO="),
        *(
            "\r",
            "\x0b",
            "\xa0",
            "~ * * * * x",
            "* * * * * ",
            "0 0 1 * 1 ",
            "99 * * * * ",
            "HOME=/srv\n",
            "RANDOM_DELAY=5\n",
        ),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=3), max_size=40).map(lambda parts: "".join(parts).encode("utf-8", "replace"))
READINGS = st.builds(
    Reading,
    system=st.booleans(),
    queue=st.none() | st.just("web1"),
    timezone=st.none() | st.just("America/Bogota"),
    source=st.text(max_size=8),
)


def manifest(found: Imported) -> Manifest:
    """The manifest, read with the checks of a real app."""
    checks = TargetChecks(http=check_http, command=lambda args, /, *, field: check_command(args, field=field))
    return read_manifest(found.manifest, source="import", context=context(checks=checks))


@given(TEXTS | st.binary(max_size=200), READINGS)
def test_every_manifest_can_be_applied(data: bytes, reading: Reading) -> None:
    """Each line is a schedule of it, a comment in it, or a variable; none is lost and none is made up."""
    found = import_crontab(data, reading)
    assert tuple(schedule.spec.name for schedule in manifest(found).schedules) == found.schedules
    assert len({*found.schedules}) == len(found.schedules)
    for line in found.left_out:
        assert line.reason
    assert all(letter.isprintable() or letter in "\n\t" for letter in found.manifest)


@given(
    st.lists(st.sampled_from(["0 1 * * * a", "0 2 * * * a", "@daily b x", "@hourly b", "5 5 * * 5 c%in"])), st.randoms()
)
def test_names_do_not_depend_on_the_order_of_lines(lines: list[str], random: Random) -> None:
    """The same lines in another order are the same schedules."""
    shuffled = random.sample(lines, len(lines))
    one, two = (import_crontab("\n".join(some).encode(), Reading()) for some in (lines, shuffled))
    specs = [
        {s.spec.name: (s.spec.source["when"], s.spec.target) for s in manifest(found).schedules} for found in (one, two)
    ]
    assert specs[0] == specs[1]


@pytest.mark.parametrize("seed", range(4))
def test_schedules_are_due_when_cron_would_have_run_them(seed: int) -> None:
    """The ticks of each are those that an oracle finds for its line, on the clock of CRON_TZ, across clock changes."""
    random = Random(seed)
    zones = ("Europe/Madrid", "America/New_York", "Australia/Lord_Howe", "Asia/Tehran", "America/Sao_Paulo", "UTC")
    drawn = []
    lines = []
    for number in range(60):
        zone = random.choice(zones)
        change = random.choice(oracle.changes(zone, 2015, 2018) or (datetime(2016, 2, 28, 23, tzinfo=UTC),))
        local = change.astimezone(oracle.zone(zone))
        rule = oracle.draw_rule(random, near=(local.hour, local.minute), plain=True)
        drawn.append((rule, zone, change))
        lines.append(f"CRON_TZ={zone}\n{rule.unix} job {number}")
    found = import_crontab("\n".join(lines).encode(), Reading())
    schedules = {json.loads(s.spec.target.args)["shell"]: s.spec for s in manifest(found).schedules}
    assert len(schedules) + len(found.left_out) == len(drawn)
    for number, (rule, zone, change) in enumerate(drawn):
        spec = schedules.get(f"job {number}")
        if spec is None:
            # A date that never comes, or a step as long as its field.
            continue
        span = (change - timedelta(days=20), change + timedelta(days=20))
        low, high = (from_datetime(moment) for moment in span)
        compiled = rules.compile(msgspec.json.decode(spec.timetable, type=rules.Timetable))
        expected = oracle.ticks(rule, zone, span, (None, None), seconds=False)
        assert compiled.between(low - 1, high, len(expected) + 1) == expected, f"seed {seed}: {rule.unix} in {zone}"
    assert len(schedules) > 40
