"""The keys ``except``, ``every_nth``, ``max_ticks`` and a list of times: read, refused, kept, and written back."""

from __future__ import annotations

import msgspec
import pytest

from puntual.manifest import begin_now, keep_rule, read_schedule, to_mapping
from puntual.model.instant import DAY, SECOND, format_instant, parse_instant
from puntual.model.schedule import ScheduleSpec
from puntual.timing import rule as rules
from puntual.timing.rule import AnyRule, DaysRule, OnceRule, SelectRule, Timetable
from tests.support.manifest import NOW, context, fault, faults, read_spec

DO = "task: a.b"


def timetable(spec: ScheduleSpec) -> Timetable:
    """Its timetable."""
    return msgspec.json.decode(spec.timetable, type=Timetable)


def selected(keys: str) -> SelectRule:
    """The rule of a schedule with these keys."""
    rule = timetable(read_spec(f"{keys}, {DO}")).rule
    assert isinstance(rule, SelectRule)
    return rule


def fires(spec: ScheduleSpec, count: int = 4) -> list[str]:
    """Its first ticks from now on."""
    ticks = rules.compile(timetable(spec)).between(NOW, NOW + 999 * DAY, count)
    return [format_instant(tick)[:16] for tick in ticks]


def test_one_exception_stands_alone_or_in_a_list() -> None:
    """Beside each kind of rule."""
    days = DaysRule(first="2026-12-24", last="2026-12-24")
    for rule in ("when: '@daily'", "cron: {expr: '@daily'}", "every: 1h", "at: 2027-01-01T00:00"):
        assert selected(f"{rule}, except: 2026-12-24").without == (days,)
        assert selected(f"{rule}, except: [2026-12-24]").without == (days,)
    assert selected("when: [0 9 * * 1, 0 9 * * 2], except: [weekends, 2026-12-24]").without[1] == days


def test_exceptions_are_local_to_the_schedule() -> None:
    """As all of its times are."""
    keys = f"when: 0 9 * * *, except: [2026-05-29T09:00, '2026-05-30T14:00Z'], timezone: America/Bogota, {DO}"
    assert fires(read_spec(keys), 1) == ["2026-05-31T14:00"]


def test_at_takes_a_list() -> None:
    """Of times, local or with an offset."""
    keys = f"at: [2027-01-01T00:00, '2027-02-01T00:00Z'], timezone: America/Bogota, {DO}"
    spec = read_spec(keys)
    assert timetable(spec).rule == AnyRule(
        rules=(OnceRule(wall="2027-01-01T00:00:00"), OnceRule(instant=parse_instant("2027-02-01T00:00:00Z")))
    )
    assert fires(spec) == ["2027-01-01T05:00", "2027-02-01T00:00"]


def test_all_keys_together_are_kept_as_they_were_written() -> None:
    """And read in the order in which they are done."""
    keys = "when: 0 9 * * *, except: weekends, every_nth: 2, max_ticks: 2, start: 2026-06-01T00:00, timezone: UTC"
    spec = read_spec(f"{keys}, {DO}")
    assert fires(spec) == ["2026-06-01T09:00", "2026-06-03T09:00"]
    assert spec.source == {
        "when": "0 9 * * *",
        "except": "weekends",
        "every_nth": 2,
        "max_ticks": 2,
        "start": "2026-06-01T00:00",
    }
    assert read_schedule("job", to_mapping(spec), context()).spec == spec


@pytest.mark.parametrize(
    ("written", "field", "right"),
    [
        ("when: 0 9 * * *, except: foo bar", "except", "is no word of a phrase"),
        ("when: 0 9 * * *, except: [weekends, 61 * * * *]", "except[1]", "61"),
        ("when: 0 9 * * *, except: 5", "except", "so put it in quotes"),
        ("when: 0 9 * * *, except: [5]", "except[0]", "so put it in quotes"),
        ("when: 0 9 * * *, except: {day: 5}", "except", "it must be a text"),
        ("when: 0 9 * * *, except: [weekends, weekends]", "except", "stands in it twice"),
        ("when: 0 9 * * 1, except: mondays", "except", "what it leaves out is all that it has"),
        ("when: 0 9 * * *, every_nth: 0", "every_nth", "a whole number from 1 to 10000"),
        ("when: 0 9 * * *, every_nth: 1.5", "every_nth", "a whole number from 1 to 10000"),
        ("when: 0 9 * * *, max_ticks: -1", "max_ticks", "a whole number from 1 to 1000000"),
        ("when: 0 9 * * *, max_ticks: '5'", "max_ticks", "a whole number from 1 to 1000000"),
        ("when: [every 1m, '* * * * *'], every_nth: 2", "every_nth", "too many ticks to be counted"),
        ("at: []", "at", "1 to 1000"),
        ("at: [5]", "at[0]", "so put it in quotes"),
        ("at: [2027-01-01T00:00, soon]", "at", "time 2 of the list"),
        ("every: 1h, except: weekends, dst_gap: skip", "dst_gap", "follows elapsed time"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_key(written: str, field: str, right: str) -> None:
    """And with its place in a list."""
    error = fault(f"{written}, {DO}")
    assert error.field == f"schedules.job.{field}"
    assert right in error.message


def test_defaults_have_no_exceptions() -> None:
    """They belong to one rule."""
    for key in ("except", "every_nth", "max_ticks"):
        (error,) = faults(f"defaults: {{{key}: 5}}")
        assert f"there is no key '{key}' here" in error.message


COUNTED = f"when: 0 9 * * *, max_ticks: 3, timezone: UTC, {DO}"


def test_applied_again_a_count_goes_on() -> None:
    """The moment of the second writing is nothing to it, as long as the rule is the same."""
    old, new = read_spec(COUNTED), read_spec(COUNTED, now=NOW + 2 * DAY)
    assert new.timetable != old.timetable
    assert keep_rule(new, old) is old
    assert keep_rule(msgspec.structs.replace(new, queue="q"), old) == msgspec.structs.replace(old, queue="q")
    other = read_spec(COUNTED.replace("3", "4"), now=NOW + 2 * DAY)
    assert keep_rule(other, old) is other


def test_a_count_begins_in_the_transaction_that_writes_it() -> None:
    """Whoever read the manifest had another clock, or took a while."""
    spec = read_spec(COUNTED)
    begun = begin_now(spec, NOW + 2 * DAY + 5)
    rule = timetable(begun).rule
    assert isinstance(rule, SelectRule)
    assert rule.counted_from == (NOW + 2 * DAY) // SECOND * SECOND + SECOND
    assert msgspec.structs.replace(begun, timetable=spec.timetable) == spec
    for keys in (
        f"when: 0 9 * * *, {DO}",
        f"when: 0 9 * * *, except: weekends, {DO}",
        f"{COUNTED}, start: 2026-06-01T00:00",
    ):
        plain = read_spec(keys)
        assert begin_now(plain, NOW + DAY) is plain


def test_an_export_says_where_a_count_began() -> None:
    """So that it goes on elsewhere; where it came from, it changes nothing."""
    old = read_spec(COUNTED)
    mapping = to_mapping(old)
    assert mapping["start"] == "2026-05-28T20:26:41Z"
    elsewhere = read_schedule("job", mapping, context(now=NOW + 2 * DAY)).spec
    assert fires(elsewhere) == fires(old) == ["2026-05-29T09:00", "2026-05-30T09:00", "2026-05-31T09:00"]
    assert keep_rule(elsewhere, old) is old
    assert "start" not in to_mapping(read_spec(f"when: 0 9 * * *, except: weekends, {DO}"))
