"""The hands on runs: edit what waits, replay what is dead, discard what nobody wants to see any more."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from puntual.model.policy import RetryPolicy
from puntual.store.requests import Page, RunEdit, RunFilter
from puntual.store.rows.asked import Condition
from puntual.store.rows.codec import decode, decode_texts, encode
from puntual.store.sqlite.enqueue import holders
from puntual.store.sqlite.listing import condition
from puntual.store.sqlite.statements import sql
from puntual.store.sqlite.transaction import Tx

#: How many runs one edit changes.
MOST_EDITED = 1_000
#: The ids that a filter has found a moment ago, newest first; None where the filter names ids itself.
Found = Sequence[str] | None


class _Dead(msgspec.Struct, frozen=True, array_like=True):
    id: str
    task: str
    unique_key: str | None


_dead = msgspec.json.Decoder(list[_Dead])


def edit(tx: Tx, where: RunFilter, change: RunEdit, found: Found) -> list[str]:
    """Changes pending runs, and gives their ids."""
    asked = _among(condition(where), found)
    text = tx.execute(sql("edit_find").replace("TRUE", asked.text), (*asked.parameters, MOST_EDITED))
    ids = decode_texts(str(text))
    if ids:
        priority = None if change.priority is None else int(change.priority)
        tx.change("edit_runs", encode(ids), priority, change.queue, change.due_at, tx.now)
    return list(ids)


def replay(tx: Tx, where: RunFilter, page: Page, found: Found) -> dict[str, str]:
    """Puts dead runs back among the live ones; their attempts and their kept answers stay theirs."""
    named = tuple(id for id in dict.fromkeys(where.ids) if page.after is None or id < page.after)[: page.limit]
    if where.ids and not named:
        return {}
    asked = condition(msgspec.structs.replace(where, ids=named), after=page.after)
    dead = _find_dead(tx, _among(asked, found), page.limit)
    held = holders(tx, [(run.task, run.unique_key) for run in dead if run.unique_key is not None])
    answers: dict[str, str] = {}
    for run in dead:
        holder = held.get((run.task, run.unique_key))
        answers[run.id] = "replayed" if holder is None else f"held_by:{holder}"
        if holder is None and run.unique_key is not None:
            held[run.task, run.unique_key] = run.id
    ids = encode([id for id, answer in answers.items() if answer == "replayed"])
    if ids != "[]":
        tx.change("replay_runs", ids, RetryPolicy().max_attempts, tx.now)
        tx.change("replay_delete", ids)
    return answers | _why_not(tx, [id for id in named if id not in answers])


def discard(tx: Tx, where: RunFilter, page: Page, found: Found) -> list[str]:
    """Marks dead runs as seen to, and gives their ids."""
    asked = _among(condition(where, after=page.after), found).and_("r.discarded_at IS NULL")
    ids = [run.id for run in _find_dead(tx, asked, page.limit)]
    if ids:
        tx.change("discard_runs", encode(ids), tx.now)
    return ids


def _among(asked: Condition, found: Found) -> Condition:
    """The condition once more, of what it found before: the rest is not read while others wait for the writer."""
    return asked if found is None else asked.and_("r.id IN (SELECT value FROM json_each(?))", encode(found))


def _find_dead(tx: Tx, asked: Condition, limit: int) -> Sequence[_Dead]:
    text = tx.execute(sql("dead_find").replace("TRUE", asked.text), (*asked.parameters, limit))
    return decode(_dead, str(text))


def _why_not(tx: Tx, ids: Sequence[str]) -> dict[str, str]:
    if not ids:
        return {}
    known = {id for text in tx.read_rows("enqueue_known", [(id,) for id in ids]) for id in decode_texts(text)}
    return {id: "not_dead" if id in known else "missing" for id in ids}
