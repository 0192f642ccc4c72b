"""Finding runs: live ones and history as one list, by id, newest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from puntual.model.run import LIVE_STATES, Run, RunState
from puntual.store.requests import Page, Response, RunFilter
from puntual.store.sqlite.codec import decode_runs, encode
from puntual.store.sqlite.statements import SqlValue, sql
from puntual.store.sqlite.transaction import Tx


class Condition(msgspec.Struct, frozen=True):
    """A part of a WHERE about a run ``r``, and its parameters in order."""

    text: str
    parameters: tuple[SqlValue, ...]


def condition(where: RunFilter, *, after: str | None = None) -> Condition:
    """What a filter asks of a run. Discarded runs are left out unless asked for, or named by their id."""
    parts: list[str] = []
    parameters: list[SqlValue] = []
    if where.ids:
        parts.append("r.id IN (SELECT value FROM json_each(?))")
        parameters.append(encode(where.ids))
    if len(where.schedules) == 1:
        parts.append("r.schedule = ?")
        parameters.append(where.schedules[0])
    for column, values in _listed(where):
        # The plus keeps these off any index: rows are read in the order of the list, and no further than the page.
        parts.append(f"+r.{column} IN (SELECT value FROM json_each(?))")  # noqa: S608 - a column named below
        parameters.append(encode(values))
    if where.states:
        # Spelled out, because only then can a partial index on a state be used.
        parts.append("(" + " OR ".join(f"r.state = '{RunState(state).value}'" for state in where.states) + ")")
    if where.tags:
        parts.append("EXISTS (SELECT 1 FROM json_each(r.tags) AS t WHERE t.value IN (SELECT value FROM json_each(?)))")
        parameters.append(encode(where.tags))
    for bound, value in (("r.created_at >= ?", where.since), ("r.created_at < ?", where.until), ("r.id < ?", after)):
        if value is not None:
            parts.append(bound)
            parameters.append(value)
    if not where.discarded and not where.ids:
        parts.append("r.discarded_at IS NULL")
    return Condition(" AND ".join(parts) or "TRUE", tuple(parameters))


def _listed(where: RunFilter) -> Iterator[tuple[str, Sequence[str]]]:
    """The columns of which one of several values is wanted."""
    if len(where.schedules) > 1:
        yield "schedule", where.schedules
    for column, values in (("queue", where.queues), ("task", where.tasks), ("origin", where.origins)):
        if values:
            yield column, values


def get_run(tx: Tx, run_id: str) -> Run | None:
    """The run, wherever it is."""
    found = decode_runs(tx.text("get_run", run_id))
    return found[0] if found else None


def list_runs(tx: Tx, where: RunFilter, page: Page) -> list[Run]:
    """One page."""
    asked = condition(where, after=page.after)
    sources = [
        (name, not where.states or any((state in LIVE_STATES) is live for state in where.states))
        for name, live in (("live_runs", True), ("run_history", False))
    ]
    half = sql("list_runs_from").replace("TRUE", asked.text)
    halves = [half.replace("run_source", name) for name, wanted in sources if wanted]
    parameters = (*asked.parameters, page.limit) * len(halves)
    both = "\nUNION ALL\n".join(halves)
    statement = f"SELECT json_group_array(json(run)) FROM (SELECT run FROM ({both}) ORDER BY id DESC LIMIT ?)"  # noqa: S608 - made of our own texts
    text = tx.execute(statement, (*parameters, page.limit))
    assert isinstance(text, str)
    return list(decode_runs(text))


def get_response(tx: Tx, run_id: str, attempt: int) -> Response | None:
    """What was kept of one attempt."""
    row = tx.row("get_response", run_id, attempt)
    if row is None:
        return None
    body, content_type, headers, truncated = row
    return msgspec.convert(
        {
            "run_id": run_id,
            "attempt": attempt,
            "body": body,
            "content_type": content_type,
            "headers": msgspec.json.decode(str(headers)),
            "truncated": truncated,
        },
        Response,
    )
