"""Tests of `puntual.cli.simulate_page`: what is said of seeds that failed."""

from __future__ import annotations

import io

from rich.console import Console

from puntual.cli.simulate_page import broken, show, title
from puntual.simulate.order import Order, Outcome, Small
from puntual.simulate.record import Problem
from puntual.simulate.summary import JUDGED, Summary

SERVER = "postgresql://me:secret@db.example.com/tests?sslmode=require&password=secret"
SHOWN = "postgresql://me:***@db.example.com/tests?sslmode=require&password=***"


def summary(*failing: int, nodes: int = 3, server: str | None = None) -> Summary:
    """That of one seed that holds and of some that fail."""
    found = Summary(Order(seed=0, nodes=nodes, database_url=server))
    for seed in (0, *failing):
        problems = [Problem("G3", 4.25, "a run was given twice"), Problem("G2", 5.0, "a run is lost")]
        found.add(
            Outcome(
                seed=seed,
                problems=problems if seed else [],
                trace=f"t{seed}",
                strikes={"process killed": 2},
                visits={"lease ended": 1},
                operations=700,
            )
        )
    found.seconds = 2.0
    return found


def shown(found: Summary, small: Small | None = None) -> str:
    """All that is printed."""
    console = Console(file=io.StringIO(), width=200)
    show(console, found, small)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_title_says_how_to_do_it_again() -> None:
    """Before anything can go wrong, hang or be interrupted."""
    assert title(range(7, 507), Order(seed=7)) == "500 seeds from 7 on (--first 7), 3 nodes on SQLite in memory"
    assert title(range(7, 8), Order(seed=7, nodes=1)) == "Seed 7, 1 node on SQLite in memory"


def test_the_title_names_the_server_without_its_password() -> None:
    """It stands in the logs of CI."""
    assert title(range(7, 8), Order(seed=7, database_url=SERVER)) == f"Seed 7, 3 nodes on {SHOWN}"


def test_each_seed_that_failed_comes_with_its_command() -> None:
    """With the number of nodes where that is not the usual one: it is a part of the scenario."""
    assert broken(summary(5)) == [
        "Seed 5 broke G3 at 4.250 s: a run was given twice (1 more)",
        "  again: puntual simulate --seed 5 (trace t5)",
    ]
    assert broken(summary(5, nodes=4))[1] == "  again: puntual simulate --seed 5 --nodes 4 (trace t5)"


def test_a_seed_that_failed_on_a_server_is_repeated_on_one() -> None:
    """On SQLite it is another world; what a shell would take apart is quoted, and a password is left out."""
    assert (
        broken(summary(5, server=SERVER))[1]
        == f"  again: puntual simulate --seed 5 --database-url '{SHOWN}' (trace t5)"
    )
    plain = "postgresql://me@127.0.0.1:5433/tests"
    assert (
        broken(summary(5, server=plain))[1] == f"  again: puntual simulate --seed 5 --database-url {plain} (trace t5)"
    )


def test_of_many_only_the_first_are_listed() -> None:
    """An engine that is broken everywhere fails each seed in the same way."""
    said = broken(summary(*range(1, 31)))
    assert len(said) == 41
    assert said[-1] == "... and 10 seeds more"


def test_the_verdict_stands_last_with_what_it_rests_on() -> None:
    """How much was tried, at least in each seed, and how fast."""
    *_, basis, verdict = shown(summary()).splitlines()
    assert basis == (
        "700 operations on the database, at least 700 in a seed; 2 faults, at least 2 in a seed; 0.5 seeds a second"
    )
    assert verdict == "Every promise held in 1 seed."
    assert shown(summary(3)).splitlines()[-1] == "1 of 2 seeds broke a promise."


def test_seeds_in_which_too_little_happened_fail_the_verdict() -> None:
    """They are named, because each of them can be looked at."""
    last = shown(summary(*range(1, JUDGED))).splitlines()[-1]
    assert last == "Too little happened to prove much: seed 0 had 2 faults, fewer than 10."


def test_counts_stand_in_tables() -> None:
    """Each kind with how often it came, and in how many seeds."""
    rows = [line.split() for line in shown(summary(3)).splitlines()]
    assert ["process", "killed", "4", "2"] in rows
    assert ["lease", "ended", "2", "2"] in rows


def test_what_is_left_of_a_seed_is_told() -> None:
    """What has to be there, what need not, and the end of the story."""
    small = Small(
        seed=3,
        tries=9,
        promise="G3",
        at=4.0,
        what="a run was given twice",
        nodes=["n0: worker, 5 at a time"],
        schedules=[],
        acts=["     1.000  enqueue"],
        faults=["     2.000  n0     process killed"],
        story=["     4.000               BROKEN G3  a run was given twice"],
    )
    lines = shown(summary(3), small).splitlines()
    start = lines.index("The least of seed 3 that was found to break G3")
    assert [line.split() for line in lines[start + 1 : start + 5]] == [
        ["node", "n0:", "worker,", "5", "at", "a", "time"],
        ["schedule", "none"],
        ["act", "of", "users", "1.000", "enqueue"],
        ["fault", "2.000", "n0", "process", "killed"],
    ]
    assert any("BROKEN G3" in line for line in lines[start:])


def test_a_seed_that_does_not_fail_again_is_a_finding_too() -> None:
    """What differs between two lives of one seed makes every other story doubtful."""
    assert "Seed 3 held when it was lived through again" in shown(summary(3))
