"""Instants at the edges: texts and datetimes in and out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from puntual.model.errors import InvalidInstantError
from puntual.model.instant import (
    EARLIEST,
    LATEST,
    SECOND,
    format_instant,
    from_datetime,
    parse_instant,
    to_datetime,
)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00Z", 0),
        ("1970-01-01t00:00:01z", SECOND),
        ("1970-01-01T00:00:00.25Z", 250_000),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1969-12-31T19:00:00-05:00", 0),
        ("1969-12-31T23:59:59.999999Z", -1),
    ],
)
def test_reads_rfc_3339(text: str, instant: int) -> None:
    """A time with an offset is one instant."""
    assert parse_instant(text) == instant


@pytest.mark.parametrize("text", ["2026-01-01T00:00:00", "2026-01-01T00:00"])
def test_a_time_without_offset_is_refused_and_told_so(text: str) -> None:
    """Nothing guesses the zone of a bare time."""
    with pytest.raises(InvalidInstantError, match="has no offset") as caught:
        parse_instant(text, field="after")
    assert caught.value.field == "after"


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "now", "2026-01-01", "2026-01-01T00:00:00Z ", " 2026-01-01T00:00:00Z", "2026-01-01 00:00:00Z"),
        *("2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:00:60Z"),
        *("10000-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "2026-01-01T00:00:00.1234567Z", "2026-01-01T00:00:00+24:00"),
        *("2026-01-01T00:00:00+05", "٢٠٢٦-01-01T00:00:00Z", "9999-12-31T23:59:59-00:01", "0001-01-01T00:00:00+00:01"),
        "2026-01-01T00:00:00Z\n",
    ],
)
def test_what_is_no_instant_is_refused(text: str) -> None:
    """White space, other digits, dates that do not exist and years past 9999 are refused."""
    with pytest.raises(InvalidInstantError):
        parse_instant(text)


def test_writes_the_shortest_exact_fraction() -> None:
    """None for whole seconds, then milliseconds, then microseconds."""
    assert [format_instant(instant) for instant in (0, 5_000, 5_001)] == [
        "1970-01-01T00:00:00Z",
        "1970-01-01T00:00:00.005Z",
        "1970-01-01T00:00:00.005001Z",
    ]


@given(st.integers(EARLIEST, LATEST))
def test_text_and_datetime_round_trip(instant: int) -> None:
    """What is written reads back as the same instant."""
    assert parse_instant(format_instant(instant)) == instant
    assert from_datetime(to_datetime(instant)) == instant


def test_datetimes_keep_their_moment_whatever_their_zone() -> None:
    """An aware datetime of any offset is converted, a naive one refused."""
    moment = datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    assert from_datetime(moment) == parse_instant("2026-01-01T00:00:00Z")
    assert to_datetime(0) == datetime(1970, 1, 1, tzinfo=UTC)
    with pytest.raises(InvalidInstantError, match="no offset"):
        from_datetime(moment.replace(tzinfo=None))


def test_instants_outside_the_years_have_no_text() -> None:
    """An instant past the year 9999 is an error, not an overflow."""
    with pytest.raises(InvalidInstantError, match="years 1 to 9999"):
        format_instant(LATEST + 1)
