"""What is kept as JSON is read by the release after, and by the one before: by rules that are held here.

A reader passes over a field that it does not know, takes the default of one that is not there, and refuses a word that
it does not know. So a release may keep one field more, that has a default and whose neglect does no harm; and it writes
a new word only after a release that reads it. What may never be: a field that goes, another default, another place in
an array.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from puntual.model.attempt import Attempt, ErrorInfo, OutcomeKind
from puntual.model.calendar import CalendarSpec
from puntual.model.policy import Backoff, OnLostLease, RetryPolicy, RunPolicy
from puntual.model.schedule import Fate, FateReason, MisfirePolicy, Overlap, Pause, ScheduleSpec, Stretch, Target
from puntual.timing.calendar import CalendarDays
from puntual.timing.rule import AnyRule, CronRule, IntervalRule, OnceRule, Timetable
from tests.support.frozen import RELEASED, THIS
from tests.support.stored import GIVEN, KEPT, Shape, Stored, stored

NOW = stored()
RETRY = RetryPolicy(max_attempts=2, backoff=Backoff.FIXED, delay_us=7, on=("5xx",), not_on=("501",))
#: A value of each kind that is kept, with the words and structs that it can have.
VALUES: list[msgspec.Struct] = [
    RunPolicy(retry=RETRY, timeout_us=None, on_lost_lease=OnLostLease.CANCEL),
    Attempt(1, "w", 2, 3, OutcomeKind.FAILED, 503, ErrorInfo("HttpError", "503", "trace"), {"total": 1.5}),
    ScheduleSpec(
        name="nightly",
        timetable="{}",
        source={"every": "1m"},
        target=Target("http", '{"url": "x"}'),
        overlap=Overlap.SKIP,
        misfire_policy=MisfirePolicy.SKIP,
        retry=RETRY,
        on_lost_lease=OnLostLease.CANCEL,
        tags=("a",),
    ),
    Timetable(rule=AnyRule(rules=(CronRule(expr="* * * * *", dialect="unix"), OnceRule(instant=7))), start=1, end=2),
    Timetable(rule=IntervalRule(period_us=60, anchor=0)),
    Stretch(1, 2, 3, 1, at_least=True, fate=Fate.SKIPPED, reason=FateReason.PAUSED),
    Pause(since=1, until=2, reason="by Ana"),
    CalendarSpec(
        dates=("2026-12-24",), weekdays=(0, 6), country="CO", subdivision="AMA", ical="https://a.example/b.ics"
    ),
    CalendarDays(name="co", version=3, dates=(1, 5), weekdays=(0,), until=9),
]
each_value = pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)


def broken(before: Stored, now: Stored) -> Iterator[str]:
    """What keeps a release from reading what one before it has written, or the other way round."""
    for name, was in before.shapes.items():
        if (shape := now.shapes.get(name)) is None:
            yield f"{name} is gone"
            continue
        if (shape.array, shape.strict, shape.tag, shape.required) != (was.array, was.strict, was.tag, was.required):
            yield f"{name} is another shape"
        for place, (field, meaning) in enumerate(was.optional.items()):
            if field not in shape.optional:
                yield f"{name}.{field} is gone"
            elif shape.optional[field] != meaning:
                yield f"{name}.{field} means something else where it is not there"
            elif shape.array and list(shape.optional)[place] != field:
                yield f"{name}.{field} has another place"
    yield from (f"{name} is made in another way" for name in before.alike if now.alike.get(name) != before.alike[name])
    for name, words in before.words.items():
        yield from (f"{name} has no {word!r} any more" for word in words if word not in now.words.get(name, ()))


class TestReleases:
    """Each release that was made is held against this one."""

    @pytest.mark.parametrize("folder", sorted(RELEASED.iterdir()), ids=lambda folder: folder.name)
    def test_what_it_has_written_is_read(self, folder: Path) -> None:
        """And what this one writes is read by it."""
        assert list(broken(_written_down(folder), NOW)) == []

    def test_what_this_release_keeps_is_written_down(self) -> None:
        """So that the next one is held to it."""
        told = "what is kept has changed: `python -m tests.support.frozen` writes down what this release leaves"
        assert _written_down(THIS) == NOW, told

    @pytest.mark.parametrize(
        ("was", "now", "told"),
        [
            (Shape(), None, "One is gone"),
            (Shape(required=("a",)), Shape(required=("a", "b")), "One is another shape"),
            (Shape(optional={"a": 1}), Shape(required=("a",)), "One is another shape"),
            (Shape(), Shape(array=True), "One is another shape"),
            (Shape(tag="type=a"), Shape(tag="type=b"), "One is another shape"),
            (Shape(optional={"a": 1}), Shape(), "One.a is gone"),
            (Shape(optional={"a": 1}), Shape(optional={"a": 2}), "One.a means something else where it is not there"),
            (
                Shape(array=True, optional={"a": 1}),
                Shape(array=True, optional={"b": 1, "a": 1}),
                "One.a has another place",
            ),
        ],
    )
    def test_a_change_that_is_none_of_the_rules_is_found(self, was: Shape, now: Shape | None, told: str) -> None:
        """By what tells releases apart above."""
        after = Stored({} if now is None else {"One": now}, {})
        assert told in broken(Stored({"One": was}, {}), after)

    def test_a_word_that_goes_is_found(self) -> None:
        """Rows have it for as long as they are kept."""
        before, after = Stored({}, {"One": ["a", "b"]}), Stored({}, {"One": ["b", "c"]})
        assert list(broken(before, after)) == ["One has no 'a' any more"]

    def test_what_is_made_in_another_way_is_found(self) -> None:
        """Two planners would make two runs of one tick."""
        before, after = Stored({}, {}, {"tick_run_id": "a"}), Stored({}, {}, {"tick_run_id": "b"})
        assert list(broken(before, after)) == ["tick_run_id is made in another way"]

    def test_one_field_more_is_none(self) -> None:
        """With a default, and at the end of an array."""
        for array in (False, True):
            before = Shape(array=array, required=("a",), optional={"b": 1})
            after = Shape(array=array, required=("a",), optional={"b": 1, "c": None})
            assert list(broken(Stored({"One": before}, {}), Stored({"One": after}, {}))) == []


class TestReading:
    """What the decoders of the stores do with what they do not know."""

    def test_there_is_a_value_of_each_kind(self) -> None:
        """Those below stand for all that is kept."""
        assert {type(value) for value in VALUES} == set(KEPT)

    @each_value
    def test_a_field_of_the_next_release_is_passed_over(self, value: msgspec.Struct) -> None:
        """Wherever it stands."""
        assert _read(value, _with_more(value)) == value

    @each_value
    def test_what_is_not_there_is_its_default(self, value: msgspec.Struct) -> None:
        """What the release before did not know."""
        shape = NOW.shapes[type(value).__name__]
        plain = _plain(value)
        least = plain[: len(shape.required)] if shape.array else {field: plain[field] for field in shape.required}
        read = _read(value, least)
        for field, meaning in shape.optional.items():
            assert _plain(getattr(read, field)) == meaning

    @each_value
    def test_a_new_word_is_refused(self, value: msgspec.Struct) -> None:
        """Nobody guesses what is meant: so it must be read for a release before it is written."""
        words = [word for name in NOW.words for word in NOW.words[name] if isinstance(word, str)]
        text = msgspec.json.encode(value).decode()
        for word in words:
            if f'"{word}"' in text:
                with pytest.raises(msgspec.ValidationError):
                    msgspec.json.decode(text.replace(f'"{word}"', '"of the next release"'), type=type(value))

    @pytest.mark.parametrize("kind", GIVEN, ids=lambda kind: kind.__name__)
    def test_what_users_give_is_refused_where_it_is_not_understood(self, kind: type[msgspec.Struct]) -> None:
        """A request without what it was to have may be another request."""
        assert NOW.shapes[kind.__name__].strict


def _written_down(folder: Path) -> Stored:
    return msgspec.json.decode((folder / "stored.json").read_bytes(), type=Stored)


def _plain(value: object) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def _read(value: msgspec.Struct, plain: object) -> msgspec.Struct:
    """As a value of the same kind."""
    return msgspec.json.decode(msgspec.json.encode(plain), type=type(value))


def _with_more(value: object) -> object:
    """As the next release may write it: each struct in it has a field more."""
    if isinstance(value, tuple):
        return [_with_more(part) for part in value]
    if not isinstance(value, msgspec.Struct):
        return value
    parts = {name: _with_more(getattr(value, name)) for name in value.__struct_fields__}
    config = value.__struct_config__
    if config.array_like:
        return [*parts.values(), "more"]
    tag = {} if config.tag is None else {str(config.tag_field): config.tag}
    return {**tag, **parts, "more": {"of": "the next release"}}
