"""``puntual forecast`` and ``GET /forecast``: what is to come, in words, bars and JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Cli

MANIFEST = """
calendars: {closed: {dates: [2030-01-01]}}
schedules:
%s
  quiet: {when: every day at 9:00, timezone: UTC, calendars: {exclude: [closed]}, task: a.b}
"""


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command line in a folder of its own."""
    return Cli(tmp_path)


@pytest.fixture
def crowded(cli: Cli, tmp_path: Path) -> Cli:
    """Thirty schedules that call one host at each full hour."""
    lines = "\n".join(
        f"  job-{number}: {{when: '0 * * * *', timezone: UTC, http: {{url: 'https://busy.example/{number}'}}}}"
        for number in range(30)
    )
    file = tmp_path / "crowd.yaml"
    file.write_text(MANIFEST % lines, encoding="utf-8")
    answer = cli.run("apply", str(file))
    assert answer.code == 0, answer
    return cli


def test_it_says_how_much_when_and_what_would_help(crowded: Cli) -> None:
    """A sentence, a bar for each stretch of time, the crowded minutes with their hosts, and the spread."""
    answer = crowded.run("forecast")
    assert answer.code == 0, answer
    lines = answer.out.splitlines()
    assert "runs from " in lines[0]
    assert lines[1].startswith("The fullest minute is ")
    assert "█" in answer.out
    assert "Crowded minutes" in answer.out
    assert "busy.example (30)" in answer.out
    assert "spread: " in answer.out
    assert "would bring the fullest minute from 3" in answer.out


def test_its_json_is_the_whole_of_it(crowded: Cli) -> None:
    """Closed ticks are not in it, and each minute has its number."""
    span = ("--since", "2030-01-01T08:30:00Z", "--until", "2h")
    reply = crowded.run("--json", "forecast", *span).json
    assert [(each["minute"], each["ticks"]) for each in reply["minutes"]] == [
        ("2030-01-01T09:00:00Z", 30),
        ("2030-01-01T10:00:00Z", 30),
    ]
    assert reply["crowded"][0]["hosts"] == [{"name": "busy.example", "runs": 30}]
    assert reply["advice"]["count"] == 30
    assert (reply["ticks"], reply["pending"], reply["pending_at_least"]) == (60, 0, False)


def test_pending_runs_are_in_it(cli: Cli) -> None:
    """What was asked for and is not due yet comes too."""
    assert cli.run("enqueue", "a.b", "--at", "2030-01-01T08:00:10Z").code == 0
    reply = cli.run("--json", "forecast", "--since", "2030-01-01T08:00:00Z", "--until", "5m").json
    assert reply["minutes"] == [{"minute": "2030-01-01T08:00:00Z", "ticks": 0, "pending": 1}]


def test_an_empty_future_is_one_sentence(cli: Cli) -> None:
    """Nothing is drawn where nothing comes."""
    assert cli.run("enqueue", "a.b").code == 0
    answer = cli.run("forecast", "--since", "2030-01-01T00:00:00Z")
    assert (answer.code, len(answer.out.splitlines())) == (0, 1)


@pytest.mark.parametrize(
    ("span", "said"),
    [
        (("--since", "2020-01-01T00:00:00Z"), "since"),
        (("--until", "40d"), "more than 31 days after since"),
        (("--until", "nonsense"), "until"),
        (("--since", "2030-01-01T00:00:00Z", "--until", "2030-01-01T00:00:00Z"), "which is not after since"),
    ],
)
def test_a_span_that_cannot_be_is_refused(cli: Cli, span: tuple[str, str], said: str) -> None:
    """What has passed is in the record of ticks, and a month is far enough."""
    assert cli.run("enqueue", "a.b").code == 0
    answer = cli.run("forecast", *span)
    assert answer.code == 2, answer
    assert said in answer.err
