"""The hands on runs: edit what waits, replay what is dead, discard what nobody wants to see any more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from puntual.model.errors import StoreBusyError
from puntual.model.policy import RetryPolicy
from puntual.store.postgres.listing import condition, known_form, numbered
from puntual.store.postgres.statements import columns, sql
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Page, RunEdit, RunFilter
from puntual.store.rows.asked import Condition
from puntual.store.rows.codec import decode, encode

#: How many runs one edit changes.
MOST_EDITED: Final = 1_000
#: How often a key is tried whose holder ends each time before it can be named.
_ROUNDS = 20
#: The ids that a filter has found a moment ago, newest first; None where the filter names ids itself.
Found = Sequence[str] | None


class _Dead(msgspec.Struct, frozen=True, array_like=True):
    id: str
    task: str
    unique_key: str | None
    day: int

    @property
    def key(self) -> tuple[str, str | None]:
        """What no other live run may have, unless it is None."""
        return self.task, self.unique_key


_ids = msgspec.json.Decoder(list[str])
_dead = msgspec.json.Decoder(list[_Dead])
_standing = msgspec.json.Decoder(tuple[frozenset[str], tuple[tuple[str, str, str], ...]])


async def edit(tx: Tx, where: RunFilter, edit: RunEdit, found: Found) -> list[str]:
    """Changes pending runs, and gives their ids."""
    priority = None if edit.priority is None else int(edit.priority)
    given = (MOST_EDITED, priority, edit.queue, edit.due_at, tx.now)
    return decode(_ids, await _among(tx, "edit_runs", condition(where), found, given))


async def replay(tx: Tx, where: RunFilter, page: Page, found: Found) -> dict[str, str]:
    """Puts dead runs back among the live ones; their attempts and their kept answers stay theirs."""
    named = tuple(id for id in dict.fromkeys(where.ids) if page.after is None or id < page.after)[: page.limit]
    if where.ids and not named:
        return {}
    asked = condition(msgspec.structs.replace(where, ids=named), after=page.after)
    dead = await _lock_dead(tx, asked, page, found)
    answers = await _put_back(tx, dead)
    others = [id for id in named if id not in answers]
    live, _ = await _look(tx, [_Dead(id, "", None, 0) for id in known_form(others)], history=True)
    return answers | {id: "not_dead" if id in live else "missing" for id in others}


async def discard(tx: Tx, where: RunFilter, page: Page, found: Found) -> list[str]:
    """Marks dead runs as seen to, and gives their ids."""
    asked = condition(where, after=page.after).and_("r.discarded_at IS NULL")
    dead = await _lock_dead(tx, asked, page, found)
    if dead:
        await tx.change("discard_runs", *columns([(run.id, run.day) for run in dead]), tx.now)
    return [run.id for run in dead]


async def _lock_dead(tx: Tx, asked: Condition, page: Page, found: Found) -> Sequence[_Dead]:
    return decode(_dead, await _among(tx, "dead_lock", asked, found, (page.limit,)))


async def _among(tx: Tx, name: str, asked: Condition, found: Found, given: Sequence[object]) -> str:
    """A statement about the runs that match, of what was found before: the rest is not read under locks."""
    if found is not None:
        asked = asked.and_("r.id = ANY (?::text[]::uuid[])", list(found))
    statement = sql(name).replace("TRUE", numbered(asked.text, len(given) + 1))
    return str(await tx.execute(statement, (*given, *asked.parameters)))


async def _put_back(tx: Tx, dead: Sequence[_Dead]) -> dict[str, str]:
    """What became of each dead run, newest first.

    Raises:
        StoreBusyError: a key is taken and freed again all the time.
    """
    answers: dict[str, str] = {}
    left = list(dead)
    for _ in range(_ROUNDS):
        if not left:
            return {run.id: answers[run.id] for run in dead}
        days = columns([(run.id, run.day) for run in left])
        back = decode(_ids, await tx.text("replay_runs", *days, RetryPolicy().max_attempts, tx.now))
        answers |= dict.fromkeys(back, "replayed")
        left = [run for run in left if run.id not in answers]
        live, held = await _look(tx, left, history=False)
        answers |= {run.id: "not_dead" for run in left if run.id in live}
        answers |= {run.id: f"held_by:{held[run.key]}" for run in left if run.key in held}
        left = [run for run in left if run.id not in answers]
    raise StoreBusyError(f"The unique key {left[0].unique_key!r} is taken and freed all the time: try again.")


async def _look(
    tx: Tx, runs: Sequence[_Dead], *, history: bool
) -> tuple[frozenset[str], dict[tuple[str, str | None], str]]:
    """Which of these runs stand, live or in history too, and the live runs that hold their keys."""
    if not runs:
        return frozenset(), {}
    given = [{"id": run.id, "task": run.task, "unique_key": run.unique_key} for run in runs]
    live, held = decode(_standing, await tx.text("enqueue_standing", encode(given), history))
    return live, {(task, key): id for task, key, id in held}
