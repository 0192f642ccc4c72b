"""``calendars`` of a manifest: how they are read, refused, and written back to read the same."""

from __future__ import annotations

from textwrap import dedent

import msgspec
import pytest

from puntual.manifest import (
    Manifest,
    Text,
    calendar_mapping,
    calendar_of,
    declared_calendars,
    files_named,
    open_texts,
    read_manifest,
    read_manifests,
    to_manifest,
)
from puntual.model.calendar import CalendarSpec
from puntual.model.errors import InvalidError
from puntual.model.instant import DAY, HOUR
from puntual.timing.calendar import Calendar, CalendarDays
from tests.support.manifest import CONTEXT, NOW, context, faults, read, read_spec, stored

ICAL = "BEGIN:VCALENDAR\nEND:VCALENDAR\n"
ALL = """
    owner: shop
    calendars:
      co: {country: CO}
      by: {country: DE, subdivision: BY}
      closed: {dates: [2026-12-24, 2026-12-26..2027-01-02], weekdays: [saturday, sunday]}
      fair: {ical: "https://example.com/fair.ics", refresh: 12h}
      own:
        ical: |
          BEGIN:VCALENDAR
          END:VCALENDAR
"""
SPECS = {
    "co": CalendarSpec(country="CO"),
    "by": CalendarSpec(country="DE", subdivision="BY"),
    "closed": CalendarSpec(dates=("2026-12-24", "2026-12-26..2027-01-02"), weekdays=(6, 0)),
    "fair": CalendarSpec(ical="https://example.com/fair.ics", refresh_us=12 * HOUR),
    "own": CalendarSpec(ical=ICAL),
}


def specs(manifest: Manifest) -> dict[str, CalendarSpec]:
    """Its calendars by name."""
    return {each.name: each.spec for each in manifest.calendars}


def calendar(name: str, spec: CalendarSpec, owner: str | None = None) -> Calendar:
    """A calendar as a store keeps it."""
    days = CalendarDays(name=name, version=1)
    return Calendar(spec=spec, days=days, owner=owner, updated_at=NOW, refreshed_at=NOW)


def test_calendars_are_read() -> None:
    """Every part, with a day between two questions to an address where nothing is said."""
    assert specs(read(ALL)) == SPECS
    assert SPECS["co"].refresh_us == DAY


@pytest.mark.parametrize(
    ("keys", "field", "said"),
    [
        ("{}", "calendars.a", "it has no days"),
        ("{refresh: 1h}", "calendars.a", "it has no days"),
        ("{holidays: CO}", "calendars.a.holidays", "there is no key 'holidays' here"),
        ("{dates: 2026-12-24}", "calendars.a.dates", "a list"),
        ("{dates: [2026-13-24]}", "calendars.a.dates[0]", "no date like 2026-12-24"),
        ("{dates: [2026-12-24, 2026-12-24]}", "calendars.a.dates", "twice"),
        ("{weekdays: [caturday]}", "calendars.a.weekdays[0]", "did you mean saturday"),
        ("{country: co}", "calendars.a.country", "in capitals"),
        ("{country: Colombia}", "calendars.a.country", "in capitals"),
        ("{subdivision: BY, weekdays: [sunday]}", "calendars.a.subdivision", "name that too"),
        ("{ical: 7}", "calendars.a.ical", "an address, a file or the text"),
        ("{ical: /etc/passwd}", "calendars.a.ical", "no file that came along"),
        ("{country: CO, refresh: 1h}", "calendars.a.refresh", "leave this out"),
        ("{ical: 'https://example.com/a', refresh: 1s}", "calendars.a.refresh", "too short"),
        ("[2026-12-24]", "calendars.a", "a mapping"),
    ],
)
def test_a_wrong_calendar_names_its_key(keys: str, field: str, said: str) -> None:
    """With its line and what would be right."""
    (error,) = faults(f"calendars:\n  a: {keys}\n")
    assert error.field == field
    assert error.message.startswith("m.yaml:2: ")
    assert said in error.message


def test_the_calendars_must_be_a_mapping_of_good_names() -> None:
    """As schedules."""
    assert "mapping of names" in faults("calendars: [co]")[0].message
    assert "holds '/'" in faults("calendars: {a/b: {country: CO}}")[0].message


def test_a_name_that_stands_twice_is_refused() -> None:
    """In one text or in two."""
    (error,) = faults("calendars: {co: {country: CO}}\n---\ncalendars: {co: {country: AR}}\n")
    assert "'co' stands twice" in error.message


def test_an_address_is_checked_as_that_of_a_request() -> None:
    """Its fault names the key that it stands under; webcal is an address too."""

    def refuse(args: object, *, field: str) -> str:
        raise InvalidError(f"{field}.url leads to {args}.", field=f"{field}.url")

    checks = msgspec.structs.replace(CONTEXT.checks, http=refuse)
    (error,) = faults("calendars: {a: {ical: 'webcal://10.0.0.1/a'}}", checks=checks)
    assert error.field == "calendars.a.ical"
    assert "https://10.0.0.1/a" in error.message


def test_a_file_is_the_text_that_came_along() -> None:
    """Whoever sends the manifest reads it; nobody reads a path here."""
    manifest = Text("calendars: {fair: {ical: ./fair.ics}}", "m.yaml", {"./fair.ics": ICAL})
    (read_,) = read_manifests([manifest], context())
    assert specs(read_) == {"fair": CalendarSpec(ical=ICAL)}
    other = msgspec.structs.replace(manifest, files={"./fair.ics": "<html>"})
    with pytest.raises(InvalidError, match="no iCalendar"):
        read_manifests([other], context())


def test_the_files_that_a_manifest_names_are_found() -> None:
    """Neither addresses nor texts are files; what is no manifest names none."""
    assert files_named(
        dedent(ALL) + "  x: {ical: a/b.ics}\n  y: {ical: a/b.ics}\n---\ncalendars: {z: {ical: c.ics}}"
    ) == [
        "a/b.ics",
        "c.ics",
    ]
    for text in ("", "a: [", "calendars: 1", "calendars: {a: 1, b: {ical: 1}}", "[]"):
        assert files_named(text) == []


def test_definitions_are_known_before_schedules_are_read() -> None:
    """So that what they mean can be found out; one with a fault is named, and its fault told with all others."""
    opened = open_texts([Text("calendars: {co: {country: CO}, bad: {}}\nschedules: {a: {}}\n", "m.yaml")])
    found = declared_calendars(opened, context())
    assert {name: spec for name, (spec, _) in found.items()} == {"co": SPECS["co"], "bad": None}
    with pytest.raises(InvalidError) as caught:
        read_manifests(opened, context())
    assert {error.field for error in caught.value.errors} == {"calendars.bad", "schedules.a"}  # type: ignore[attr-defined]  # it is a ManifestErrors


def test_a_request_has_one_calendar() -> None:
    """Its faults name keys of its own; several are told together."""
    assert calendar_of({"country": "CO"}, context()) == SPECS["co"]
    with pytest.raises(InvalidError, match="in capitals") as caught:
        calendar_of({"country": "co"}, context())
    assert caught.value.field == "country"
    with pytest.raises(InvalidError, match="it has no days"):
        calendar_of({}, context())
    with pytest.raises(InvalidError) as several:
        calendar_of({"country": "co", "dates": 1}, context())
    assert len(several.value.as_dict()["errors"]) == 2  # type: ignore[arg-type]  # a list, as_dict says only object


@pytest.mark.parametrize("name", SPECS)
def test_a_calendar_is_written_back_to_the_same(name: str) -> None:
    """Without what was left to the defaults."""
    written = calendar_mapping(SPECS[name])
    assert calendar_of(written, context()) == SPECS[name]
    assert "refresh" not in written or name == "fair"


def test_an_export_is_taken_back() -> None:
    """Each calendar in the document of its owner, before the schedules that name it."""
    days = {"co": CalendarDays(name="co", version=1)}
    spec = read_spec("when: '0 9 * * *', task: a.b, calendars: {exclude: [co]}", calendars=days)
    calendars = [calendar(name, spec, "shop" if name == "co" else None) for name, spec in SPECS.items()]
    text = to_manifest([stored(spec)], calendars=calendars)
    documents = read_manifests([Text(text)], context(calendars=days))
    assert {each.owner: set(specs(each)) for each in documents} == {None: {*SPECS} - {"co"}, "shop": {"co"}}
    assert {name: spec for each in documents for name, spec in specs(each).items()} == SPECS
    assert documents[0].schedules[0].spec.source == spec.source
    assert specs(read_manifest(to_manifest([], calendars=[calendar("co", SPECS["co"])]), context=context())) == {
        "co": SPECS["co"]
    }
