from __future__ import annotations

from puntual.engine.compare import Difference, compare

A, B = ("a", 1), ("b", 1)


def test_sides_that_agree_do_not_differ() -> None:
    """Nothing to do."""
    assert not compare({A}, {A}, settling=set(), claiming=False)


def test_a_claim_whose_answer_was_lost_is_an_orphan() -> None:
    """The store holds it for us; we never heard."""
    assert compare({A, B}, {A}, settling=set(), claiming=False).orphans == {B}


def test_what_may_be_on_its_way_does_not_count() -> None:
    """Neither a claim being made nor a settle being written is a difference."""
    assert not compare({A, B}, {A}, settling=set(), claiming=True)
    assert not compare({A, B}, {A}, settling={B}, claiming=False)
    assert not compare({A}, {A, B}, settling={B}, claiming=False)


def test_only_what_differs_twice_in_a_row_counts() -> None:
    """One comparison may have crossed a write."""
    first = Difference(frozenset({A}), frozenset())
    assert not first.confirmed_by(Difference(frozenset({B}), frozenset()))
    assert first.confirmed_by(Difference(frozenset({A, B}), frozenset())).orphans == {A}


def test_another_attempt_of_the_same_run_is_another_claim() -> None:
    """A phantom of attempt 1 is no reason to touch attempt 2."""
    found = compare({("a", 2)}, {("a", 1)}, settling=set(), claiming=False)
    assert found.orphans == {("a", 2)}
    assert found.phantoms == {("a", 1)}
