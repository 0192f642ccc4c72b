"""Ids sort by time, and the same thing always has the same one."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from puntual.model.errors import InvalidError
from puntual.model.ids import check_run_id, follow_up_id, run_id, run_ids, tick_run_id

INSTANTS = st.integers(0, 2**47 * 1000 - 1)
SCHEDULE = "0198c1f2-7d3a-7b0e-9c55-3f1d2a4b6c8d"


@given(now=INSTANTS, random=st.binary(min_size=10, max_size=10))
def test_a_run_id_is_a_uuid_7_that_carries_its_milliseconds(now: int, random: bytes) -> None:
    """Version, variant and time are where RFC 9562 puts them."""
    parsed = uuid.UUID(run_id(now, random))
    assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)
    assert parsed.int >> 80 == now // 1000


@given(now=INSTANTS, other=INSTANTS)
def test_ids_sort_by_time(now: int, other: int) -> None:
    """Text order is the order of the milliseconds."""
    first, second = run_id(now, b"\xff" * 10), run_id(other, b"\0" * 10)
    if now // 1000 < other // 1000:
        assert first < second


def test_all_of_the_randomness_counts() -> None:
    """74 bits tell two ids of one instant apart."""
    blank = bytes(10)
    flipped = {run_id(0, (1 << bit).to_bytes(10, "big")) for bit in range(80)} - {run_id(0, blank)}
    assert len(flipped) == 74


@given(tick=st.integers(-(2**50), 2**50))
def test_a_tick_has_one_id(tick: int) -> None:
    """Planned by anyone, at any time, it is a UUIDv8 that only schedule and tick decide."""
    id = tick_run_id(SCHEDULE, tick)
    assert id == tick_run_id(SCHEDULE, tick)
    assert uuid.UUID(id).version == 8
    assert id != tick_run_id(SCHEDULE, tick + 1)
    assert id != tick_run_id("another", tick)


def test_follow_ups_differ_by_parent_and_position() -> None:
    """Whichever attempt asks: a repeat meets its own row. And they sort beside their parent."""
    parents = [tick_run_id(SCHEDULE, 10**15), run_id(10**15, b"0123456789")]
    ids = {follow_up_id(parent, place) for parent in parents for place in (0, 1)}
    assert len(ids) == 4
    assert {id[:13] for id in ids} == {parents[0][:13]}
    assert {uuid.UUID(id).version for id in ids} == {8}


def test_an_id_is_read_in_any_case() -> None:
    """Typed with spaces around it or in capitals, it is the same id."""
    assert check_run_id(f"  {SCHEDULE.upper()}\n") == SCHEDULE


@pytest.mark.parametrize(
    "text", ["", "x", SCHEDULE[:-1], SCHEDULE + "0", SCHEDULE.replace("-", ""), "g" + SCHEDULE[1:], "0x" + SCHEDULE[2:]]
)
def test_what_is_no_id_is_refused(text: str) -> None:
    """The error names the field and shows how one looks."""
    with pytest.raises(InvalidError, match="is no run id: one looks like") as caught:
        check_run_id(text, field="run")
    assert caught.value.field == "run"


def test_a_long_text_is_shown_in_part() -> None:
    """An error stays one sentence."""
    with pytest.raises(InvalidError) as caught:
        check_run_id("x" * 10_000)
    assert len(str(caught.value)) < 200


def test_ids_made_together_count_up() -> None:
    """They sort in the order of the bulk, are versions 7, and a highest random start does not run over."""
    for random in (b"0123456789", b"\xff" * 10):
        ids = run_ids(10**15, random, 5_000)
        assert ids == sorted(set(ids))
        assert {uuid.UUID(id).version for id in ids} == {7}
        assert len({id[:13] for id in ids}) == 1
