"""The story of a run's attempts keeps its beginning and its end."""

from __future__ import annotations

import msgspec
import pytest

from puntual.model.attempt import FIRST_KEPT, LAST_KEPT, Attempt, ErrorInfo, OutcomeKind, remember


def _attempt(number: int) -> Attempt:
    return Attempt(number, "w", 0, 1, OutcomeKind.FAILED)


@pytest.mark.parametrize("total", [1, FIRST_KEPT, FIRST_KEPT + LAST_KEPT])
def test_a_short_story_is_kept_whole(total: int) -> None:
    """Up to 25 attempts stand in order."""
    story: tuple[Attempt, ...] = ()
    for number in range(1, total + 1):
        story = remember(story, _attempt(number))
    assert [attempt.number for attempt in story] == list(range(1, total + 1))


def test_a_long_story_keeps_the_first_five_and_the_last_twenty() -> None:
    """The middle goes, however long it gets."""
    story: tuple[Attempt, ...] = ()
    for number in range(1, 101):
        story = remember(story, _attempt(number))
    assert [attempt.number for attempt in story] == [1, 2, 3, 4, 5, *range(81, 101)]


def test_an_attempt_survives_being_written() -> None:
    """JSON and back is the same, with everything set and with nothing."""
    full = Attempt(2, "ñ", 1, 2, OutcomeKind.TIMED_OUT, 503, ErrorInfo("E", "m", "t"), {"dns": 0.5})
    for attempt in (full, _attempt(1)):
        assert msgspec.json.decode(msgspec.json.encode(attempt), type=Attempt) == attempt
