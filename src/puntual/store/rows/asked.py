"""What a filter asks of a run ``r``: the same conditions for every store, in each one's words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from puntual.model.ids import first_id
from puntual.model.instant import DAY
from puntual.model.run import LIVE_STATES, RunState
from puntual.store.requests import Page, RunFilter


class Words(msgspec.Struct, frozen=True):
    """How one store says that a value is among many, each text with one ``?`` for them all, and how it is given them.

    ``column`` has ``{column}`` in it. ``given`` makes a parameter of the values, ``bound`` one of an id or the
    beginning of one.
    """

    ids: str
    column: str
    tags: str
    given: Callable[[Sequence[str]], object]
    bound: Callable[[str], object] = str


class Condition(msgspec.Struct, frozen=True):
    """A part of a WHERE about a run ``r``, each ``?`` in it a parameter, and these in order."""

    text: str = "TRUE"
    parameters: tuple[object, ...] = ()

    def and_(self, text: str, *parameters: object) -> Condition:
        """This, and one more."""
        return Condition(f"{self.text} AND {text}", (*self.parameters, *parameters))

    def also(self, other: Condition) -> Condition:
        """This, and another."""
        return self.and_(other.text, *other.parameters)


def bounds(where: RunFilter, *, after: str | None = None, lowest: str = "") -> tuple[str, str | None]:
    """Where the ids begin that a filter asks for, and what they are below; ``""`` and None where they are not bound."""
    below = [] if after is None else [after]
    if not where.ids:
        # Ids begin with the instant for which they were made; a day is for clocks that differ, and for what came late.
        lowest = max(lowest, "" if where.since is None else first_id(where.since - DAY))
        below += [] if where.until is None else [first_id(where.until + DAY)]
    return lowest, min(below, default=None)


def place(words: Words, where: RunFilter, *, after: str | None = None, lowest: str = "") -> Condition:
    """The part of a filter that an index in the order of the list answers."""
    asked = Condition()
    if where.ids:
        asked = asked.and_(words.ids, words.given(where.ids))
    if len(where.schedules) == 1:
        asked = asked.and_("r.schedule = ?", where.schedules[0])
    # One bound on each side: an index takes no more, and another would be tried on every row.
    low, below = bounds(where, after=after, lowest=lowest)
    asked = asked.and_("r.id >= ?", words.bound(low)) if low else asked
    return asked if below is None else asked.and_("r.id < ?", words.bound(below))


def ended(where: RunFilter) -> Condition:
    """The part of a filter that has an index of its own in history, in the order of the list."""
    if where.states == (RunState.CANCELLED,):
        return Condition("r.state = 'cancelled'")
    if where.states == (RunState.DEAD,) and not where.discarded and not where.ids:
        return Condition("r.state = 'dead' AND r.discarded_at IS NULL")
    return Condition()


def rest(words: Words, where: RunFilter) -> Condition:
    """The part that is tried on each row. Discarded runs are left out unless asked for, or named by their id."""
    asked = Condition()
    columns = (("schedule", where.schedules if len(where.schedules) > 1 else ()), ("queue", where.queues))
    for column, values in (*columns, ("task", where.tasks), ("origin", where.origins)):
        if values:
            asked = asked.and_(words.column.format(column=column), words.given(values))
    if where.states:
        # Spelled out, because only then can a partial index on a state be used.
        asked = asked.and_("(" + " OR ".join(f"r.state = '{RunState(state).value}'" for state in where.states) + ")")
    if where.tags:
        asked = asked.and_(words.tags, words.given(where.tags))
    for bound, value in (("r.created_at >= ?", where.since), ("r.created_at < ?", where.until)):
        if value is not None:
            asked = asked.and_(bound, value)
    if not where.discarded and not where.ids:
        asked = asked.and_("r.discarded_at IS NULL")
    return asked


def sources(where: RunFilter) -> list[str]:
    """The tables that may hold such runs."""
    if not where.states:
        return ["live_runs", "run_history"]
    return [
        name
        for name, live in (("live_runs", True), ("run_history", False))
        if any((state in LIVE_STATES) is live for state in where.states)
    ]


async def ids_found(
    where: RunFilter, page: Page, find: Callable[[Page], Awaitable[tuple[Sequence[str], str | None]]]
) -> list[str] | None:
    """The ids that a filter finds, in pieces that are each bounded; None where it names ids itself.

    Args:
        where: the filter.
        page: how many at most, and after which.
        find: gives the ids of one piece, and where to go on.
    """
    if where.ids:
        return None
    ids: list[str] = []
    after = page.after
    while len(ids) < page.limit:
        more, after = await find(Page(limit=page.limit - len(ids), after=after))
        ids += more
        if after is None:
            break
    return ids
