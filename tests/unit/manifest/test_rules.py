from __future__ import annotations

import msgspec
import pytest

from puntual.manifest import keep_rule
from puntual.model.instant import DAY, format_instant, parse_instant
from puntual.timing import rule as rules
from puntual.timing.clock import ClockRule
from puntual.timing.rule import AnyRule, CronRule, IntervalRule, OnceRule, Timetable
from tests.support.manifest import NOW, context, fault, faults, read, read_spec

DO = "task: a.b"


def timetable(keys: str) -> Timetable:
    """The timetable of a schedule with these keys."""
    return msgspec.json.decode(read_spec(f"{keys}, {DO}").timetable, type=Timetable)


def first(keys: str) -> str | None:
    """Its first tick from now."""
    tick = rules.compile(timetable(keys)).next(NOW)
    return None if tick is None else format_instant(tick)


def test_when_takes_a_cron_expression_a_name_and_an_interval() -> None:
    """The everyday rules need no key of their own."""
    assert isinstance(timetable("when: 0 2 * * *").rule, CronRule)
    assert isinstance(timetable("when: '@daily'").rule, CronRule)
    assert isinstance(timetable("when: every 15 minutes").rule, IntervalRule)


def test_when_takes_a_phrase_in_either_language() -> None:
    """A declared language is kept as it was written; undeclared, the one that can read the phrase is used."""
    rule = CronRule(expr="30 9 * * MON-FRI", dialect="unix")
    assert timetable("when: every weekday at 9:30").rule == rule
    assert timetable("when: de lunes a viernes a las 9:30, lang: es").rule == rule
    assert timetable("when: de lunes a viernes a las 9 y media").rule == rule
    assert read_spec(f"when: cada lunes a las 9, lang: es, timezone: UTC, {DO}").source == {
        "when": "cada lunes a las 9",
        "lang": "es",
    }
    assert read_spec(f"when: cada 15 minutos, lang: es, {DO}").source["lang"] == "es"


def test_defaults_may_say_the_language_of_phrases() -> None:
    """It is kept where the rule is a phrase, and nowhere else."""
    items = read("""
        defaults: {lang: es, timezone: UTC}
        schedules: {a: {when: cada lunes a las 9, task: x}, b: {when: 0 9 * * *, task: x}}
        """).schedules
    assert [item.spec.source.get("lang") for item in items] == ["es", None]


def test_a_cycle_of_a_phrase_takes_an_anchor() -> None:
    """The anchor is local, as every other time of the schedule."""
    keys = "when: every other friday at noon, anchor: 2026-06-05T00:00, timezone: America/Bogota"
    assert first(keys) == "2026-06-05T17:00:00Z"
    assert timetable(keys).rule == ClockRule(at=("12:00",), weekday="FRI", cycle_days=14, anchor="2026-06-05")


def test_when_takes_a_list() -> None:
    """It is due when any of them is."""
    rule = timetable("when: [0 2 * * *, every 12h]").rule
    assert isinstance(rule, AnyRule)
    assert len(rule.rules) == 2


def test_cron_takes_a_declared_dialect() -> None:
    """Six fields have a meaning only with their dialect."""
    assert timetable("cron: {expr: '0 0 2 ? * MON-FRI', dialect: quartz}").rule == CronRule(
        expr="0 0 2 ? * MON-FRI", dialect="quartz"
    )
    assert timetable("cron: {expr: 0 2 * * *}").rule == CronRule(expr="0 2 * * *", dialect="unix")


def test_a_zone_makes_the_hours_local() -> None:
    """Two in the morning is seven in the morning, UTC, for Bogota."""
    assert first("when: 0 2 * * *, timezone: America/Bogota") == "2026-05-29T07:00:00Z"


def test_the_operators_zone_is_used_where_none_is_written() -> None:
    """``TIMEZONE`` is the default, and using it needs no warning."""
    spec = read_spec(f"when: 0 2 * * *, {DO}", timezone="America/Bogota", zone_given=True)
    assert '"America/Bogota"' in spec.timetable
    assert "timezone" in spec.defaulted
    assert spec.warnings == ()


def test_an_hour_without_any_zone_is_warned_about() -> None:
    """Nobody chose UTC, so whoever wrote 02:00 is told whose it is; an interval names no hour."""
    assert "no time zone is given" in read_spec(f"when: 0 2 * * *, {DO}").warnings[0]
    assert read_spec(f"when: 0 2 * * *, timezone: UTC, {DO}").warnings == ()
    assert read_spec(f"every: 1h, {DO}").warnings == ()


def test_at_is_local_unless_it_has_an_offset() -> None:
    """One time, on the wall of the schedule's zone or as an instant."""
    assert timetable("at: 2027-01-01T00:00, timezone: America/Bogota").rule == OnceRule(wall="2027-01-01T00:00:00")
    assert first("at: 2027-01-01T00:00, timezone: America/Bogota") == "2027-01-01T05:00:00Z"
    assert first("at: 2027-01-01T00:00-03:00, timezone: America/Bogota") == "2027-01-01T03:00:00Z"


def test_bounds_are_local_unless_they_have_an_offset() -> None:
    """Start and end are read as every other time of the schedule."""
    found = timetable("every: 1h, timezone: America/Bogota, start: 2027-01-01T00:00, end: 2027-02-01T00:00Z")
    assert found.start == parse_instant("2027-01-01T05:00:00Z")
    assert found.end == parse_instant("2027-02-01T00:00:00Z")


def test_an_anchor_is_local_unless_it_has_an_offset() -> None:
    """A period that divides no day starts where it is told to."""
    assert first("every: 7h, anchor: 2026-05-28T13:00, timezone: America/Bogota") == "2026-05-29T01:00:00Z"


def test_an_anchor_may_be_a_date() -> None:
    """Its local midnight; a bound that is a date would leave open which end of the day is meant."""
    assert first("every: 7h, anchor: 2026-05-28, timezone: America/Bogota") == "2026-05-29T02:00:00Z"
    assert fault(f"every: 1h, end: 2027-01-01, {DO}").field == "schedules.job.end"


def test_policies_of_clock_changes_reach_the_rule() -> None:
    """The rule keeps them, whether the schedule or ``defaults`` says them."""
    assert timetable("when: 30 2 * * *, dst_gap: skip, dst_fold: both, timezone: Europe/Madrid").rule == CronRule(
        expr="30 2 * * *", dialect="unix", dst_gap="skip", dst_fold="both"
    )
    spec = read("""
        defaults: {dst_gap: shift}
        schedules: {job: {when: 30 2 * * *, task: a.b}, other: {every: 1h, task: a.b}}
        """).schedules
    assert '"dst_gap":"shift"' in spec[0].spec.timetable
    assert spec[1].spec.source == {"every": "1h"}


def test_the_rule_is_kept_as_it_was_written() -> None:
    """An export shows what somebody wrote, not what it was compiled to."""
    spec = read_spec(f"when: [every 12 hours, '@daily'], anchor: 2026-01-01T00:00, dst_fold: last, timezone: UTC, {DO}")
    assert spec.source == {"when": ["every 12 hours", "@daily"], "anchor": "2026-01-01T00:00", "dst_fold": "last"}


def test_h_is_spread_by_the_schedules_name() -> None:
    """Two schedules with one rule do not fire together."""
    items = read("schedules: {a: {when: H H * * *, task: x}, b: {when: H H * * *, task: x}}").schedules
    assert items[0].spec.timetable != items[1].spec.timetable


@pytest.mark.parametrize(
    ("written", "field", "right"),
    [
        ("when: 61 * * * *", "when", "61"),
        ("when: 0 0 2 * * *", "when", "declared dialect"),
        ("when: []", "when", "at least one rule"),
        ("when: [0 2 * * *, 61 * * * *]", "when", "rule 2 of the list"),
        ("when: [5]", "when[0]", "so put it in quotes"),
        ("when: 5", "when", "so put it in quotes"),
        ("when: {expr: 0 2 * * *}", "when", "a rule like 'every 15 minutes', or a list of rules"),
        ("cron: 0 2 * * *", "cron", "five fields can stand in `when`"),
        ("cron: {dialect: unix}", "cron", "it has no expression"),
        ("cron: {expr: 0 2 * * *, dialect: quarz}", "cron.dialect", "did you mean quartz?"),
        ("cron: {expr: 0 2 * * *, tz: UTC}", "cron.tz", "there is no key 'tz' here"),
        ("cron: {expr: 0 2 30 2 *}", "cron", "never"),
        ("every: 90", "every", "for example 90s"),
        ("every: 10ms", "every", "too short"),
        ("every: 7h", "anchor", "does not divide a day"),
        ("at: 2027-01-01", "at", "is no time"),
        ("at: 2027-02-30T00:00", "at", "is no time"),
        ("every: 1h, start: tomorrow", "start", "is no time"),
        ("every: 1h, start: 2027-01-02T00:00, end: 2027-01-01T00:00", "every", "lies before start"),
        ("when: 0 2 * * *, anchor: 2027-01-01T00:00", "anchor", "belongs to an interval"),
        ("when: every other friday at noon", "anchor", "from when on"),
        ("when: cada lunes a las 9, lang: en", "when", "is no word of a phrase"),
        ("when: every day at noon, anchor: 2027-01-01T00:00", "anchor", "belongs to an interval, a cycle or an rrule"),
        ("every: 1h, lang: es", "lang", "a language belongs to phrases"),
        ("when: every day at noon, lang: fr", "lang", "en or es"),
        ("every: 1h, dst_gap: skip", "dst_gap", "follows elapsed time"),
        ("when: 0 2 * * *, dst_gap: jump", "dst_gap", "boundary, shift or skip"),
        ("when: 0 2 * * *, timezone: Bogota", "timezone", "did you mean America/Bogota?"),
        ("when: 0 2 * * *, timezone: 5", "timezone", "so put it in quotes"),
        ("when: 0 2 * * *, every: 1h", "every", "when and every both say when it is due"),
    ],
)
def test_a_rule_that_cannot_be_read_is_named_with_its_key(written: str, field: str, right: str) -> None:
    """Accepted but never due is no possible outcome; each refusal says which key and what would be right."""
    error = fault(f"{written}, {DO}")
    assert error.field == f"schedules.job.{field}"
    assert right in error.message


def test_a_schedule_without_a_rule_is_refused_with_an_example() -> None:
    """The way out stands beside the fault."""
    error = fault(DO)
    assert "give it one of when, cron, every, rrule and at" in error.message
    assert "every 15 minutes" in (error.hint or "")


def test_the_column_of_a_fault_in_a_rule_is_kept() -> None:
    """Editors and the command line point at it."""
    (error,) = faults("schedules: {job: {when: every weekday at, task: a.b}, more: {when: every foo, task: a.b}}")[1:]
    assert (error.code, error.column) == ("invalid_rule", 7)


def test_a_rule_written_again_keeps_its_anchor() -> None:
    """Applied again after a clock change, an interval stays on the grid that it was given first."""
    keys = f"every: 2h, timezone: America/New_York, {DO}"
    old, new = read_spec(keys), read_spec(keys, now=NOW + 200 * DAY)
    assert new.timetable != old.timetable
    assert keep_rule(new, old) == old
    assert keep_rule(msgspec.structs.replace(new, queue="q"), old) == msgspec.structs.replace(old, queue="q")


def test_other_warnings_alone_are_no_change() -> None:
    """They speak of the clock changes to come, which are others half a year later."""
    keys = f"when: 30 2 * * *, timezone: Europe/Madrid, {DO}"
    old, new = read_spec(keys), read_spec(keys, now=NOW + 200 * DAY)
    assert new.warnings != old.warnings
    assert keep_rule(new, old) == old


@pytest.mark.parametrize("changed", ["every: 3h, timezone: UTC", "every: 2h, timezone: Europe/Madrid"])
def test_a_rule_that_was_changed_is_taken_as_it_is_now(changed: str) -> None:
    """Another period or another zone is another rule."""
    old, new = read_spec(f"every: 2h, timezone: UTC, {DO}"), read_spec(f"{changed}, {DO}")
    assert keep_rule(new, old) == new


def test_the_operators_new_zone_is_another_rule() -> None:
    """A schedule without a zone of its own follows ``TIMEZONE``."""
    keys = f"when: 0 2 * * *, {DO}"
    old, new = read_spec(keys), read_spec(keys, timezone="Asia/Tokyo")
    assert context().timezone == "UTC"
    assert keep_rule(new, old) == new
