"""Runs go into a transaction of the application's: there when it commits, never there when it rolls back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from puntual.model.errors import PuntualError, StoreDataError, StoreUnusableError
from puntual.store.postgres.errors import DATA_ERRORS, translate
from puntual.store.postgres.inserting import (
    KEY,
    QUEUE,
    Insert,
    Step,
    Withdraw,
    as_objects,
    busy,
    inserted,
    inserting,
)
from puntual.store.postgres.statements import sql
from puntual.store.requests import Enqueued, JoinSteps, Statement
from puntual.store.rows.codec import NewRow, encode
from puntual.wake.contract import CHANNEL, RUNS

#: SQLSTATE: a lock was not had in time; a right is lacking; a table, schema, function or column is not there.
_LOCKED: Final = "55P03"
_FORBIDDEN: Final = "42501"
_ABSENT: Final = frozenset({"42P01", "3F000", "42883", "42703"})


def joining(rows: Sequence[NewRow], *, patience_ms: int, hint: bool) -> JoinSteps:
    """The statements that insert these rows, one after the other, each made from the answers before it.

    The lanes of the rows are written already: a transaction that is repeatable read might not see them yet.
    What waits for a unique key waits at most ``patience_ms``, and the transaction's own ``lock_timeout`` is put back.

    Args:
        rows: what to insert.
        patience_ms: how long to wait for another transaction that has taken a unique key.
        hint: notify claimers, when the transaction commits.

    Raises:
        StoreDataError: a value that the database would refuse, and the whole transaction with it; here, or before the
            first statement.
    """
    if any(isinstance(value, str) and "\0" in value for row in rows for value in row):
        raise StoreDataError("The database refuses a value: a text holds the character NUL.")
    keyed = any(row[KEY] is not None for row in rows)
    queues = sorted({str(row[QUEUE]) for row in rows}) if hint else []
    hints = encode([(CHANNEL, f"{RUNS}{queue}") for queue in queues])
    return _joining(rows, (patience_ms if keyed else None, hints))


def _joining(rows: Sequence[NewRow], fixed: tuple[int | None, str]) -> JoinSteps:
    steps = inserting(rows, repeat=False)
    was = ""
    try:
        step = next(steps)
        while True:
            text = yield _statement(step, fixed)
            if isinstance(step, Insert):
                was = was or inserted(text).lock_timeout
            step = steps.send(text)
    except StopIteration as end:
        answers: list[Enqueued] = end.value
    except Exception as error:
        meaning = _meaning(error, rows)
        if meaning is None:
            raise
        raise meaning from error
    if fixed[0] is not None:
        yield Statement("SELECT set_config('lock_timeout', $1::text, true)", (was,))
    return answers


def _statement(step: Step, fixed: tuple[int | None, str]) -> Statement:
    assert not isinstance(step, Withdraw), "only a repeat withdraws"
    try:
        rows = as_objects(step.rows)
    except DATA_ERRORS as error:
        raise translate(error) from error
    if isinstance(step, Insert):
        return Statement(_bare("enqueue_patiently"), (None, rows, *fixed, "[]"))
    return Statement(_bare("enqueue_standing"), (rows, False))


@cache
def _bare(name: str) -> str:
    """A statement without its comments, in which another driver might see parameters."""
    return "\n".join(line for line in sql(name).splitlines() if not line.lstrip().startswith("--"))


def _meaning(error: Exception, rows: Sequence[NewRow]) -> PuntualError | None:
    """What a driver's error says of us; all others are the application's own, and stay as its driver raised them."""
    state = _state(error)
    if state == _LOCKED:
        return busy(rows)
    if state == _FORBIDDEN:
        return StoreUnusableError(
            "The role of this connection may not write puntual's tables: grant it USAGE on the schema puntual,"
            " SELECT and INSERT on runs and lanes in it, and SELECT on run_history.",
            field="connection",
        )
    if state in _ABSENT:
        return StoreUnusableError(
            "The database of this connection has no tables of puntual that fit this version: connection= takes one to"
            " the database that DATABASE_URL names.",
            field="connection",
        )
    return None


def _state(error: BaseException | None) -> str | None:
    """The SQLSTATE of an error, whichever driver raised it and whoever wrapped it."""
    seen = 0
    while error is not None and seen < 5:
        state = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
        if isinstance(state, str):
            return state
        error = getattr(error, "orig", None) or error.__cause__
        seen += 1
    return None
