"""Tests of `puntual.simulate.summary`: what is added up, and what is said of faults that never happened."""

from __future__ import annotations

from puntual.simulate.order import Order, Outcome
from puntual.simulate.record import Problem
from puntual.simulate.scenario import Blow, Hit, ServerBlow
from puntual.simulate.summary import EXPECTED_VISITS, JUDGED, LEAST_FAULTS, LEAST_OPERATIONS, Summary

EVERYTHING = {str(kind): 1 for kind in (*Hit, *Blow)}
EVERYWHERE = dict.fromkeys(EXPECTED_VISITS, 1)


def outcome(
    seed: int = 1, *problems: Problem, strikes: dict[str, int] | None = None, operations: int = 1000
) -> Outcome:
    """A seed in which everything happened once, unless said otherwise."""
    return Outcome(
        seed=seed,
        problems=list(problems),
        trace="abc",
        strikes=EVERYTHING if strikes is None else strikes,
        visits=EVERYWHERE,
        operations=operations + seed,
    )


def summary(count: int, *, order: Order | None = None, strikes: dict[str, int] | None = None) -> Summary:
    """That of so many seeds that are all alike."""
    found = Summary(order or Order(seed=1))
    for seed in range(count):
        found.add(outcome(seed, strikes=strikes))
    return found


def test_strikes_are_counted_by_times_and_by_seeds() -> None:
    """Ten times in one seed is another thing than once in ten."""
    found = Summary(Order(seed=1))
    found.add(outcome(1, strikes={Hit.BUSY: 10}))
    found.add(outcome(2, strikes={Hit.BUSY: 1, Blow.CRASH: 1}))
    assert (found.strikes[Hit.BUSY], found.seeds_with[Hit.BUSY]) == (11, 2)
    assert found.document()["strikes"] == {"database busy": 11, "process killed": 1}
    assert found.document()["fewest"] == {"operations": 1001, "strikes": 2}


def test_a_failure_is_told_by_its_first_break() -> None:
    """Later ones mostly follow from it; seeds are listed in their order, whichever ended first."""
    found = Summary(Order(seed=1))
    found.add(outcome(7, Problem("G3", 4.0, "given twice"), Problem("G2", 5.0, "lost")))
    found.add(outcome(3, Problem("G1", 1.0, "forgotten")))
    assert [failure.seed for failure in found.failures] == [3, 7]
    assert (found.failures[1].promise, found.failures[1].what, found.failures[1].more) == ("G3", "given twice", 1)


def test_what_never_happened_in_many_seeds_is_named() -> None:
    """A fault that is not there any more proves nothing."""
    without = {kind: 1 for kind in EVERYTHING if kind != Hit.FULL}
    assert summary(JUDGED, strikes=without).never() == ["database full"]
    assert summary(JUDGED).never() == []


def test_few_seeds_are_not_judged() -> None:
    """What is rare may be missing from them."""
    assert summary(JUDGED - 1, strikes={}).never() == []


def test_fewer_nodes_are_not_judged() -> None:
    """Much of what happens between nodes cannot happen to one alone."""
    assert summary(JUDGED, order=Order(seed=1, nodes=1), strikes={}).never() == []


def test_each_write_has_to_be_struck_at_its_commit() -> None:
    """Crashes that only ever meet claims say nothing of settling."""
    assert {"crash before commit (claim)", "crash after commit (settle)"} <= set(EXPECTED_VISITS)
    assert {"answer lost after commit (register_worker)", "answer lost after commit (enqueue)"} <= set(EXPECTED_VISITS)


def test_a_seed_in_which_hardly_anything_happened_is_named() -> None:
    """However many others there are: it was counted as a trial, and was none."""
    found = summary(JUDGED - 1)
    found.add(outcome(900, strikes={Hit.BUSY: LEAST_FAULTS - 1}, operations=LEAST_OPERATIONS - 901))
    said = ["seed 900 had 499 operations, fewer than 500", "seed 900 had 9 faults, fewer than 10"]
    assert found.scant() == found.document()["scant"] == said
    assert summary(JUDGED).scant() == []


def test_few_seeds_are_not_judged_by_how_much_happened() -> None:
    """As with what never happened."""
    assert summary(JUDGED - 1, strikes={Hit.BUSY: 1}).scant() == []
    assert summary(JUDGED, order=Order(seed=1, nodes=1), strikes={Hit.BUSY: 1}).scant() == []


def test_how_fast_it_went_is_a_part_of_it() -> None:
    """Seeds a second, once that is known."""
    found = summary(6)
    assert found.document()["seeds_per_second"] == 0
    found.seconds = 4.0
    assert (found.document()["seconds"], found.document()["seeds_per_second"]) == (4.0, 1.5)


def test_a_server_has_faults_of_its_own() -> None:
    """They are expected where seeds are lived through on one."""
    on_server = Order(seed=1, database_url="postgresql://127.0.0.1/x")
    assert summary(JUDGED, order=on_server).never() == [str(kind) for kind in ServerBlow]
