"""Filters as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from puntual.model.errors import InvalidError
from puntual.model.instant import HOUR, format_instant, parse_instant
from puntual.model.run import Origin, RunState
from puntual.model.schedule import Fate
from puntual.operations import filters
from puntual.operations.filters import Moment

NOW = parse_instant("2026-03-29T12:00:00Z")
MADRID = Moment(NOW, "Europe/Madrid")
UTC = Moment(NOW, "UTC")


@pytest.mark.parametrize(
    ("text", "moment", "instant"),
    [
        ("now", UTC, "2026-03-29T12:00:00Z"),
        ("24h", UTC, "2026-03-28T12:00:00Z"),
        ("1h30m", UTC, "2026-03-29T10:30:00Z"),
        ("today", UTC, "2026-03-29T00:00:00Z"),
        ("Yesterday", UTC, "2026-03-28T00:00:00Z"),
        ("today", MADRID, "2026-03-28T23:00:00Z"),
        ("yesterday", MADRID, "2026-03-27T23:00:00Z"),
        ("today", Moment(NOW, "Pacific/Kiritimati"), "2026-03-29T10:00:00Z"),
        ("today", Moment(NOW, "America/Bogota"), "2026-03-29T05:00:00Z"),
        ("2026-01-01T00:00:00+05:00", UTC, "2025-12-31T19:00:00Z"),
    ],
)
def test_a_word_names_its_instant(text: str, moment: Moment, instant: str) -> None:
    """Durations look back; days begin at local midnight, on days of a clock change too."""
    assert format_instant(filters.when(text, "since", moment)) == instant


@pytest.mark.parametrize("text", ["", "then", "2026-01-01T00:00:00", "2026-01-01", "-1h", "tomorrow"])
def test_a_text_that_names_no_instant_is_refused(text: str) -> None:
    """The field is named, and what would be right."""
    with pytest.raises(InvalidError, match=r"since") as caught:
        filters.when(text, "since", UTC)
    assert caught.value.field == "since"


def test_looking_ahead_takes_durations_from_now() -> None:
    """``2h`` is in two hours; what has passed is refused."""
    assert filters.later("2h", "until", UTC) == NOW + 2 * HOUR
    for text in ("0s", "2026-03-29T12:00:00Z", "today"):
        with pytest.raises(InvalidError) as caught:
            filters.later(text, "until", UTC)
        assert caught.value.field == "until"


def test_a_filter_of_runs_takes_lists_and_single_texts() -> None:
    """What the command line gives as a list and a query string as a text is the same."""
    where = {"state": ["dead", "pending"], "queue": "mail", "origin": ("tick",), "since": "1h", "schedule": None}
    found = filters.run_filter(where, UTC)
    assert found.states == (RunState.DEAD, RunState.PENDING)
    assert (found.queues, found.origins, found.since) == (("mail",), (Origin.TICK,), NOW - HOUR)
    assert (found.schedules, found.until, found.discarded) == ((), None, True)


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ({"sate": ["dead"]}, "did you mean state"),
        ({"zzz": 1}, "the keys are"),
        ({"state": ["done"]}, "one of pending, running, succeeded, dead, cancelled"),
        ({"state": [7]}, "list of texts"),
        ({"queue": {"a": 1}}, "list of texts"),
        ({"queue": ["a\0b"]}, "list of texts"),
        ({"since": ["1h", "2h"]}, "taken once"),
        ({"ids": ["7"]}, "no run id"),
        ({"ids": ["0198c1f2-7d3a-7b0e-9c55-3f1d2a4b6c8d"] * 10_001}, "at most 10,000"),
    ],
)
def test_a_wrong_filter_is_refused(where: dict[str, object], words: str) -> None:
    """Never ignored: the sentence says what would be right."""
    with pytest.raises(InvalidError, match=words):
        filters.run_filter(where, UTC)


@pytest.mark.parametrize(
    "where", [{}, {"all": False}, {"ids": []}, {"limit": 5}, {"all": True, "queue": ["a"]}, {"all": "yes"}]
)
def test_changing_runs_needs_names_or_all(where: dict[str, object]) -> None:
    """Nothing said changes nothing, and both said is no meaning."""
    with pytest.raises(InvalidError) as caught:
        filters.changing_filter(where, UTC)
    assert caught.value.field == "all"


def test_changing_runs_leaves_discarded_ones_alone() -> None:
    """A replay of everything does not bring back what somebody set aside."""
    assert filters.changing_filter({"all": True}, UTC).discarded is False
    assert filters.changing_filter({"queue": ["a"]}, UTC).queues == ("a",)


def test_ticks_are_filtered_by_one_schedule_and_fates() -> None:
    """The record of one schedule, or of all."""
    found = filters.tick_filter({"schedule": "a", "fate": ["missed", "ran"]}, UTC)
    assert (found.schedule, found.fates) == ("a", (Fate.MISSED, Fate.RAN))
    with pytest.raises(InvalidError, match="taken once"):
        filters.tick_filter({"schedule": ["a", "b"]}, UTC)


@pytest.mark.parametrize("limit", [0, -1, 1001, "0", "x", "", "1e3", True, 1.5, "99999999999"])
def test_a_limit_is_from_1_to_1000(limit: object) -> None:
    """As a number or a text."""
    with pytest.raises(InvalidError, match="from 1 to 1000"):
        filters.page({"limit": limit})
    assert filters.page({"limit": "1000"}).limit == 1000
    assert filters.page({"limit": None}).limit == filters.LIMIT


@given(st.text(min_size=1).filter(str.isprintable))
def test_a_cursor_gives_its_key_back(key: str) -> None:
    """Whatever the key is, and safe in a URL."""
    text = filters.cursor(key)
    assert filters.read_cursor(text) == key
    assert text.replace("-", "").replace("_", "").isalnum()


@pytest.mark.parametrize("text", ["", "!", "a", "AA", "w4", "a b"])
def test_a_cursor_of_somebody_else_is_refused(text: str) -> None:
    """What is no base64url of a printable key."""
    with pytest.raises(InvalidError) as caught:
        filters.read_cursor(text)
    assert caught.value.field == "cursor"
