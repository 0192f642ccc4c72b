"""Tests of `puntual.cli.tables`."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from puntual.cli.tables import Column, empty, fit, pairs, table

RUN_ID = "01a22d32-0cee-7841-8ad1-79969140d17f"


class Screen:
    """A console whose text is kept."""

    def __init__(self, width: int = 80, *, terminal: bool = False) -> None:
        self._file = io.StringIO()
        self.console = Console(
            file=self._file,
            width=width,
            force_terminal=terminal,
            color_system="standard" if terminal else None,
            markup=False,
        )

    @property
    def text(self) -> str:
        """What was printed."""
        return self._file.getvalue()


def printed(
    width: int, task: str = "mail.send", *, titles: Sequence[str] = ("!ID", "Task"), terminal: bool = False
) -> str:
    """A table of one row: a run's id, a task, and two more cells."""
    screen = Screen(width, terminal=terminal)
    table(screen.console, titles, [(RUN_ID, task, "default", "it went wrong")[: len(titles)]])
    return screen.text


@pytest.mark.parametrize("width", [10, 40, 60, 200])
def test_an_id_is_whole_at_any_width(width: int) -> None:
    """Ids are there to be copied: a narrow terminal takes its room from other columns, and wraps none."""
    assert RUN_ID in printed(width)


def test_a_long_text_gives_way() -> None:
    """The text beside an id is cut to the room that is left."""
    lines = printed(60, "x" * 500).splitlines()
    assert [len(line) <= 60 for line in lines] == [True, True]
    assert lines[1].endswith("…")


def test_what_matters_less_is_left_out() -> None:
    """An optional column goes before a needed one is cut to nothing."""
    titles = ("!ID", "Task", "~Queue")
    assert "default" in printed(80, titles=titles)
    assert "default" not in printed(50, titles=titles)
    assert "mail.se" in printed(50, titles=titles)


def test_a_note_stands_beside_its_row_or_below_it() -> None:
    """Where there is no room for the reason it gets a line of its own."""
    titles = ("!ID", "Task", "Queue", "+Why")
    assert printed(100, titles=titles).splitlines()[1].endswith("it went wrong")
    assert printed(60, titles=titles).splitlines()[2] == "    it went wrong"


def test_what_is_optional_goes_before_a_needed_text_is_cut() -> None:
    """A rule that fits without the queue is not cut for it."""
    rule = "At 02:00 on Monday to Friday (UTC)"
    screen = Screen(80)
    table(
        screen.console, ("!Name", "When", "What", "~Queue"), [("nightly", rule, "GET https://example.com/abcdef", "q")]
    )
    assert rule in screen.text
    assert "Queue" not in screen.text


def test_an_id_in_a_note_is_whole() -> None:
    """It goes below its row rather than be cut."""
    screen = Screen(60)
    table(screen.console, ("Task", ">Late", "+!Run"), [("x" * 40, "4 ms", RUN_ID)])
    assert screen.text.splitlines()[2] == f"    {RUN_ID}"


def test_a_column_without_a_value_takes_no_room() -> None:
    """Its head would say nothing."""
    screen = Screen()
    table(screen.console, ("!Name", "Reason", ">Late"), [("a", None, "4 ms"), ("b", "", "5 ms")])
    assert screen.text.splitlines()[0].split() == ["Name", "Late"]


def test_a_whole_note_is_wrapped_and_never_cut() -> None:
    """In a view of detail nothing of an error is lost."""
    words = " ".join(f"word{number}" for number in range(200))
    screen = Screen(60)
    table(screen.console, ("!#", "+Error"), [("1", Text(words))], whole_notes=True)
    assert screen.text.split()[2:] == words.split()
    assert all(len(line) <= 60 and line == line.rstrip() for line in screen.text.splitlines())


def test_a_long_value_of_a_page_is_wrapped_beside_its_name() -> None:
    """Its lines stand beneath each other, without blanks at their ends."""
    screen = Screen(30)
    pairs(screen.console, [("name", "nightly"), ("what", "one two three four five six seven")])
    assert screen.text.splitlines() == ["name  nightly", "what  one two three four five", "      six seven"]


def test_no_line_has_blanks_at_its_end() -> None:
    """What is copied or compared has no invisible rest."""
    lines = printed(100, "", titles=("!ID", "Task")).splitlines()
    assert [line for line in lines if line != line.rstrip()] == []


COLUMNS = st.lists(
    st.builds(Column, st.just("x"), st.booleans(), st.booleans(), st.booleans(), st.just(value=False)), min_size=1
)


@given(COLUMNS, st.data(), st.integers(1, 300))
def test_every_column_gets_what_it_is_promised(columns: list[Column], data: st.DataObject, width: int) -> None:
    """Fixed columns keep their width, needed ones stay, and none is wider than it wants to be."""
    wishes = data.draw(st.lists(st.integers(1, 100), min_size=len(columns), max_size=len(columns)))
    for column, wish, got in zip(columns, wishes, fit(columns, wishes, width), strict=True):
        assert got <= wish
        assert got or column.optional
        if column.fixed and got:
            assert got == wish


def test_a_hostile_name_is_written_out() -> None:
    """No cell speaks to the terminal."""
    assert "\x1b" not in printed(100, "\x1b]0;owned\x07")


def test_markup_is_no_markup() -> None:
    """Brackets in a name are brackets."""
    assert "[red]boom[/red]" in printed(100, "[red]boom[/red]")


def test_a_state_is_coloured_on_a_terminal_and_a_word_everywhere() -> None:
    """Without colour the same word stands there."""
    assert "\x1b[32msucceeded" in printed(100, "succeeded", terminal=True)
    assert "\x1b" not in printed(100, "succeeded")


def test_pairs_leave_out_what_is_empty() -> None:
    """A page of detail shows what there is."""
    screen = Screen()
    pairs(screen.console, [("name", "nightly"), ("owner", None), ("tags", [])])
    assert screen.text.split() == ["name", "nightly"]


def test_an_empty_list_teaches_the_next_command() -> None:
    """Where nothing is, the way to something is shown."""
    screen = Screen()
    empty(screen.console, "There is no token.", "token create --scope read")
    assert screen.text == "There is no token. Try: puntual token create --scope read\n"
