"""Tests of `puntual.cli.tables`."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from puntual.cli.tables import empty, pairs, table

RUN_ID = "01a22d32-0cee-7841-8ad1-79969140d17f"


def printed(
    width: int, *, terminal: bool = False, columns: tuple[str, ...] = ("!ID", "Task"), task: str = "mail.send"
) -> str:
    """A table of one row."""
    console = Console(
        file=io.StringIO(), width=width, force_terminal=terminal, color_system="standard" if terminal else None
    )
    table(console, columns, [(RUN_ID, task)])
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


@pytest.mark.parametrize("width", [10, 40, 60, 200])
def test_an_id_is_whole_at_any_width(width: int) -> None:
    """Ids are there to be copied: a narrow terminal takes its room from other columns."""
    assert RUN_ID in printed(width)


def test_a_long_text_gives_way() -> None:
    """The text beside an id is cut to the room that is left."""
    lines = printed(60, task="x" * 500).splitlines()
    assert len(lines) == 2
    assert "…" in lines[1]


def test_a_hostile_name_is_written_out() -> None:
    """No cell speaks to the terminal."""
    assert "\x1b" not in printed(100, task="\x1b]0;owned\x07")


def test_markup_is_no_markup() -> None:
    """Brackets in a name are brackets."""
    assert "[red]boom[/red]" in printed(100, task="[red]boom[/red]")


def test_a_state_is_coloured_on_a_terminal_and_a_word_everywhere() -> None:
    """Without colour the same word stands there."""
    assert "\x1b[32msucceeded" in printed(100, terminal=True, task="succeeded")
    assert "\x1b" not in printed(100, task="succeeded")


def test_pairs_leave_out_what_is_empty() -> None:
    """A page of detail shows what there is."""
    console = Console(file=io.StringIO(), width=80)
    pairs(console, [("name", "nightly"), ("owner", None), ("tags", [])])
    file = console.file
    assert isinstance(file, io.StringIO)
    assert file.getvalue().split() == ["name", "nightly"]


def test_an_empty_list_teaches_the_next_command() -> None:
    """Where nothing is, the way to something is shown."""
    console = Console(file=io.StringIO(), width=80)
    empty(console, "There is no token.", "token create --scope read")
    file = console.file
    assert isinstance(file, io.StringIO)
    assert file.getvalue() == "There is no token. Try: puntual token create --scope read\n"
