from __future__ import annotations

import pytest

from puntual.manifest import ManifestErrors
from puntual.manifest.document import plain_scalar, read_documents


def value_of(text: str) -> object:
    """The value of the one document of a text."""
    (document,) = read_documents(text, "m.yaml")
    return document.value


def refusal(text: str | bytes) -> ManifestErrors:
    """The error that a text is refused with."""
    with pytest.raises(ManifestErrors) as caught:
        read_documents(text, "m.yaml")
    return caught.value


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("on", "on"),
        ("no", "no"),
        ("NO", "NO"),
        ("12:30", "12:30"),
        ("2027-01-01", "2027-01-01"),
        ("2027-01-01T00:00:00", "2027-01-01T00:00:00"),
        ("007", "007"),
        ("0x1f", "0x1f"),
        ("1_000", "1_000"),
        (".inf", ".inf"),
        ("5xx", "5xx"),
        ("1.", "1."),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("-0", 0),
        ("429", 429),
        ("1.50", 1.5),
        ("1e3", 1000.0),
    ],
)
def test_a_plain_scalar_is_a_number_or_a_word_only_where_json_has_one(scalar: str, value: object) -> None:
    """What YAML 1.1 would turn into booleans, dates, base sixty or octal numbers stays the text that was written."""
    assert plain_scalar(scalar) == value
    assert value_of(f"key: {scalar}") == {"key": value}


def test_a_scalar_in_quotes_is_a_text() -> None:
    """Quotes are how a number is said to be a text."""
    assert value_of("""[ '429', "true", '' ]""") == ["429", "true", ""]


def test_on_is_a_key() -> None:
    """``retry: {on: ...}`` has a key of that name, not the boolean that YAML 1.1 reads there."""
    assert value_of("retry: {on: [5xx], off: 1, yes: 2, null: 3, 1: 4}") == {
        "retry": {"on": ["5xx"], "off": 1, "yes": 2, "null": 3, "1": 4}
    }


def test_every_value_has_its_line() -> None:
    """The line of a value in a mapping is that of its key; an item of a list has its own."""
    (document,) = read_documents("a:\n  b:\n    - x\n    - {c: 1,\n       d: 2}\n", "m.yaml")
    assert document.origin.lines == {"": 1, "a": 1, "a.b": 2, "a.b[0]": 3, "a.b[1]": 4, "a.b[1].c": 4, "a.b[1].d": 5}


def test_the_place_of_a_path_that_is_not_there_is_the_nearest_around_it() -> None:
    """A fault about a key that was left out points at the mapping that lacks it."""
    (document,) = read_documents("a:\n  b: [1]\n", "m.yaml")
    assert document.origin.place("a.b[0].c") == "m.yaml:2"
    assert document.origin.place("x.y") == "m.yaml:1"


@pytest.mark.parametrize("text", ["a: 1\nb: 2\na: 3\n", "{a: 1, b: 2,\n\na: 3}"])
def test_a_key_that_stands_twice_is_refused_with_both_lines(text: str) -> None:
    """A second value never silently replaces the first."""
    error = refusal(text)
    assert error.message == "m.yaml:3: the key 'a' stands twice: it is already on line 1"


def test_a_key_that_stands_twice_in_json_is_refused() -> None:
    """JSON is held to the same rule."""
    assert "'a' stands twice" in refusal('{"b": {"a": 1, "a": 2}}').message


def test_json_keeps_its_surrogate_pairs() -> None:
    """A pair of escapes is one character, as JSON has it, though YAML would see two halves."""
    assert value_of(r'{"a": "\ud83d\ude00"}') == {"a": "\N{GRINNING FACE}"}


def test_a_flow_mapping_that_is_no_json_is_yaml() -> None:
    """Braces alone do not make a text JSON."""
    assert value_of("{a: [b, 'c']}") == {"a": ["b", "c"]}


def test_empty_documents_are_passed_over() -> None:
    """A separator at the start or at the end means nothing."""
    assert [document.value for document in read_documents("---\n---\na: 1\n---\n# only a comment\n")] == [{"a": 1}]


def test_a_text_in_bytes_may_begin_with_a_byte_order_mark() -> None:
    """Editors on Windows write one."""
    assert value_of("\ufeffa: 1") == {"a": 1}


def test_an_alias_stands_for_what_it_names() -> None:
    """Anchors are read, so that a list of failures can be written once."""
    assert value_of("a: &x [1, 2]\nb: *x\n") == {"a": [1, 2], "b": [1, 2]}


def test_aliases_that_unfold_without_bound_are_refused_at_once() -> None:
    """A few hundred characters never become gigabytes."""
    levels = [
        f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    text = "a: &a [" + ",".join(["x" * 100] * 10) + "]\n" + "\n".join(levels)
    assert "aliases repeat more than fits" in refusal(text).message


@pytest.mark.parametrize("text", ["a: &x [*x]", "a: *x"])
def test_an_alias_of_what_is_not_finished_is_refused(text: str) -> None:
    """A value that holds itself has no JSON."""
    assert "there is no &x before *x" in refusal(text).message


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", '{"a":'])
def test_a_text_that_is_nested_too_deep_is_refused(opening: str) -> None:
    """Depth is bounded before it can exhaust a stack."""
    assert refusal(opening * 5_000).message.startswith("m.yaml")


def test_a_text_that_is_too_long_is_refused() -> None:
    """Length is bounded before anything is read."""
    assert "longer than 16 MB" in refusal("# " + "x" * (16 << 20)).message


@pytest.mark.parametrize(
    ("text", "line", "hint"),
    [
        ("a: 1\nwhen: @daily", 2, "needs quotes"),
        ("when: * * * * *", 1, "needs quotes"),
        ("when: */5 * * * *", 1, "needs quotes"),
        ("a:\n\t- 1", 2, "Indent with spaces"),
        ("a: 1\nb: c: d", 2, "a colon and a space needs quotes"),
    ],
)
def test_a_slip_of_syntax_names_its_line_and_the_way_out(text: str, line: int, hint: str) -> None:
    """The slips that a cron expression invites are told with what to write instead."""
    error = refusal(text)
    assert error.message.startswith(f"m.yaml:{line}: it is no YAML: ")
    assert hint in (error.hint or "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<<: {a: 1}", "the merge key << is not read here"),
        ("a: !!python/object:os.system {}", "is not read here"),
        ("a: !!int '5'", "is not read here"),
        ("{[a]: 1}", "a key must be a text"),
        ("? {a: 1}\n: 2", "a key must be a text"),
        ("a: &x b\n*x : 2", "a key must be a text"),
        ("a: \x01", "it is no YAML"),
        (b"a: 1\nb: \xff", "m.yaml:2: it is not UTF-8"),
    ],
)
def test_what_yaml_has_beyond_plain_values_is_refused(text: str | bytes, message: str) -> None:
    """Tags, merges and keys that are no text are refused in words, never guessed or obeyed."""
    assert message in refusal(text).message


@pytest.mark.parametrize(
    "text", ['a: ["\\0"]', '{"a": ["\\u0000"]}', '{"a": ["\\ud800"]}', '{"a": [1e999]}', '{"a": [NaN]}']
)
def test_values_outside_the_json_profile_are_refused(text: str) -> None:
    """NUL, half of a surrogate pair and numbers that are not finite are refused with their path."""
    assert refusal(text).field == "a[0]"
