"""`puntual calendar`, the files that `puntual apply` sends along, and months as grids."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from puntual.cli.month import grids
from puntual.cli.root import run

ICAL = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20310203\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
MANIFEST = """
calendars:
  fair: {ical: days/fair.ics}
schedules:
  nightly: {when: "0 2 * * *", timezone: UTC, task: a.b, calendars: {exclude: [fair]}}
"""


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database is in the folder of the test."""
    monkeypatch.chdir(tmp_path)


def answer(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    """The JSON answer of a command line that ends with that code."""
    assert run([*words, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    """What a command line prints for people."""
    assert run([*words]) == code
    return capsys.readouterr().out


def test_a_calendar_is_set_listed_shown_and_removed(capsys: pytest.CaptureFixture[str]) -> None:
    """In the words of its options."""
    set_ = ("--date", "2031-02-03", "--date", "2031-12-24..2032-01-02", "--weekday", "sunday", "--country", "CO")
    made = answer(capsys, "calendar", "set", "closed", *set_)
    assert made["written"] == {
        "dates": ["2031-02-03", "2031-12-24..2032-01-02"],
        "weekdays": ["sunday"],
        "country": "CO",
    }
    listed = said(capsys, "calendar", "list")
    assert "closed  holidays of CO, own dates, sunday" in listed
    shown = said(capsys, "calendar", "show", "closed", "--year", "2031")
    assert "2031-02  Mon 3\n" in shown
    assert "2032-" not in shown
    assert said(capsys, "calendar", "remove", "closed", "--yes") == "closed is gone.\n"
    assert "puntual calendar set co --country CO" in said(capsys, "calendar", "list")


def test_a_year_without_days_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """An empty answer is told from none."""
    assert run(["calendar", "set", "closed", "--date", "2031-02-03"]) == 0
    assert "It has no days in 1999." in said(capsys, "calendar", "show", "closed", "--year", "1999")


def test_a_file_is_sent_as_its_text(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Nobody else could read it; its length is shown instead."""
    (tmp_path / "fair.ics").write_text(ICAL, newline="")
    made = answer(capsys, "calendar", "set", "fair", "--ical", "fair.ics")
    assert made["dates"] == ["2031-02-03"]
    assert made["written"]["ical"] == ICAL.replace("\r\n", "\n")
    assert "a text of " in said(capsys, "calendar", "show", "fair")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none.ics", None, "cannot be read: No such file"),
        ("a.ics", b"<html>", "is no iCalendar"),
        ("a.ics", b"BEGIN:VCALENDAR\n" + b"x" * (1 << 20), "longer than 1 MB"),
    ],
)
def test_a_file_that_is_none_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, content: bytes | None, said: str
) -> None:
    """Before anything is sent."""
    if content is not None:
        (tmp_path / name).write_bytes(content)
    refused = answer(capsys, "calendar", "set", "fair", "--ical", name, code=2)
    assert said in refused["error"]["message"]


def test_apply_sends_the_files_that_manifests_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Relative to each manifest, from wherever it is applied."""
    (tmp_path / "conf" / "days").mkdir(parents=True)
    (tmp_path / "conf" / "m.yaml").write_text(MANIFEST)
    (tmp_path / "conf" / "days" / "fair.ics").write_text(ICAL, newline="")
    out = said(capsys, "apply", "conf")
    assert "1 created, 1 calendar (fair created)." in out
    assert answer(capsys, "calendar", "show", "fair")["dates"] == ["2031-02-03"]
    changed = said(capsys, "calendar", "set", "fair", "--date", "2031-02-04")
    assert changed == "fair has 1 day; 1 schedule changed (nightly).\n"


def test_a_dry_run_tells_of_calendars_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What would change is a reason for exit code 3."""
    (tmp_path / "m.yaml").write_text("calendars: {closed: {weekdays: [sunday]}}\n")
    out = said(capsys, "apply", "m.yaml", "--dry-run", "--exit-code", code=3)
    assert "It would be: 1 calendar (closed created)." in out
    assert not (tmp_path / "puntual.db").exists()


def test_a_dry_run_tells_which_schedules_move(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A calendar that closes every day but one moves the next run of whoever names it."""
    days = "[monday, tuesday, wednesday, thursday, friday, saturday, sunday]"
    yearly = 'yearly: {when: "0 2 * * *", timezone: UTC, task: a.b, calendars: {exclude: [closed]}}'
    (tmp_path / "m.yaml").write_text(f"calendars: {{closed: {{dates: ['2001-01-01']}}}}\nschedules: {{{yearly}}}\n")
    assert run(["apply", "m.yaml"]) == 0
    (tmp_path / "n.yaml").write_text(f"calendars: {{closed: {{weekdays: {days}}}}}\n")
    capsys.readouterr()
    out = said(capsys, "apply", "n.yaml", "--dry-run")
    assert out.startswith("~ yearly (calendars)  not due any more, was in ")
    assert "It would be: 1 changed, 1 calendar (closed changed)." in out


def test_a_month_is_a_grid_of_weeks() -> None:
    """Monday first, with a mark behind each day that has one."""
    lines = grids([date(2026, 2, 14)], {date(2026, 2, 1): "*", date(2026, 2, 28): "+", date(2026, 3, 1): "*"}, 40)
    assert lines == [
        "          Feb 2026",
        " Mo  Tu  We  Th  Fr  Sa  Su",
        "                          1*",
        "  2   3   4   5   6   7   8",
        "  9  10  11  12  13  14  15",
        " 16  17  18  19  20  21  22",
        " 23  24  25  26  27  28+",
    ]


def test_months_stand_beside_each_other_where_there_is_room() -> None:
    """Else beneath, with a line between."""
    months = [date(2026, month, 1) for month in (2, 3, 4)]
    beside, beneath = grids(months, {}, 100), grids(months, {}, 10)
    assert beside[0].split() == ["Feb", "2026", "Mar", "2026", "Apr", "2026"]
    assert [line.strip() for line in beneath if "2026" in line] == ["Feb 2026", "Mar 2026", "Apr 2026"]
    assert [line.split() for line in grids(months, {}, 60) if "2026" in line] == [
        ["Feb", "2026", "Mar", "2026"],
        ["Apr", "2026"],
    ]
    assert beneath.count("") == 2


def test_next_shows_three_months(capsys: pytest.CaptureFixture[str]) -> None:
    """From that of the next fire on, days marked by how often it fires; in JSON, counted."""
    asked = ("next", "0 9,17 13 * 5", "--after", "2026-02-01T00:00:00Z", "--timezone", "America/Bogota", "--calendar")
    reply = answer(capsys, *asked)
    assert reply["calendar"]["2026-02-13"] == 2
    assert {day[:7] for day in reply["calendar"]} == {"2026-02", "2026-03", "2026-04"}
    out = said(capsys, *asked)
    assert " 13+" in out
    assert "+ more than once" in out
    once = said(capsys, "next", "30 23 31 12 *", "--after", "2026-02-01T00:00:00Z", "--timezone", "UTC", "--calendar")
    assert "Dec 2026" in once
    assert "Feb 2027" in once
    assert once.count("*") == 2
    assert "more than once" not in once


def test_a_rule_that_fires_no_more_has_no_months(capsys: pytest.CaptureFixture[str]) -> None:
    """It says so, and nothing else."""
    asked = ("next", "0 0 1 1 *", "--after", "9999-06-01T00:00:00Z", "--timezone", "UTC", "--calendar")
    assert answer(capsys, *asked)["calendar"] == {}
    assert "It does not fire again." in said(capsys, *asked)
