"""Tests of `puntual.simulate.shrink`: what is left of a failing scenario, and that it is still the same failure."""

from __future__ import annotations

import pytest

from puntual.engine.upkeep import rescue
from puntual.model.transitions import release
from puntual.simulate.draw import scenario
from puntual.simulate.record import Problem
from puntual.simulate.scenario import Blow, Hit, Scenario, Strike, Verb
from puntual.simulate.shrink import kind_of, shrink
from puntual.simulate.simulation import simulate
from tests.unit.simulate.worlds import quiet


def of_kind(found: Scenario, kind: Hit | Blow) -> list[Strike]:
    """The strikes of a kind."""
    return [strike for strike in found.strikes if strike.kind == kind]


def drawn_with(*kinds: Hit | Blow) -> Scenario:
    """A scenario in which each of these strikes."""
    return next(found for seed in range(1000) if all(of_kind(found := scenario(seed), kind) for kind in kinds))


def test_the_two_faults_that_matter_are_left() -> None:
    """Of all strikes, acts, schedules and machines only what the failure needs."""
    needed = Hit.BUSY, Blow.DEAF

    def breaks(candidate: Scenario) -> bool:
        return all(of_kind(candidate, kind) for kind in needed) and any(
            act.verb is Verb.ENQUEUE for act in candidate.acts
        )

    small = shrink(drawn_with(*needed), 599.0, breaks, budget=400)
    assert sorted(strike.kind for strike in small.strikes) == sorted(needed)
    assert [act.verb for act in small.acts] == [Verb.ENQUEUE]
    assert (len(small.schedules), len(small.machines)) == (0, 1 + max(strike.slot for strike in small.strikes))


def test_what_comes_after_the_break_is_cut_off_first() -> None:
    """Each further try lives no longer than the break took."""
    lengths: list[float] = []

    def breaks(candidate: Scenario) -> bool:
        lengths.append(candidate.seconds)
        return True

    shrink(scenario(3), 100.0, breaks, budget=400)
    assert set(lengths) == {101.0}


def test_a_break_that_needs_all_the_time_keeps_it() -> None:
    """What is shorter and does not break is not taken."""
    small = shrink(scenario(3), 640.0, lambda candidate: candidate.seconds >= 300, budget=400)
    assert small.seconds == 300


def test_the_budget_is_kept() -> None:
    """The smallest so far has to do."""
    tries = 0

    def breaks(_: Scenario) -> bool:
        nonlocal tries
        tries += 1
        return False

    found = scenario(3)
    assert shrink(found, 100.0, breaks, budget=7) == found
    assert tries == 7


def test_nothing_is_tried_twice() -> None:
    """A life costs most of a second."""
    seen: list[Scenario] = []

    def breaks(candidate: Scenario) -> bool:
        assert candidate not in seen
        seen.append(candidate)
        return len(candidate.strikes) > 2

    shrink(scenario(3), 640.0, breaks, budget=60)
    assert seen


def test_strikes_follow_their_machine() -> None:
    """Where an earlier machine is left out, later ones move up with what strikes them."""
    strike = Strike(at=5.0, kind=Blow.CRASH, slot=2)
    away = Strike(at=6.0, kind=Blow.AWAY, slot=0)
    small = shrink(quiet(machines=3, strikes=(strike, away)), 640.0, lambda one: len(one.strikes) == 2, budget=400)
    assert [(one.kind, one.slot) for one in small.strikes] == [(Blow.CRASH, 0), (Blow.AWAY, 0)]
    assert len(small.machines) == 1


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("019cabdd-64c4#1 was given twice", "019cabdf-96b8#12 was given twice", True),
        ("019cabdd-64c4#1 was given twice", "019cabdd-64c4#1 was never given", False),
    ],
)
def test_two_problems_are_alike_but_for_names_and_numbers(one: str, other: str, *, alike: bool) -> None:
    """A smaller scenario that breaks something else explains nothing."""
    assert (kind_of(Problem("G2", 1.0, one)) == kind_of(Problem("G2", 2.0, other))) is alike
    assert kind_of(Problem("G2", 1.0, one)) != kind_of(Problem("G3", 1.0, one))


def test_an_engine_that_forgets_to_charge_a_crash_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A real breakage: what a killed process had started is given back as if it was not. One kill is enough for it."""
    monkeypatch.setattr(
        rescue,
        "decide",
        lambda run, _outcome, *, cancel_requested, now, random: release(
            run, cancel_requested=cancel_requested, now=now
        ),
    )
    others = [Blow.DEAF, Blow.LATE_HINTS, Blow.DRAIN, Blow.HALF_OPEN]
    strikes = (
        Strike(at=20.5, kind=Blow.CRASH, slot=0),
        *(Strike(at=10.0 * place + 5, kind=kind, slot=1, seconds=3.0) for place, kind in enumerate(others)),
    )
    found = quiet(strikes=strikes)
    problem = simulate(found).problems[0]
    assert problem.promise == "G2"

    def breaks(candidate: Scenario) -> bool:
        return any(kind_of(one) == kind_of(problem) for one in simulate(candidate).problems)

    small = shrink(found, problem.at, breaks, budget=30)
    assert [strike.kind for strike in small.strikes] == [Blow.CRASH]
