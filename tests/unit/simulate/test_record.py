"""Tests of `puntual.simulate.record`: one claim is called once, however often a failover has it given out."""

from __future__ import annotations

from random import Random

import pytest

from puntual.model.attempt import OutcomeKind
from puntual.simulate.loop import VirtualLoop
from puntual.simulate.record import Effect, Record


@pytest.fixture
def record() -> Record:
    """Nothing has happened yet."""
    return Record(VirtualLoop(Random(1)))


def call(claim: int, *, asked_to_stop: int = 0) -> Effect:
    """A handler's call for the first attempt of a run, given out for the nth time."""
    return Effect(
        run_id="r",
        task="slow",
        attempt=1,
        worker="w",
        who="n0.1",
        claim=claim,
        started_at=0.0,
        asked_to_stop=lambda: asked_to_stop,
    )


def test_a_call_beside_the_first_is_a_break(record: Record) -> None:
    """The failover has lost the claim, and the process knew that it was at it."""
    record.began(call(1))
    record.began(call(2))
    assert [problem.promise for problem in record.problems] == ["G3"]


def test_a_call_after_the_first_was_stopped_for_it_is_a_break(record: Record) -> None:
    """It was stopped in the very instant, and began anew."""
    record.ended(record.began(call(1)), None)
    record.began(call(2))
    assert [problem.promise for problem in record.problems] == ["G3"]


def test_a_call_after_the_first_has_ended_is_none(record: Record) -> None:
    """Its outcome was lost too."""
    record.ended(record.began(call(1)), OutcomeKind.SUCCEEDED)
    record.began(call(2))
    assert not record.problems


def test_a_call_beside_one_that_does_not_heed_its_stop_is_none(record: Record) -> None:
    """Nobody can do more than ask a handler to stop."""
    record.began(call(1, asked_to_stop=1))
    record.began(call(2))
    assert not record.problems
