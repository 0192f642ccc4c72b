"""The page of rules: each example is due when its table says, or refused in the words that stand there."""

from __future__ import annotations

import re
import shlex
from datetime import datetime
from typing import NamedTuple

import msgspec
import pytest

from puntual.manifest import ManifestErrors, read_manifest
from puntual.model.duration import parse_duration
from puntual.model.errors import InvalidError
from puntual.model.instant import Instant, format_instant, parse_instant
from puntual.model.schedule import MisfirePolicy, Overlap, ScheduleSpec
from puntual.timing import rule as rules
from puntual.timing.calendar import CalendarDays
from puntual.timing.preview import PreviewRequest, preview
from tests.docs.blocks import page
from tests.support.manifest import context
from tests.support.plans import MINUTE, START, History, every

NOW = parse_instant("2026-03-28T12:00:00Z")
PAGE = page("rules")
ROW = re.compile(r"^\| [^|]+ \| `([\"{].*)` \| ([^|]+) \|$", re.MULTILINE)
EXAMPLES = ROW.findall(PAGE)
#: The calendars of the page, as the days that they mean.
EASTER = CalendarDays(name="easter", version=1, dates=tuple(range(20_545, 20_549)))
MARKET = CalendarDays(name="market", version=1, weekdays=(2, 4))
NO_MORE = "then no more"


class Due(NamedTuple):
    """What an example answers: its first ticks, and whether those are all."""

    ticks: list[str]
    over: bool


def answer(example: str, count: int) -> Due:
    """The first ticks of an example, as the page writes them."""
    found = _of_manifest(example, count + 1) if example.startswith("{") else _of_command(example, count + 1)
    return Due([shown(tick) for tick in found[:count]], len(found) <= count)


def _of_command(example: str, count: int) -> list[str]:
    expr, *options = shlex.split(example)
    given = dict(zip(options[::2], options[1::2], strict=True))
    named = {name.removeprefix("--").replace("-", "_"): value for name, value in given.items()}
    request = {"timezone": "UTC", "expr": expr, "after": format_instant(NOW), "count": count, **named}
    fires = preview(msgspec.convert(request, PreviewRequest), now=NOW)["fires"]
    assert isinstance(fires, list)
    return fires


def _of_manifest(example: str, count: int) -> list[str]:
    text = f"defaults: {{timezone: UTC}}\nschedules:\n  job: {{task: a.b, {example[1:-1]}}}"
    known = context(now=NOW, calendars={"easter": EASTER, "market": MARKET})
    (schedule,) = read_manifest(text, context=known).schedules
    compiled = rules.compile(msgspec.json.decode(schedule.spec.timetable, type=rules.Timetable))
    ticks: list[str] = []
    tick: Instant | None = compiled.open_next(NOW)
    while tick is not None and len(ticks) < count:
        ticks.append(format_instant(tick))
        tick = compiled.open_next(tick)
    return ticks


def shown(tick: str) -> str:
    """A tick as the page writes it."""
    moment = datetime.fromisoformat(tick)
    year = "" if moment.year == 2026 else f" {moment.year}"
    return f"{moment:%a} {moment.day} {moment:%b}{year} {moment:%H:%M:%S}".removesuffix(":00")


@pytest.mark.parametrize(("example", "due"), EXAMPLES)
def test_an_example_is_due_when_the_page_says(example: str, due: str) -> None:
    """Or refused, with the words that the page gives."""
    if due.startswith("refused: "):
        with pytest.raises((InvalidError, ManifestErrors)) as caught:
            answer(example, 1)
        assert due.removeprefix("refused: ") in str(caught.value)
        return
    ticks = due.split(", ")
    over = ticks[-1] == NO_MORE
    assert answer(example, len(ticks) - over) == Due(ticks[: len(ticks) - over], over)


CELL = r" ([^|]+) \|"
OVERLAPS = re.findall(rf"^\| `(skip|buffer_one|buffer_all|cancel_other|allow_all)` \|{CELL * 4}$", PAGE, re.MULTILINE)
MISFIRES = re.findall(rf"^\| `(\w+)` \| `(none|\d+\w)` \| `(\w+)` \|{CELL * 3}$", PAGE, re.MULTILINE)


def lived(spec: ScheduleSpec, *, takes: int, until: int, down: range = range(0)) -> dict[int, str]:
    """What became of each tick, by its minute after START, when every run takes so many minutes.

    A planner looks each minute, but not while it is down; a run that is asked to stop ends a minute later.
    """
    history = History(spec)
    ends: dict[str, int] = {}
    became: dict[int, str] = {}
    for minute in (minute for minute in range(1, until) if minute not in down):
        history.live = tuple(run for run in history.live if ends[run] > minute)
        write = history.look(minute * 60, horizon_us=0)
        ends |= {run.id: minute + takes for run in write.runs}
        ends |= dict.fromkeys(write.cancel, minute + 1)
        became |= {((run.tick_at or 0) - START) // MINUTE: f"runs at {clock(minute)}" for run in write.runs}
    for stretch in history.stretches():
        minutes = range((stretch.tick_at - START) // MINUTE, (stretch.last_tick_at - START) // MINUTE + 1)
        became |= dict.fromkeys(minutes, stretch.fate.value)
    return became


def clock(minute: int) -> str:
    """START is 08:00 on the page."""
    return f"{8 + minute // 60:02}:{minute % 60:02}"


@pytest.mark.parametrize(("overlap", "cells"), [(row[0], list(row[1:])) for row in OVERLAPS])
def test_what_a_tick_does_while_a_run_is_live_is_what_the_page_says(overlap: str, cells: list[str]) -> None:
    """For each policy, tick by tick."""
    spec = every(600, overlap=Overlap(overlap), misfire_policy=MisfirePolicy.FIRE_ONCE)
    spec = msgspec.structs.replace(spec, timetable=bounded(spec, 60, 90))
    assert [lived(spec, takes=25, until=200)[minute] for minute in (60, 70, 80, 90)] == cells


@pytest.mark.parametrize(("policy", "grace", "overlap", "cells"), [(*row[:3], list(row[3:])) for row in MISFIRES])
def test_what_becomes_of_misfires_is_what_the_page_says(
    policy: str, grace: str, overlap: str, cells: list[str]
) -> None:
    """For each policy, tick by tick."""
    grace_us = None if grace == "none" else parse_duration(grace)
    spec = every(3600, misfire_policy=MisfirePolicy(policy), misfire_grace_us=grace_us, overlap=Overlap(overlap))
    found = lived(spec, takes=1, until=300, down=range(90, 270))
    assert [found[minute] for minute in (120, 180, 240)] == cells


def bounded(spec: ScheduleSpec, first: int, last: int) -> str:
    """The timetable with ticks from one minute after START to another alone."""
    timetable = msgspec.json.decode(spec.timetable, type=rules.Timetable)
    changed = msgspec.structs.replace(timetable, start=START + first * MINUTE, end=START + last * MINUTE)
    return msgspec.json.encode(changed).decode()


def test_the_page_has_its_tables_of_policies() -> None:
    """Each overlap policy once, and each misfire policy."""
    assert [row[0] for row in OVERLAPS] == [overlap.value for overlap in Overlap]
    assert {row[0] for row in MISFIRES} == {policy.value for policy in MisfirePolicy}


def test_the_page_has_its_examples() -> None:
    """Of every kind of rule, and each of the calendars that they name."""
    assert len(EXAMPLES) > 110
    assert "easter: {dates: [2026-04-02..2026-04-05]}" in PAGE
    assert "market: {weekdays: [tuesday, thursday]}" in PAGE
