"""The words of a run: its states, its priorities, what it was charged."""

from __future__ import annotations

import pytest

from puntual.model.errors import InvalidError
from puntual.model.run import LIVE_STATES, Priority, RunState
from puntual.model.schedule import Pause
from tests.support.runs import running


@pytest.mark.parametrize("priority", list(Priority))
def test_a_priority_is_read_as_it_is_written(priority: Priority) -> None:
    """In any case of letters."""
    assert Priority.parse(priority.word) is priority
    assert Priority.parse(priority.word.upper()) is priority


@pytest.mark.parametrize("word", ["", "urgent", "0", "PRIORITY"])
def test_another_word_is_no_priority(word: str) -> None:
    """The error names the field and the four words."""
    with pytest.raises(InvalidError, match="must be critical, high, normal or low") as caught:
        Priority.parse(word, field="schedules.a.priority")
    assert caught.value.field == "schedules.a.priority"


def test_lower_priorities_go_first() -> None:
    """Their order is that of their shares."""
    assert sorted(Priority) == [Priority.CRITICAL, Priority.HIGH, Priority.NORMAL, Priority.LOW]


def test_two_states_are_live() -> None:
    """What is pending or running holds its unique key."""
    assert set(LIVE_STATES) == {RunState.PENDING, RunState.RUNNING}


def test_what_was_released_is_not_charged() -> None:
    """Attempts less releases count against the budget."""
    assert running(attempt=7, released=3).charged == 4


@pytest.mark.parametrize(("until", "holds"), [(None, True), (11, True), (10, False), (9, False)])
def test_a_pause_holds_until_its_end(until: int | None, *, holds: bool) -> None:
    """At the instant of its end it is over."""
    assert Pause(since=0, until=until).active(10) is holds
