"""What a process that simulates is asked, and what it answers: one JSON document a line, both ways."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from puntual.simulate.record import Problem

#: How many nodes a scenario has where nobody says otherwise.
NODES: Final = 3
TRIES: Final = 250


class Wish(StrEnum):
    """What is to be done with a seed."""

    TRY = "try"
    STORY = "story"
    SHRINK = "shrink"


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """One seed to live through.

    Args:
        seed: its number.
        nodes: how many machines it has.
        database_url: a PostgreSQL server to do it on; None: SQLite in memory.
        wish: try it, tell its whole story too, or make it small, which it must fail for.
        tries: how often it is lived through again to make it small.
    """

    seed: int
    nodes: int = NODES
    database_url: str | None = None
    wish: Wish = Wish.TRY
    tries: int = TRIES


class Outcome(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What a seed gave; ``story`` only where it was wished for."""

    seed: int
    problems: list[Problem]
    trace: str
    strikes: dict[str, int]
    visits: dict[str, int]
    operations: int
    story: list[str] = []


class Tried(msgspec.Struct, frozen=True, tag=True):
    """A seed is being made small: so many tries so far."""

    tries: int


class Small(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A failing seed made small: what is left of it, in words, and the part of its story that matters."""

    seed: int
    tries: int
    promise: str
    at: float
    what: str
    nodes: list[str]
    schedules: list[str]
    acts: list[str]
    faults: list[str]
    story: list[str]


Answer = Outcome | Tried | Small
