from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from uuid import UUID

import msgspec
import pytest

from puntual.model import payload
from puntual.model.errors import InvalidPayloadError
from puntual.model.profile import MAX_DEPTH


class Color(Enum):
    RED = "red"


class Mood(StrEnum):
    GOOD = "good"


@dataclasses.dataclass
class Point:
    x: int
    when: datetime | None = None


class Place(msgspec.Struct):
    name: str
    held: object = None


class Text(str):
    __slots__ = ()


def nested(depth: int) -> object:
    """``depth`` lists, one inside the other."""
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


def refusal(value: object) -> InvalidPayloadError:
    """The error that a value is refused with."""
    with pytest.raises(InvalidPayloadError) as caught:
        payload.encode(value, field="args")
    return caught.value


PLAIN = [
    None,
    True,
    0,
    -(2**63),
    2**64,
    10**300,
    1.5,
    -0.0,
    5e-324,
    1e300,
    "",
    "ñ \u2028 \U0001f600 \x01 \\u0000",
    [],
    {},
    {"a": [1, {"b": None}], "": "", "ñ": [[]]},
    nested(MAX_DEPTH),
]


@pytest.mark.parametrize("value", PLAIN)
def test_plain_values_come_back_equal_and_of_the_same_type(value: object) -> None:
    """What JSON has is kept exactly, integers of any size included."""
    back = payload.decode(payload.encode(value, field="args"))
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize(
    ("value", "path", "says"),
    [
        ({"a": float("nan")}, "args.a", "nan"),
        ({"a": [1, float("inf")]}, "args.a[1]", "inf"),
        ({"a": Decimal("NaN")}, "args.a", "NaN"),
        ({"a": "x\0y"}, "args.a", "NUL character at position 1"),
        ({"a\0": 1}, "args", "NUL"),
        ({"a": "x\ud800"}, "args.a", "lone surrogate at position 1"),
        ({"\udfff": 1}, "args", "lone surrogate"),
        ({1: "a"}, "args", "key 1: keys must be text"),
        ({"a": {None: 1}}, "args.a", "key None"),
        ({"a": datetime(2026, 1, 1)}, "args.a", "without offset"),  # noqa: DTZ001 - the fault under test
        ({"a": object()}, "args.a", "is a object, which is no JSON value"),
        ({"a": [range(3)]}, "args.a[0]", "is a range"),
        ({"a": 10**5000}, "args.a", "more than 4300 digits"),
        ({"a": Point(1, datetime(2026, 1, 1))}, "args.a.when", "without offset"),  # noqa: DTZ001 - the fault under test
        ({"a": Place("x", {1: 2})}, "args.a.held", "keys must be text"),
        ({"a": Point}, "args.a", "is a type"),
    ],
)
def test_a_value_outside_the_profile_is_refused_with_its_path(value: object, path: str, says: str) -> None:
    """The one sentence names where the fault is and what it is."""
    error = refusal(value)
    assert error.field == path
    assert says in error.message


def test_depth_is_capped_and_counted_exactly() -> None:
    """64 arrays and objects are allowed, one more is not."""
    assert refusal(nested(MAX_DEPTH + 1)).field == "args" + "[0]" * MAX_DEPTH
    assert refusal({"a": nested(MAX_DEPTH)}).message.endswith("is nested deeper than 64 arrays and objects.")


def test_a_value_that_holds_itself_is_refused() -> None:
    """Endless nesting ends in the same sentence, not in a recursion error."""
    ring: list[object] = []
    ring.append(ring)
    assert "nested deeper" in refusal(ring).message


def test_wide_values_are_not_taken_for_deep_ones() -> None:
    """Many brackets side by side are no depth."""
    wide = [{"a": [index, "[[[{{{"]} for index in range(500)]
    assert payload.decode(payload.encode(wide, field="args")) == wide


@pytest.mark.parametrize(
    ("value", "annotation"),
    [
        (datetime(2026, 3, 8, 2, 30, 0, 5, tzinfo=UTC), datetime),
        (date(2026, 3, 8), date),
        (time(2, 30), time),
        (timedelta(days=-1, microseconds=3), timedelta),
        (UUID(int=7), UUID),
        (Decimal("1.10"), Decimal),
        (b"\x00\xff", bytes),
        (Color.RED, Color),
        (Mood.GOOD, Mood),
        (Point(1, datetime(2026, 1, 1, tzinfo=UTC)), Point),
        (Place("x", [1]), Place),
        ({1, 2}, set[int]),
        (frozenset({"a"}), frozenset[str]),
        ((1, "a"), tuple[int, str]),
    ],
)
def test_rich_types_come_back_by_annotation(value: object, annotation: type) -> None:
    """Each rich type is written as JSON and is itself again once it is read by its annotation."""
    plain = payload.decode(payload.encode(value, field="args"))
    back: object = payload.convert(plain, annotation, field="args")
    assert back == value
    assert type(back) is type(value)


def test_subclasses_of_text_are_written_as_text() -> None:
    """A subclass adds behaviour, not content."""
    assert payload.encode({"a": Text("x"), "b": Mood.GOOD}, field="args") == '{"a":"x","b":"good"}'


def test_size_is_capped_in_bytes_of_json() -> None:
    """The limit counts the bytes that are stored."""
    assert payload.encode("éé", field="args", max_bytes=6) == '"éé"'
    with pytest.raises(InvalidPayloadError, match=r"args is 6 bytes as JSON; at most 5 are allowed\."):
        payload.encode("éé", field="args", max_bytes=5)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a":1,"a":2}', "args has the key 'a' twice"),
        ('{"b":{"a":1,"c":2,"a":1}}', "the key 'a' twice"),
        ('{"a":1,}', "args is not JSON"),
        ("", "args is not JSON"),
        ("{} x", "line 1, column 4"),
        ("NaN", "which JSON does not have"),
        ('{"a":[1,Infinity]}', "args.a[1] is inf"),
        ("1e999", "is inf"),
        (r'"\u0000"', "NUL"),
        (r'{"a":"\ud800"}', "args.a has a lone surrogate"),
        ("[" * 65 + "]" * 65, "nested deeper than 64"),
        ("[" * 100_000, "nested deeper than 64"),
        ("9" * 5000, "too long"),
        (b'"\xff"', "args is not UTF-8 at byte 1"),
        (b"\xef\xbb\xbf{}", "args is not JSON"),
        ('"\ud800"', "args is not UTF-8"),
    ],
)
def test_text_from_outside_is_refused_with_one_sentence(text: str | bytes, says: str) -> None:
    """Whatever an API or a command line hands in, the fault is named."""
    with pytest.raises(InvalidPayloadError) as caught:
        payload.check_text(text, field="args")
    assert says in caught.value.message


def test_text_from_outside_is_kept_in_compact_form() -> None:
    """White space goes, order and integers stay."""
    assert payload.check_text(' {"b" : 123456789012345678901234567890,\n "a": [1.0, null]} ', field="args") == (
        '{"b":123456789012345678901234567890,"a":[1.0,null]}'
    )


def test_text_from_outside_is_refused_by_size_before_it_is_read() -> None:
    """A long body costs no parsing."""
    with pytest.raises(InvalidPayloadError, match="at most 10"):
        payload.check_text("x" * 11, field="args", max_bytes=10)


def test_a_value_that_does_not_fit_its_annotation_is_refused_with_its_path() -> None:
    """The path inside the value is put behind the field."""
    with pytest.raises(InvalidPayloadError) as caught:
        payload.convert([{"x": 1}, {"x": "one"}], list[Point], field="args.points")
    assert caught.value.field == "args.points[1].x"
    assert caught.value.message == "args.points[1].x does not fit: expected `int`, got `str`."


def _broken(act: Callable[[], object]) -> object:
    class Broken:
        def __repr__(self) -> str:
            act()
            return "x"

    return Broken()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"charged": 7}, '{"charged":7}'),
        (float("nan"), '"nan"'),
        ({1: "a"}, "\"{1: 'a'}\""),
        ("a\0b", "\"'a\\\\x00b'\""),
    ],
)
def test_a_result_outside_the_profile_becomes_text(value: object, text: str) -> None:
    """A result never changes the outcome: what cannot be stored is stored as its text."""
    assert payload.encode_result(value) == text


def test_a_result_whose_text_cannot_be_made_is_told_of() -> None:
    """Not even a broken repr gets in the way."""

    def stop() -> object:
        raise SystemExit

    assert "Broken whose text cannot be shown: SystemExit" in payload.encode_result(_broken(stop))


def test_a_result_that_is_too_long_becomes_shortened_text() -> None:
    """The cap holds for results too."""
    text = payload.encode_result("x" * 5_000, max_bytes=4_096)
    assert len(text) < 4_096
    assert "(5,002 characters)" in text


def test_a_digest_is_of_the_meaning_not_of_the_writing() -> None:
    """Order of keys and white space make no difference; types do."""
    assert payload.digest('{"a":1,"b":[1,2]}') == payload.digest(' {"b": [1, 2], "a": 1}')
    assert payload.digest("1") != payload.digest("1.0")
    assert payload.digest("[1,2]") != payload.digest("[2,1]")


def test_safe_text_takes_what_no_store_takes() -> None:
    """NUL and lone surrogates are written out, long text is cut with its length."""
    assert payload.safe_text("a\0\ud800") == "a\\x00\\ud800"
    assert payload.safe_text("x" * 30, limit=10) == "xxxxxxxxxx... (30 characters)"
