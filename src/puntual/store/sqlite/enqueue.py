"""Enqueue: pending runs are inserted, unless their id stands already or their unique key is held."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from puntual.model.run import NewRun
from puntual.store.requests import Enqueued
from puntual.store.rows.codec import NewRow, SqlValue, decode, decode_texts, new_row
from puntual.store.sqlite.errors import DATA_ERRORS, translate
from puntual.store.sqlite.transaction import Tx

_ID, _TASK, _KEY = 0, 1, 14
_held = msgspec.json.Decoder(tuple[tuple[str, str, str], ...])


def new_rows(runs: Sequence[NewRun]) -> list[NewRow]:
    """Runs as parameters, made before the transaction so that it holds the lock for a shorter time.

    Raises:
        StoreDataError: a run holds what no database text can.
    """
    try:
        return [new_row(run) for run in runs]
    except DATA_ERRORS as error:
        raise translate(error, "") from error


def enqueue(tx: Tx, rows: Sequence[NewRow]) -> list[Enqueued]:
    """Inserts the rows that may be, and says for each which run stands.

    Ids are looked up in history too, within the transaction: a repeat after a lost answer meets its own run, wherever
    that is by now.
    """
    if not rows:
        return []
    known = {id for text in tx.read_rows("enqueue_known", [row[:1] for row in rows]) for id in decode_texts(text)}
    keyed = [row for row in rows if row[_KEY] is not None]
    if not known and not keyed and len({row[_ID] for row in rows}) == len(rows):
        fresh, answers = rows, [Enqueued(str(row[_ID]), now=tx.now) for row in rows]
    else:
        fresh, answers = _choose(rows, known, holders(tx, [(row[_TASK], row[_KEY]) for row in keyed]), tx.now)
    if fresh:
        tx.change_rows("enqueue_runs", fresh, tx.now)
    return answers


def enqueue_calls(tx: Tx, calls: Sequence[Sequence[NewRow]]) -> list[list[Enqueued]]:
    """Several calls that arrived together, in one statement."""
    answers = iter(enqueue(tx, [row for rows in calls for row in rows]))
    return [[next(answers) for _ in rows] for rows in calls]


def _choose(
    rows: Sequence[NewRow], known: set[str], held: dict[tuple[SqlValue, SqlValue], str], now: int
) -> tuple[list[NewRow], list[Enqueued]]:
    """Which rows are new, and what each of all is answered; a row counts as standing for those after it."""
    fresh: list[NewRow] = []
    answers = []
    for row in rows:
        id, key = str(row[_ID]), (row[_TASK], row[_KEY])
        if id in known:
            answers.append(Enqueued(id, existing=True))
        elif row[_KEY] is not None and key in held:
            answers.append(Enqueued(held[key], existing=True))
        else:
            known.add(id)
            held[key] = id
            fresh.append(row)
            answers.append(Enqueued(id, now=now))
    return fresh, answers


def holders(tx: Tx, keys: Sequence[tuple[SqlValue, SqlValue]]) -> dict[tuple[SqlValue, SqlValue], str]:
    """The live runs that hold these (task, unique key)."""
    if not keys:
        return {}
    return {(task, key): id for text in tx.read_rows("enqueue_held", keys) for task, key, id in decode(_held, text)}
