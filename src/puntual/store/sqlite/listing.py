"""Finding runs: live ones and history as one list, by id, newest first, and never more than a bound of rows at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from puntual.model.ids import first_id
from puntual.model.run import LIVE_STATES, Run, RunState
from puntual.store.requests import Page, Response, RunFilter, RunPage
from puntual.store.rows.codec import SqlValue, decode_texts, encode
from puntual.store.rows.readable import shown_runs
from puntual.store.sqlite.statements import sql
from puntual.store.sqlite.transaction import DAY_US, Tx

#: A page reads at most so many rows of the live runs, and so many of history, whatever it looks for: about 10 ms.
ROWS_READ = 20_000
_RUNNING = "r.seq IN (SELECT b.seq FROM runs AS b WHERE b.state = 'running')"


class Condition(msgspec.Struct, frozen=True):
    """A part of a WHERE about a run ``r``, and its parameters in order."""

    text: str
    parameters: tuple[SqlValue, ...]

    def and_(self, text: str, *parameters: SqlValue) -> Condition:
        """This, and one more."""
        return Condition(f"{self.text} AND {text}", (*self.parameters, *parameters))


def condition(where: RunFilter, *, after: str | None = None, lowest: str = "") -> Condition:
    """What a filter asks of a run. Discarded runs are left out unless asked for, or named by their id."""
    asked = _place(where, after, lowest)
    for column, values in _listed(where):
        # The plus keeps these off any index: rows are read in the order of the list, and no further than the page.
        wanted = f"+r.{column} IN (SELECT value FROM json_each(?))"  # noqa: S608 - a column named below
        asked = asked.and_(wanted, encode(values))
    if where.states:
        # Spelled out, because only then can a partial index on a state be used.
        asked = asked.and_("(" + " OR ".join(f"r.state = '{RunState(state).value}'" for state in where.states) + ")")
    if where.tags:
        tagged = "EXISTS (SELECT 1 FROM json_each(r.tags) AS t WHERE t.value IN (SELECT value FROM json_each(?)))"
        asked = asked.and_(tagged, encode(where.tags))
    for bound, value in (("r.created_at >= ?", where.since), ("r.created_at < ?", where.until)):
        if value is not None:
            asked = asked.and_(bound, value)
    if not where.discarded and not where.ids:
        asked = asked.and_("r.discarded_at IS NULL")
    return asked


def _place(where: RunFilter, after: str | None, lowest: str = "") -> Condition:
    """The part of a filter that an index in the order of the list answers."""
    asked = Condition("TRUE", ())
    if where.ids:
        asked = asked.and_("r.id IN (SELECT value FROM json_each(?))", encode(where.ids))
    if len(where.schedules) == 1:
        asked = asked.and_("r.schedule = ?", where.schedules[0])
    below = [] if after is None else [after]
    if not where.ids:
        # Ids begin with the instant for which they were made; a day is for clocks that differ, and for what came late.
        lowest = max(lowest, "" if where.since is None else first_id(where.since - DAY_US))
        below += [] if where.until is None else [first_id(where.until + DAY_US)]
    # One bound on each side: an index takes no more, and another would be tried on every row.
    asked = asked.and_("r.id >= ?", lowest) if lowest else asked
    return asked.and_("r.id < ?", min(below)) if below else asked


def _listed(where: RunFilter) -> Iterator[tuple[str, Sequence[str]]]:
    """The columns of which one of several values is wanted."""
    if len(where.schedules) > 1:
        yield "schedule", where.schedules
    for column, values in (("queue", where.queues), ("task", where.tasks), ("origin", where.origins)):
        if values:
            yield column, values


def get_run(tx: Tx, run_id: str) -> Run | None:
    """The run, wherever it is."""
    found = shown_runs(tx.text("get_run", run_id))
    return found[0] if found else None


def list_runs(tx: Tx, where: RunFilter, page: Page) -> RunPage:
    """One page."""
    lowest = _lowest(tx, where, page.after)
    runs = shown_runs(_page(tx, sql("_run"), where, page, lowest))
    if len(runs) > page.limit:
        return RunPage(items=runs[: page.limit], next=runs[page.limit - 1].id)
    return RunPage(items=runs, next=lowest)


def find_ids(tx: Tx, where: RunFilter, page: Page) -> tuple[Sequence[str], str | None]:
    """The ids of one page, and where to go on."""
    lowest = _lowest(tx, where, page.after)
    ids = decode_texts(_page(tx, "json_quote(r.id)", where, page, lowest))
    if len(ids) > page.limit:
        return ids[: page.limit], ids[page.limit - 1]
    return ids, lowest


def _page(tx: Tx, shown: str, where: RunFilter, page: Page, lowest: str | None) -> str:
    """Up to one more than a page of what is shown of each run, down to the lowest id that may be read."""
    asked = condition(where, after=page.after, lowest=lowest or "")
    half = "list_runs_from"
    if where.states == (RunState.RUNNING,):
        half, asked = "list_runs_running", asked.and_(_RUNNING)
    text = sql(half).replace("TRUE", asked.text).replace("SHOWN", shown)
    halves = [text.replace("run_source", name) for name in _sources(where)]
    most = page.limit + 1
    both = "\nUNION ALL\n".join(halves)
    statement = f"SELECT json_group_array(json(run)) FROM (SELECT run FROM ({both}) ORDER BY id DESC LIMIT ?)"  # noqa: S608 - made of our own texts
    found = tx.execute(statement, (*(*asked.parameters, most) * len(halves), most))
    assert isinstance(found, str)
    return found


def _lowest(tx: Tx, where: RunFilter, after: str | None) -> str | None:
    """Down to which id the rows may be read; None when there are not more than may be."""
    if where.ids or where.states == (RunState.RUNNING,):
        return None
    found = []
    for name in _sources(where):
        asked = _place(where, after)
        if where.states == (RunState.CANCELLED,):
            asked = asked.and_("r.state = 'cancelled'")
        elif where.states == (RunState.DEAD,) and not where.discarded:
            asked = asked.and_("r.state = 'dead' AND r.discarded_at IS NULL")
        text = sql("list_runs_lowest").replace("run_source", name).replace("TRUE", asked.text)
        found.append(tx.execute(text, (*asked.parameters, ROWS_READ)))
    return max((id for id in found if isinstance(id, str)), default=None)


def _sources(where: RunFilter) -> list[str]:
    """The tables that may hold such runs."""
    if not where.states:
        return ["live_runs", "run_history"]
    return [
        name
        for name, live in (("live_runs", True), ("run_history", False))
        if any((state in LIVE_STATES) is live for state in where.states)
    ]


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
