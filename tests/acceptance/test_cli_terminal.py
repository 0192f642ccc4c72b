"""The command line on a terminal: it asks before it removes, and its colours can be turned off."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import PATIENCE, Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command line in an empty folder."""
    return Cli(tmp_path)


def on_a_terminal(cli: Cli, *words: str, answer: str = "", **env: str) -> tuple[int, str]:
    """Runs a command on a terminal of its own, where somebody types that; its exit code and all that was shown."""
    ours, theirs = pty.openpty()
    environment = {**cli.env, "TERM": "xterm", **env}
    with subprocess.Popen(
        [sys.executable, "-m", "puntual", *words],
        cwd=cli.folder,
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as child:
        os.close(theirs)
        os.write(ours, answer.encode())
        shown = b""
        try:
            while piece := os.read(ours, 65536):
                shown += piece
        except OSError:
            # The terminal is gone with its last user.
            pass
        finally:
            os.close(ours)
        return child.wait(PATIENCE), shown.decode()


def test_removing_asks_and_a_no_changes_nothing(cli: Cli) -> None:
    """The question names what would go; only a yes lets it go."""
    manifest = cli.folder / "m.yaml"
    manifest.write_text("owner: me\nschedules: {old: {when: '@daily', http: {url: 'https://example.com/'}}}\n")
    cli.ask("apply", "m.yaml")
    manifest.write_text("owner: me\nschedules: {}\n")
    code, shown = on_a_terminal(cli, "apply", "m.yaml", "--prune", answer="n\n")
    assert (code, "Remove 1 schedule (old)?" in shown) == (1, True)
    assert len(cli.ask("schedule", "list")["items"]) == 1
    code, _ = on_a_terminal(cli, "apply", "m.yaml", "--prune", answer="y\n")
    assert code == 0
    assert cli.ask("schedule", "list")["items"] == []


def test_colours_are_for_terminals_that_want_them(cli: Cli) -> None:
    """NO_COLOR takes them away, and the words stay."""
    cli.ask("enqueue", "t")
    code, coloured = on_a_terminal(cli, "run", "list")
    assert (code, "\x1b[34mpending" in coloured) == (0, True)
    _, plain = on_a_terminal(cli, "run", "list", NO_COLOR="1")
    assert "\x1b[34m" not in plain
    assert "pending" in plain


def test_an_error_is_red_on_a_terminal(cli: Cli) -> None:
    """One red sentence; with NO_COLOR the same without red."""
    cli.ask("migrate")
    code, shown = on_a_terminal(cli, "schedule", "show", "nope")
    assert (code, "\x1b[31mError: There is no schedule 'nope'." in shown) == (1, True)
    assert "\x1b" not in on_a_terminal(cli, "schedule", "show", "nope", NO_COLOR="1")[1]
