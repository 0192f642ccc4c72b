"""Rules that combine, by hand: applied, shown, changed, exported and applied elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import Cli

MANIFEST = """
schedules:
  tidy:
    when: [every weekday at 9:30, saturday at 11:00]
    except: [2030-12-24, 2030-12-31..2031-01-02, first monday of the month, "2030-12-07T11:00"]
    every_nth: 2
    max_ticks: 10
    start: 2030-12-01T00:00
    timezone: Europe/Madrid
    task: shop.tidy
  dates:
    at: [2030-01-01T09:00, 2030-02-01T09:00, 2030-03-01T09:00]
    except: 2030-02-01
    timezone: UTC
    task: shop.tidy
  few: {every: 1h, max_ticks: 3, timezone: UTC, task: shop.tidy}
"""


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command line in a folder with these schedules applied."""
    (tmp_path / "shop.yaml").write_text(MANIFEST)
    cli = Cli(tmp_path)
    assert sorted(cli.ask("apply", "shop.yaml")["created"]) == ["dates", "few", "tidy"]
    return cli


def test_rules_that_combine_are_applied_and_told(cli: Cli) -> None:
    """The next ticks, the sentence and what was written."""
    assert cli.ask("schedule", "next", "tidy", "--count", "4")["fires"] == [
        "2030-12-03T08:30:00Z",
        "2030-12-05T08:30:00Z",
        "2030-12-09T08:30:00Z",
        "2030-12-11T08:30:00Z",
    ]
    assert len(cli.ask("schedule", "next", "tidy", "--count", "99")["fires"]) == 10
    assert cli.ask("schedule", "next", "dates")["fires"] == ["2030-01-01T09:00:00Z", "2030-03-01T09:00:00Z"]
    shown = cli.ask("schedule", "show", "tidy")
    assert shown["sentence"]["en"].startswith(
        "At 09:30 on Monday to Friday; or at 11:00 on Saturday; except on 2030-12-24"
    )
    assert shown["written"]["except"][0] == "2030-12-24"
    assert shown["rule"]["type"] == "select"
    assert any("no start is given" in warning for warning in cli.ask("schedule", "show", "few")["warnings"])


def test_applied_again_or_as_exported_nothing_changes(cli: Cli, tmp_path: Path) -> None:
    """Here nothing, and elsewhere the same schedules with the same counts."""
    assert cli.ask("apply", "shop.yaml")["unchanged"] == ["tidy", "dates", "few"]
    manifest = cli.run("export").out
    (tmp_path / "copy.yaml").write_text(manifest)
    assert sorted(cli.ask("apply", "copy.yaml")["unchanged"]) == ["dates", "few", "tidy"]
    (tmp_path / "other").mkdir()
    other = Cli(tmp_path / "other")
    other.ask("apply", "-", stdin=manifest)
    assert other.run("export").out == manifest
    for name in ("tidy", "dates", "few"):
        assert other.ask("schedule", "next", name)["fires"] == cli.ask("schedule", "next", name)["fires"]


def test_flags_set_every_key(cli: Cli) -> None:
    """``--set`` takes what a manifest would hold; a fault names its key."""
    words = ("schedule", "add", "short", "--when", "every 15 minutes", "--task", "a.b", "--timezone", "UTC")
    made = cli.ask(
        *words, "--set", "except=[weekends, 25 de diciembre]", "--set", "every_nth=2", "--set", "max_ticks=5"
    )
    assert made["written"]["except"] == ["weekends", "25 de diciembre"]
    assert len(cli.ask("schedule", "next", "short", "--count", "99")["fires"]) == 5
    wrong = cli.ask("schedule", "add", "w", *words[3:], "--set", "except=mondayz", code=2)
    assert wrong["error"]["field"] == "except"


def test_a_batch_of_rules_has_the_keys_too(cli: Cli) -> None:
    """As a manifest has them; a key that nearly is one is not passed over."""
    rule = {"expr": "0 9 * * *", "timezone": "UTC", "after": "2026-12-01T00:00:00Z", "count": 9}
    items = [
        {"id": 1, **rule, "except": "weekends", "max_ticks": 3, "start": "2026-12-04T00:00:00Z"},
        {
            "id": 2,
            **rule,
            "except": ["2026-12-02"],
            "every_nth": 2,
            "start": rule["after"],
            "end": "2026-12-07T00:00:00Z",
        },
        {"id": 3, **rule, "excep": "weekends"},
    ]
    first, second, third = cli.ask("next", "--batch", "-", stdin=json.dumps(items))
    assert first["fires"] == ["2026-12-04T09:00:00Z", "2026-12-07T09:00:00Z", "2026-12-08T09:00:00Z"]
    assert second["fires"] == ["2026-12-01T09:00:00Z", "2026-12-04T09:00:00Z", "2026-12-06T09:00:00Z"]
    assert third["error"]["field"] == "excep"
