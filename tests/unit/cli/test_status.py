"""Tests of `puntual.cli.status`: what failed alike is told once."""

from __future__ import annotations

from puntual.cli.status import _alike


def test_what_failed_for_the_same_reason_stands_in_one_line() -> None:
    """The newest of them stands for all; another reason, state or schedule is another line."""
    why = {"schedule": None, "task": "a", "state": "dead", "why": "ValueError: no"}
    failed = [{"id": "3", **why}, {"id": "2", **why, "why": "KeyError: x"}, {"id": "1", **why}]
    assert [[item["id"] for item in items] for items in _alike(failed)] == [["3", "1"], ["2"]]
