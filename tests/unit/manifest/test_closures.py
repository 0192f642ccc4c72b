"""``calendars`` and ``blackouts`` of a schedule: how they are read, refused, said in words and kept."""

from __future__ import annotations

from datetime import date
from typing import Final

import msgspec
import pytest

from puntual.manifest import to_mapping
from puntual.manifest.schedules import keep_rule
from puntual.model.errors import InvalidError
from puntual.timing.calendar import CalendarDays
from puntual.timing.describe import describe
from puntual.timing.rule import Timetable
from tests.support.manifest import faults, read_spec

EPOCH: Final = date(1970, 1, 1).toordinal()


def day(text: str) -> int:
    """A date as days since 1970."""
    return date.fromisoformat(text).toordinal() - EPOCH


CO: Final = CalendarDays(name="co", version=3, dates=(day("2026-06-08"), day("2026-06-15")), until=day("2036-12-31"))
KNOWN: Final = {"co": CO, "closed": CalendarDays(name="closed", version=1, dates=(day("2026-12-24"),))}
WEEKDAYS: Final = "when: '0 9 * * 1-5', timezone: America/Bogota, task: a.b"


def timetable(keys: str) -> Timetable:
    """The timetable of one schedule."""
    return msgspec.json.decode(read_spec(keys, calendars=KNOWN).timetable, type=Timetable)


def test_a_schedule_keeps_what_its_calendars_mean() -> None:
    """The days stand beside the rule, so that planning asks nobody."""
    closures = timetable(f"{WEEKDAYS}, calendars: {{exclude: [co, closed], otherwise: next}}").closures
    assert closures is not None
    assert closures.exclude == ("co", "closed")
    assert closures.otherwise == "next"
    assert closures.calendars == (CO, KNOWN["closed"])


def test_a_schedule_without_them_is_stored_as_ever() -> None:
    """Rows of schedules that close nothing do not grow."""
    assert "closures" not in read_spec(WEEKDAYS).timetable


def test_a_blackout_is_a_rule_and_a_duration() -> None:
    """A phrase says when it begins, in the schedule's zone."""
    closures = timetable(f"{WEEKDAYS}, blackouts: [{{when: saturday at 22:00, for: 4h}}]").closures
    assert closures is not None
    assert [each.for_us for each in closures.blackouts] == [4 * 3_600 * 1_000_000]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("calendars: {exclude: [closde]}", "there is no calendar 'closde': did you mean closed?"),
        ("calendars: {exclude: [nowhere]}", "there is no calendar 'nowhere': there are closed, co"),
        ("calendars: {}", "it names no calendar"),
        ("blackouts: [{when: every 30 minutes, for: 1m}]", "the blackouts begin more than 10,000 times a year"),
        (
            "blackouts: [{when: every 1 hour, for: 1m}, {when: every 2 hours, for: 2m}]",
            "the blackouts begin more than 10,000 times a year",
        ),
        ("calendars: [co]", "must be a mapping {include, exclude, otherwise}"),
        ("calendars: {except: [co]}", "there is no key 'except' here"),
        ("calendars: {exclude: [co], otherwise: later}", "skip, next or previous"),
        ("blackouts: {when: noon, for: 1h}", "must be a list"),
        ("blackouts: [{when: every day at noon}]", "it does not say for"),
        ("blackouts: [{when: every day at noon, for: 0s}]", "too short"),
        ("blackouts: [{when: someday, for: 1h}]", "someday"),
    ],
)
def test_what_is_wrong_is_said(keys: str, said: str) -> None:
    """Each fault names its place and what would be right."""
    (error,) = faults(f"schedules: {{job: {{{WEEKDAYS}, {keys}}}}}", calendars=KNOWN)
    assert said in error.message
    assert (error.field or "").startswith(("schedules.job.calendars", "schedules.job.blackouts"))


@pytest.mark.parametrize("rule", ["every: 1h", "when: '*/5 * * * *'"])
def test_what_repeats_within_the_day_does_not_move(rule: str) -> None:
    """There is no time of day to keep on another day."""
    (error,) = faults(
        f"schedules: {{job: {{{rule}, task: a.b, calendars: {{exclude: [co], otherwise: next}}}}}}", calendars=KNOWN
    )
    assert "write otherwise: skip" in error.message
    assert error.field == "schedules.job.calendars.otherwise"


def test_a_schedule_that_would_never_run_is_refused() -> None:
    """A calendar that closes each of its days leaves nothing."""
    week = {"week": CalendarDays(name="week", version=1, weekdays=(0, 1, 2, 3, 4, 5, 6))}
    (error,) = faults(f"schedules: {{job: {{{WEEKDAYS}, calendars: {{exclude: [week]}}}}}}", calendars=week)
    assert "this never runs" in error.message


def test_a_calendar_that_ends_soon_is_warned_of() -> None:
    """Holidays that nobody has published yet close nothing, and that is said while there is time."""
    short = {"co": msgspec.structs.replace(CO, until=day("2026-06-30"))}
    spec = read_spec(f"{WEEKDAYS}, calendars: {{exclude: [co]}}", calendars=short)
    assert any("knows nothing of the days after 2026-06-30" in warning for warning in spec.warnings)


def test_the_sentence_says_what_is_closed() -> None:
    """In both languages, with the names of the calendars."""
    keys = (
        f"{WEEKDAYS}, calendars: {{exclude: [co], otherwise: next}}, blackouts: [{{when: saturday at 22:00, for: 4h}}]"
    )
    assert describe(timetable(keys)) == (
        "At 09:00 on Monday to Friday (America/Bogota), not on days of co, else on the next business day; "
        "never in the 4h that begin at 22:00 on Saturday"
    )
    assert describe(timetable(keys), "es").endswith(
        ", no en días de co, si no el siguiente día hábil; "
        "nunca en el intervalo de 4h que empieza a las 22:00 los sábados"
    )


def test_an_export_is_read_back_to_the_same() -> None:
    """Names are written, not the days that they mean."""
    keys = f"{WEEKDAYS}, calendars: {{exclude: [co]}}, blackouts: [{{when: saturday at 22:00, for: 4h}}]"
    written = to_mapping(read_spec(keys, calendars=KNOWN))
    assert written["calendars"] == {"exclude": ["co"]}
    assert written["blackouts"] == [{"when": "saturday at 22:00", "for": "4h"}]


def test_defaults_hand_them_down() -> None:
    """All schedules of a document may share their calendars."""
    text = f"{{defaults: {{calendars: {{exclude: [nope]}}}}, schedules: {{job: {{{WEEKDAYS}}}}}}}"
    (error,) = faults(text, calendars=KNOWN)
    assert "there is no calendar 'nope'" in error.message


def test_a_rule_written_alike_takes_the_new_days_and_keeps_its_anchor() -> None:
    """Applied again, a schedule has what its calendars mean now and counts from where it did."""
    keys = "every: 1h, task: a.b, calendars: {exclude: [co]}"
    old = read_spec(keys, calendars=KNOWN)
    days = {"co": msgspec.structs.replace(CO, version=4, dates=(day("2026-07-20"),))}
    kept = keep_rule(read_spec(keys, calendars=days), old)
    closures = msgspec.json.decode(kept.timetable, type=Timetable).closures
    assert closures is not None
    assert closures.calendars[0].version == 4
    assert keep_rule(read_spec(keys, calendars=KNOWN), old) is old


def test_faults_are_ours() -> None:
    """What the reader raises is one of our errors."""
    with pytest.raises(InvalidError):
        read_spec(f"{WEEKDAYS}, calendars: 1")


def test_business_days_are_not_those_of_a_calendar() -> None:
    """A phrase counts from Monday to Friday, and whoever gives it holidays too is told."""
    keys = "when: last business day of the month at 9:00, timezone: UTC, task: a.b, calendars: {exclude: co}"
    spec = read_spec(keys, calendars=KNOWN)
    assert "its business days are counted from Monday to Friday, whatever day a calendar closes" in spec.warnings
    assert to_mapping(spec)["calendars"] == {"exclude": ["co"]}
