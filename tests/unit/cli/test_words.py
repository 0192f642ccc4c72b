"""Tests of `puntual.cli.words`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from puntual.cli.words import clean, listed, local, plural, relative, spell, spell_ms, when
from puntual.model.instant import DAY, HOUR, MINUTE, SECOND, parse_instant

NOW = parse_instant("2026-03-08T12:00:00Z")


@given(st.text())
def test_nothing_that_a_terminal_obeys_gets_through(text: str) -> None:
    """Whatever a name holds, what is shown is printable."""
    assert clean(text).isprintable()


def test_an_escape_is_written_out() -> None:
    """A colour code in a name is shown as text."""
    assert clean("a\x1b[31mb\r\n") == "a\\x1b[31mb\\r\\n"


def test_a_long_name_is_cut() -> None:
    """A name of any length takes no more room than it is given."""
    assert clean("x" * 300, 10) == "xxxxxxxxx…"


def test_line_ends_can_be_kept() -> None:
    """A text of several lines keeps its lines where they are wanted."""
    assert clean("a\n\x07b", keep="\n") == "a\n\\x07b"


@pytest.mark.parametrize(
    ("away", "words"),
    [
        (0, "now"),
        (12 * SECOND, "in 12 seconds"),
        (-MINUTE, "1 minute ago"),
        (3 * HOUR + MINUTE, "in 3 hours"),
        (3 * HOUR - 200_000, "in 3 hours"),
        (HOUR - 1, "in 1 hour"),
        (90 * MINUTE, "in 1 hour"),
        (-2 * DAY, "2 days ago"),
        (400 * DAY, "2027-04-12"),
    ],
)
def test_an_instant_is_told_by_its_distance(away: int, words: str) -> None:
    """Near instants are told by their distance, far ones by their date."""
    assert relative(NOW + away, NOW) == words


@pytest.mark.parametrize(
    ("zone", "words"),
    [
        ("Europe/Madrid", "2026-03-08 13:00 +01:00 Europe/Madrid"),
        ("America/Bogota", "2026-03-08 07:00 -05:00 America/Bogota"),
        ("Asia/Kathmandu", "2026-03-08 17:45 +05:45 Asia/Kathmandu"),
        ("UTC", ""),
        ("Mars/Olympus", ""),
    ],
)
def test_an_instant_is_told_on_the_clock_of_its_zone(zone: str, words: str) -> None:
    """With its offset; not where that is UTC again, or a zone that this machine does not know."""
    assert local("2026-03-08T12:00:00Z", zone) == words


def test_no_instant_is_no_words() -> None:
    """What a reply leaves out is shown as nothing."""
    assert when(None, NOW) == ""


@pytest.mark.parametrize(
    ("us", "words"),
    [
        (0, "0 s"),
        (340, "0.34 ms"),
        (14_600, "14.6 ms"),
        (1_500_000, "1.5 s"),
        (90 * SECOND, "1 minute"),
        (DAY, "1 day"),
    ],
)
def test_a_span_is_told_in_its_largest_unit(us: int, words: str) -> None:
    """Short spans are exact, long ones readable."""
    assert spell(us) == words


def test_milliseconds_of_a_reply_may_be_missing() -> None:
    """A run that has not started has no lateness."""
    assert (spell_ms(None), spell_ms(1500)) == ("", "1.5 s")


def test_counts_agree_with_their_nouns() -> None:
    """One run, no runs, many thousand runs."""
    assert [plural(1, "run"), plural(0, "run"), plural(12_000, "run")] == ["1 run", "0 runs", "12,000 runs"]


def test_a_long_list_says_how_much_it_leaves_out() -> None:
    """Of many names the first are shown and the rest is counted."""
    assert [listed(["a"]), listed("ab"), listed("abcde")] == ["a", "a and b", "a, b, c and 2 more"]
