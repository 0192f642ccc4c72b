from __future__ import annotations

import msgspec
import pytest

from puntual.manifest import manifest_schema, read_manifest, to_manifest
from puntual.manifest.schedules import keep_rule
from puntual.model.instant import LATEST, format_instant, parse_instant
from puntual.operations.local import LocalOperations
from puntual.testing import ManualApp
from puntual.timing import rule as rules
from puntual.timing.rule import Timetable
from tests.support.manifest import context, fault, read, read_spec, stored

FORTNIGHTS = """\
schedules:
  payday:
    rrule: |
      DTSTART:20260227T170000
      RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=FR
    timezone: America/New_York
    task: a.b
  month-end:
    rrule: FREQ=MONTHLY;BYMONTHDAY=-1
    anchor: 2026-01-31T09:00
    timezone: Europe/Madrid
    dst_gap: skip
    task: a.b
"""


def ticks(timetable: str, count: int) -> list[str]:
    """The first ticks after the beginning of 2026."""
    compiled = rules.compile(msgspec.json.decode(timetable, type=Timetable))
    return [format_instant(tick) for tick in compiled.between(parse_instant("2026-01-01T00:00:00Z"), LATEST, count)]


def test_a_recurrence_rule_has_a_key_of_its_own() -> None:
    """With its DTSTART on a line of its own, or as the anchor beside it, both on the clock of the zone."""
    one, other = read(FORTNIGHTS).schedules
    assert ticks(one.spec.timetable, 2) == ["2026-02-27T22:00:00Z", "2026-03-13T21:00:00Z"]
    assert ticks(other.spec.timetable, 3) == ["2026-01-31T08:00:00Z", "2026-02-28T08:00:00Z", "2026-03-31T07:00:00Z"]


def test_what_is_exported_is_read_back_to_the_same_rules() -> None:
    """As it was written, lines and all."""
    specs = [schedule.spec for schedule in read(FORTNIGHTS).schedules]
    text = to_manifest([stored(spec) for spec in specs])
    again = read_manifest(text, source="m.yaml", context=context())
    assert {spec.name: spec for spec in specs} == {schedule.spec.name: schedule.spec for schedule in again.schedules}


def test_a_rule_applied_again_is_no_change() -> None:
    """A year later too: nothing of it depends on when it was written."""
    old = read_spec("rrule: 'FREQ=DAILY;INTERVAL=3', start: 2026-01-01T09:00, timezone: UTC, task: a.b")
    later = context(now=parse_instant("2027-06-01T00:00:00Z"))
    text = "schedules: {job: {rrule: 'FREQ=DAILY;INTERVAL=3', start: 2026-01-01T09:00, timezone: UTC, task: a.b}}"
    new = read_manifest(text, source="m.yaml", context=later).schedules[0].spec
    assert keep_rule(new, old) is old


def test_a_rule_and_what_it_leaves_out_stand_together() -> None:
    """What a calendar has as EXDATE."""
    spec = read_spec(
        "rrule: 'FREQ=DAILY;BYHOUR=9;BYMINUTE=0', start: 2026-01-01T00:00, except: 2026-01-02, timezone: UTC, task: a.b"
    )
    assert ticks(spec.timetable, 2) == ["2026-01-01T09:00:00Z", "2026-01-03T09:00:00Z"]


@pytest.mark.parametrize(
    ("keys", "field", "says"),
    [
        ("rrule: FREQ=DAILY;FOO=1", "schedules.job.rrule", "'FOO' is no part of a recurrence rule"),
        ("rrule: FREQ=WEEKLY;INTERVAL=2", "schedules.job.anchor", "depends on a DTSTART"),
        ("rrule: 5", "schedules.job.rrule", "a recurrence rule like FREQ=WEEKLY"),
        ("rrule: FREQ=MINUTELY, every: 5m", "schedules.job.rrule", "both say when it is due"),
        ("rrule: FREQ=MINUTELY, lang: en", "schedules.job.lang", "a language belongs to phrases"),
        (
            "when: FREQ=MINUTELY",
            "schedules.job.when",
            "a recurrence rule is declared: rrule in a manifest, --dialect rrule in a shell",
        ),
    ],
)
def test_a_rule_that_cannot_be_read_is_named_with_its_key(keys: str, field: str, says: str) -> None:
    """A recurrence rule is declared, so `when` does not take it for one."""
    error = fault(f"{keys}, task: a.b")
    assert error.field == field
    assert says in error.message


def test_the_schema_has_the_key() -> None:
    """So an editor offers it."""
    schema = msgspec.json.decode(msgspec.json.encode(manifest_schema()))["$defs"]["schedule"]
    assert schema["properties"]["rrule"]["type"] == "string"
    assert {"required": ["rrule"]} in schema["allOf"][0]["oneOf"]


async def test_a_schedule_with_a_rule_is_applied_run_and_exported() -> None:
    """From the manifest to its runs, and back to a manifest that changes nothing."""
    manual = ManualApp(start="2026-03-02T12:00:00Z")

    @manual.task(name="wages.pay")
    def pay() -> None:
        """Does nothing."""

    text = """
        schedules:
          payday:
            rrule: "DTSTART:20260227T170000 RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=FR;UNTIL=20260420T000000Z"
            timezone: America/New_York
            task: wages.pay
    """
    async with manual:
        operations = LocalOperations(manual.app)
        await operations.apply([{"text": text, "source": "m.yaml"}], dry_run=False, prune=False, take=False)
        await manual.advance("80d")
        ran = sorted(f"{run.tick_at:%Y-%m-%dT%H:%M:%SZ}" for run in await manual.runs() if run.tick_at is not None)
        assert ran == ["2026-03-13T21:00:00Z", "2026-03-27T21:00:00Z", "2026-04-10T21:00:00Z"]
        exported = [{"text": (await operations.export())["manifest"], "source": "e.yaml"}]
        again = await operations.apply(exported, dry_run=True, prune=False, take=False)
        assert again["unchanged"] == ["payday"]


async def test_the_api_says_how_a_rule_is_read() -> None:
    """In both languages, with its ticks and the form that is stored."""
    async with ManualApp(start="2026-03-02T12:00:00Z") as manual:
        body = {"expr": "FREQ=DAILY;INTERVAL=2", "dialect": "rrule", "anchor": "2026-03-01T09:00:00Z", "count": 1}
        reply = await LocalOperations(manual.app).parse(body)
    assert reply["fires"] == ["2026-03-03T09:00:00Z"]
    assert reply["sentence"] == {
        "en": "At 09:00 every 2 days, counted from 2026-03-01T09:00:00 (UTC)",
        "es": "A las 09:00 cada 2 días, contando desde 2026-03-01T09:00:00 (UTC)",
    }
    rule = {"type": "rrule", "expr": "FREQ=DAILY;INTERVAL=2", "dtstart": "2026-03-01T09:00:00", "timezone": "UTC"}
    assert reply["rule"] == rule
