from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puntual.model.instant import SECOND
from puntual.model.outcome import Outcome
from puntual.targets.http.answer import Answer, decoded, outcome_of, read_capped, retry_after
from tests.support.http import NOW


class Pieces:
    """A stream that gives its pieces one by one, never more than asked for."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = list(pieces)

    async def read(self, n: int = -1) -> bytes:
        """The next piece, or as much of it as is wanted."""
        if not self.pieces:
            return b""
        piece = self.pieces.pop(0)
        if len(piece) > n:
            self.pieces.insert(0, piece[n:])
        return piece[:n]


def outcome(body: bytes, content_type: str = "application/json", status: int = 200) -> Outcome:
    """The outcome of an answer with this body."""
    answer = Answer(status=status, headers=(("Content-Type", content_type),), body=body)
    return outcome_of(answer, timings={}, now=NOW)


def body_of(result: Outcome) -> object:
    """What the result holds of the body."""
    assert result.result is not None
    return json.loads(result.result).get("body", msgspec.UNSET)


@pytest.mark.parametrize(
    ("cap", "kept", "more"), [(0, b"", True), (4, b"abcd", True), (5, b"abcde", False), (9, b"abcde", False)]
)
async def test_reading_stops_at_the_cap(cap: int, kept: bytes, *, more: bool) -> None:
    """Never more than the cap is kept, and what is left over is noticed."""
    body = bytearray()
    assert await read_capped(Pieces(b"ab", b"cde"), cap, body) is more
    assert body == kept


@pytest.mark.parametrize(
    ("encoding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("X-GZIP", gzip.compress)]
)
def test_packed_bodies_are_unpacked(encoding: str, pack: Callable[[bytes], bytes]) -> None:
    """A server that compresses though it was asked not to is understood."""
    answer = Answer(status=200, headers=(("Content-Encoding", encoding),), body=pack(b"hello"))
    assert decoded(answer, 100).body == b"hello"


def test_unpacking_stops_at_the_cap() -> None:
    """A small body that would become a large one is cut at the cap, and counts as cut."""
    answer = Answer(status=200, headers=(("content-encoding", "gzip"),), body=gzip.compress(bytes(1 << 20)))
    unpacked = decoded(answer, 1000)
    assert len(unpacked.body) == 1000
    assert unpacked.truncated >= 1


@given(st.binary(max_size=200), st.sampled_from(["gzip", "deflate", "br", "", "gzip, gzip"]))
def test_no_body_breaks_the_unpacking(body: bytes, encoding: str) -> None:
    """Bytes that are not what they claim to be stay as they came."""
    answer = Answer(status=200, headers=(("content-encoding", encoding),), body=body)
    assert len(decoded(answer, 50).body) <= max(50, len(body))


def test_json_becomes_the_result() -> None:
    """A JSON answer can be used by what follows."""
    assert body_of(outcome(b'{"ok": true, "n": 12345678901234567890123}')) == {"ok": True, "n": 12345678901234567890123}
    assert body_of(outcome(b"[1]", "application/problem+json; charset=utf-8")) == [1]
    assert body_of(outcome(b"null")) is None


def test_json_outside_the_profile_becomes_text() -> None:
    """NUL, NaN, depth, bad UTF-8 and half characters degrade to text and change nothing else."""
    for body in (b'"\\u0000"', b"NaN", b"[" * 40 + b"]" * 40, b'{"a": ', b'"\\ud800"', b"[" * 9000):
        result = outcome(body)
        assert result.kind.value == "succeeded"
        assert isinstance(body_of(result), str)


def test_wide_json_is_not_deep() -> None:
    """Many brackets side by side are no depth."""
    assert body_of(outcome(b"[" + b"[]," * 100 + b"[]]")) == [[]] * 101


def test_large_json_becomes_an_excerpt() -> None:
    """A result stays small; the evidence has the rest."""
    text = body_of(outcome(json.dumps("x" * 20_000).encode()))
    assert isinstance(text, str)
    assert len(text) == 2048


def test_binary_is_left_to_the_evidence() -> None:
    """A result holds no bytes that are no text."""
    result = outcome(b"\x89PNG", "image/png")
    assert result.result == '{"status":200}'
    assert result.evidence is not None
    assert result.evidence.body == b"\x89PNG"


def test_text_is_read_in_its_character_set() -> None:
    """What the server declares is believed when it exists."""
    assert body_of(outcome("señal".encode("latin-1"), 'text/plain; charset="ISO-8859-1"')) == "señal"
    assert body_of(outcome("señal".encode(), "text/plain")) == "señal"
    assert body_of(outcome("señal".encode(), "text/plain; charset=no-such-set")) == "señal"


@given(
    st.binary(max_size=300),
    st.sampled_from(
        [
            "utf-8",
            "utf-16",
            "utf-16le",
            "utf-7",
            "unicode_escape",
            "punycode",
            "idna",
            "rot13",
            "hex",
            "undefined",
            "big5",
            "\0",
        ]
    ),
    st.sampled_from(["text/plain", "application/json", ""]),
)
def test_every_answer_can_be_stored(body: bytes, charset: str, kind: str) -> None:
    """Any bytes in any character set give a result that is JSON without NUL and half characters."""
    result = outcome(body, f"{kind}; charset={charset}").result
    assert result is not None
    assert "\\u0000" not in result.replace("\\\\", "")
    assert json.loads(result.encode().decode())["status"] == 200


def test_unknown_statuses_are_shown_as_numbers() -> None:
    """The server's own words are not repeated."""
    error = outcome(b"", status=799).error
    assert error is not None
    assert error.message == "799"


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        ("120", 120 * SECOND),
        (" 0 ", 0),
        ("Fri, 24 Jul 2026 12:01:00 GMT", 60 * SECOND),
        ("Fri, 24 Jul 2026 11:00:00 GMT", 0),
        ("", None),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("٣", None),
        ("9" * 100, 999_999_999 * SECOND),
        ("Fri, 99 Jul 2026 12:01:00 GMT", None),
        ("Fri, 24 Jul 2026 12:01:00", None),
    ],
)
def test_retry_after(text: str, wait: int | None) -> None:
    """Seconds or an HTTP date count; what is neither says nothing; never negative."""
    assert retry_after(text, NOW) == wait


@given(st.text(max_size=60))
def test_retry_after_survives_anything(text: str) -> None:
    """A header from outside never raises."""
    wait = retry_after(text, NOW)
    assert wait is None or wait >= 0
