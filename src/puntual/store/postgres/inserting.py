"""The steps by which runs are inserted, whoever takes them: a transaction of ours, or the driver of somebody else's.

A step is a value, its answer a text, so that the same decisions are made on asyncpg, psycopg, SQLAlchemy and Django,
awaited or not.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

import msgspec

from puntual.model.errors import StoreBusyError
from puntual.store.requests import Enqueued
from puntual.store.rows.codec import NewRow, SqlValue, decode, decode_texts, encode

#: The columns of a row of ``new_row``, in its order.
COLUMNS: Final = (
    "id",
    "task",
    "args",
    "queue",
    "priority",
    "origin",
    "replay_of",
    "schedule_id",
    "schedule",
    "tick_at",
    "tick_number",
    "due_at",
    "delay",
    "max_attempts",
    "unique_key",
    "tags",
    "policy",
)
ID, TASK, QUEUE, KEY = (COLUMNS.index(name) for name in ("id", "task", "queue", "unique_key"))
#: How often a key is tried whose holder is gone each time that we look for it.
_ROUNDS = 20

_Key = tuple[SqlValue, SqlValue]


class Insert(msgspec.Struct, frozen=True):
    """Insert these rows, unless an id stands or a key is held; its answer is an `Inserted`."""

    rows: Sequence[NewRow]


class Withdraw(msgspec.Struct, frozen=True):
    """Delete those of these runs, inserted a moment ago, that are in history; its answer is their ids."""

    ids: Sequence[str]


class Look(msgspec.Struct, frozen=True):
    """Find who stands in the way of these rows; its answer is the ids that stand, and the holders of keys."""

    rows: Sequence[NewRow]
    history: bool


Step = Insert | Withdraw | Look


class Inserted(msgspec.Struct, frozen=True, array_like=True):
    """The store's time, how many rows are new and, if not all are, their ids; and how long locks were waited for."""

    now: int
    count: int
    ids: tuple[str, ...] | None = None
    lock_timeout: str = ""


_inserted = msgspec.json.Decoder(Inserted)
_standing = msgspec.json.Decoder(tuple[tuple[str, ...], tuple[tuple[str, str, str], ...]])


def inserted(text: str) -> Inserted:
    """The answer of an `Insert`."""
    return decode(_inserted, text)


def inserting(rows: Sequence[NewRow], *, repeat: bool) -> Generator[Step, str, list[Enqueued]]:
    """Inserts the rows that may be, and says for each which run stands.

    It inserts first and looks second, since whoever looks first may insert what another has inserted meanwhile. Without
    keys and ``repeat`` it is one step; with them all steps belong in one transaction.

    Raises:
        StoreBusyError: a key is taken and freed again all the time.
    """
    if not rows:
        return []
    answer = inserted((yield Insert(rows))) if not repeat and all(row[KEY] is None for row in rows) else None
    if answer is not None and answer.count == len(rows):
        return [Enqueued(str(row[ID]), now=answer.now) for row in rows]
    answers: dict[int, Enqueued] = {}
    # In one order for everybody: two calls over the same rows cannot wait for each other.
    left = list(range(len(rows))) if answer else sorted(range(len(rows)), key=lambda place: _order(rows[place]))
    for _ in range(_ROUNDS):
        part = [rows[place] for place in left]
        if answer is None:
            answer = inserted((yield Insert(part)))
        found = yield from _standing_for(part, answer, repeat=repeat)
        answers |= {place: made for place, made in zip(left, found, strict=True) if made is not None}
        left = [place for place in left if place not in answers]
        if not left:
            return [answers[place] for place in range(len(rows))]
        answer = None
    raise StoreBusyError(f"The unique key {rows[left[0]][KEY]!r} is taken and freed all the time: try again.")


def _order(row: NewRow) -> tuple[bool, str, str]:
    key = row[KEY]
    return (False, "", str(row[ID])) if key is None else (True, str(row[TASK]), str(key))


def _standing_for(
    rows: Sequence[NewRow], answer: Inserted, *, repeat: bool
) -> Generator[Step, str, list[Enqueued | None]]:
    """What each row is answered; None where it is neither inserted nor anybody in its way any more."""
    fresh = {str(row[ID]) for row in rows} if answer.count == len(rows) else set(answer.ids or ())
    known: set[str] = set()
    holders: dict[_Key, str] = {}
    if repeat and fresh:
        known = set(decode_texts((yield Withdraw(sorted(fresh)))))
        fresh -= known
    met = fresh | known
    keyed = [row for row in rows if row[KEY] is not None and row[ID] not in met]
    if len(fresh) < len(rows) and keyed:
        live, held = decode(_standing, (yield Look(keyed, repeat)))
        known |= set(live)
        holders = {(task, key): id for task, key, id in held}
    found: list[Enqueued | None] = []
    for row in rows:
        id, key = str(row[ID]), (row[TASK], row[KEY])
        if id in fresh:
            fresh.remove(id)
            known.add(id)
            holders[key] = id
            found.append(Enqueued(id, now=answer.now))
        elif row[KEY] is None or id in known:
            found.append(Enqueued(id, existing=True))
        elif key in holders:
            found.append(Enqueued(holders[key], existing=True))
        else:
            found.append(None)
    return found


def as_objects(rows: Sequence[NewRow]) -> str:
    """Rows as one JSON text, for ``json_to_recordset``."""
    return encode([dict(zip(COLUMNS, row, strict=True)) for row in rows])


def busy(rows: Sequence[NewRow]) -> StoreBusyError | None:
    """The error for a key that an open transaction holds; None where no row has one, and it is a table that is held."""
    keys = [f"{row[KEY]!r} of the task {row[TASK]!s}" for row in rows if row[KEY] is not None]
    if not keys:
        return None
    which = f"The unique key {keys[0]}" if len(keys) == 1 else f"One of {len(keys)} unique keys, {keys[0]} the first,"
    return StoreBusyError(f"{which} is held by another transaction that is still open: try again.", field="unique_key")
