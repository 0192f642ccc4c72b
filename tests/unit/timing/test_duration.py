"""Durations as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from puntual.model.duration import LONGEST, format_duration, parse_duration
from puntual.model.errors import InvalidDurationError
from puntual.model.instant import DAY, HOUR, MILLISECOND, MINUTE, SECOND


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("90s", 90 * SECOND),
        ("5m", 5 * MINUTE),
        ("1h30m", 90 * MINUTE),
        ("1h 30m", 90 * MINUTE),
        ("2d", 2 * DAY),
        ("500ms", 500 * MILLISECOND),
        ("0s", 0),
        ("2 weeks", 14 * DAY),
        ("15 min", 15 * MINUTE),
        ("1.5 hours", 90 * MINUTE),
        ("1 Hour 30 MINUTES", 90 * MINUTE),
        (" 7 days ", 7 * DAY),
        ("PT5M", 5 * MINUTE),
        ("pt1.5s", 1_500 * MILLISECOND),
        ("P1DT2H", DAY + 2 * HOUR),
        ("P2W", 14 * DAY),
    ],
)
def test_reads_units_words_and_iso_8601(text: str, us: int) -> None:
    """Each way of writing gives exact microseconds."""
    assert parse_duration(text) == us


@pytest.mark.parametrize(
    ("text", "why"),
    [
        *((text, "no duration") for text in ("", " ", "90", "5 minuts", "m", "5m please", "P", "PT", "P1M", "P1Y")),
        *(
            (text, "no duration")
            for text in ("1 month", "1 year", "1e3s", "\u0665m", "1h30", "+5m", "1,5 hours", "nan s")
        ),
        *((text, "each unit once") for text in ("5m5m", "5s1m", "1h 2 hours")),
        *((text, "negative") for text in ("-5m", "-PT5M")),
        *((text, "finer") for text in ("0.5us", "0.0000001s")),
        *((text, "hundred years") for text in ("101000 days", "999999999999999w")),
    ],
)
def test_what_is_no_duration_is_refused_with_the_reason(text: str, why: str) -> None:
    """Unknown words, leftovers, negatives and units without a fixed length are errors."""
    with pytest.raises(InvalidDurationError, match=why) as caught:
        parse_duration(text, field="timeout")
    assert caught.value.field == "timeout"


@given(st.integers(0, LONGEST))
def test_the_canonical_text_reads_back(us: int) -> None:
    """format_duration and parse_duration are inverse."""
    assert parse_duration(format_duration(us)) == us


def test_canonical_texts() -> None:
    """The largest units come first and empty ones are left out."""
    assert [format_duration(us) for us in (0, 90 * MINUTE, 14 * DAY + 5, 1_500 * MILLISECOND)] == [
        *("0s", "1h30m", "14d5us", "1s500ms"),
    ]
    with pytest.raises(InvalidDurationError, match="zero or more"):
        format_duration(-1)
