"""Tests of `puntual.simulate.excerpt`: of a long story the part that explains a break is shown."""

from __future__ import annotations

from puntual.simulate.excerpt import excerpt
from puntual.simulate.record import Line, Problem

RUN = "019cabdd-64c4-79cd-96b6-4599bacda10b"
PROBLEM = Problem("G2", 99.0, f"{RUN} was lost")
BROKEN: Line = (99.0, "", "BROKEN G2", PROBLEM.what)


def story(*early: Line) -> list[Line]:
    """Something at the beginning, a hundred polls, and the break."""
    polls: list[Line] = [(float(second), "n0.1", "claim", "ab12") for second in range(100)]
    return [*early, *polls, BROKEN, *polls]


def test_the_end_is_shown_to_the_break_and_a_little_further() -> None:
    """What came right before it, and what the process did with it."""
    found = excerpt(story(), PROBLEM)
    assert found[0].split() == ["...", "80", "lines"]
    assert len(found) == 1 + 20 + 1 + 3
    assert "BROKEN G2" in found[-4]


def test_what_struck_and_what_users_did_is_shown_however_long_ago() -> None:
    """The cause is mostly far away from the effect."""
    found = excerpt(story((1.0, "n0.1", "! process killed", ""), (2.0, "users", "> enqueue", "")), PROBLEM)
    assert "! process killed" in found[0]
    assert "> enqueue" in found[1]


def test_what_became_of_the_run_is_shown() -> None:
    """Lines name it by a short name."""
    found = excerpt(story((1.0, "n0.1", "claim", "ab12 64c4a10b#1"), (2.0, "n0.1", "claim", "ab12 other#1")), PROBLEM)
    assert "64c4a10b#1" in found[0]
    assert "other#1" not in "\n".join(found)


def test_a_gap_of_a_line_or_two_is_filled() -> None:
    """To say that one line is missing takes a line too."""
    killed: Line = (1.0, "n0.1", "! process killed", "")
    quiet: Line = (1.5, "n0.1", "beat", "")
    found = excerpt(story(killed, quiet, quiet, killed), PROBLEM)
    assert [line.split()[-1] for line in found[:4]] == ["killed", "beat", "beat", "killed"]
    assert found[4].split() == ["...", "80", "lines"]


def test_a_break_that_no_line_tells_is_looked_for_at_the_end() -> None:
    """What the loop reports when all is over has no line of its own."""
    assert len(excerpt(story(), Problem("engine", 99.0, "KeyError('x')"))) < 70
