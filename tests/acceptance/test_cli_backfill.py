"""``puntual schedule backfill``: it says what it will do and what it did, and shows how far it is to whoever looks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.test_cli_terminal import on_a_terminal
from tests.support.cli import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command line in a folder with a schedule of every day."""
    made = Cli(tmp_path)
    made.ask("schedule", "add", "daily", "--when", "0 3 * * *", "--timezone", "Europe/Madrid", "--task", "t")
    return made


def test_a_dry_run_and_then_the_real_one(cli: Cli) -> None:
    """What would be made is made, and a repeat leaves it alone."""
    words = ("schedule", "backfill", "daily", "--since", "2026-01-01", "--until", "2026-01-11")
    dry = cli.run(*words, "--dry-run")
    assert "daily has 10 ticks from 2025-12-31T23:00:00Z to 2026-01-10T23:00:00Z: 10 runs would be made." in dry.out
    assert "  2026-01-01T02:00:00Z  2026-01-01 03:00 +01:00 Europe/Madrid\n" in dry.out
    assert "  ... 4 more\n" in dry.out
    assert cli.ask("run", "list", "--origin", "backfill")["items"] == []
    made = cli.ask(*words)
    assert (made["runs"], made["next_since"], made["dry_run"]) == (10, None, False)
    assert len(cli.ask("run", "list", "--origin", "backfill", "--schedule", "daily")["items"]) == 10
    again = cli.run(*words)
    assert "0 runs made." in again.out
    assert "Left alone: 10 had been made up for." in again.out


def test_many_are_made_in_pieces_with_one_answer(cli: Cli) -> None:
    """As if it had been one request; on a terminal a bar shows how far it is."""
    cli.ask("schedule", "add", "often", "--when", "every 1m", "--timezone", "UTC", "--task", "t", "--set", "queue=past")
    words = ("schedule", "backfill", "often", "--since", "2026-01-01", "--until")
    one = cli.ask(*words, "2026-01-04T12:00", "--priority", "low")
    assert (one["ticks"], one["runs"], one["existing"]) == (5_040, 5_040, 0)
    assert one["since"] == "2026-01-01T00:00:00Z"
    assert one["first"] == [f"2026-01-01T00:0{minute}:00Z" for minute in (0, 1, 2)]
    assert one["last"] == [f"2026-01-04T11:{minute}:00Z" for minute in (57, 58, 59)]
    code, shown = on_a_terminal(cli, *words, "2026-01-06")
    assert (code, "ticks" in shown, "2,160 runs made" in shown) == (0, True, True)
    assert "5,040 had been made up for" in shown


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("daily", "--since", "2099-01-01"), "still to come"),
        (("daily", "--since", "2026-01-02", "--until", "2026-01-01"), "not before until"),
        (("dayly", "--since", "2026-01-01"), "There is no schedule 'dayly'."),
        (("daily",), "--since"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(cli: Cli, words: tuple[str, ...], says: str) -> None:
    """And nothing is made."""
    answer = cli.run("schedule", "backfill", *words)
    assert (answer.code != 0, says in answer.err) == (True, True)
    assert cli.ask("run", "list")["items"] == []
