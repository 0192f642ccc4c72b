"""Finding runs: live ones and history as one list, by id, newest first, and never more than a bound of rows at once."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from puntual.model.run import Run, RunState
from puntual.store.requests import Page, Response, RunFilter, RunPage
from puntual.store.rows.asked import Condition, Words, ended, place, rest, sources
from puntual.store.rows.codec import decode, decode_texts, encode
from puntual.store.rows.readable import shown_runs
from puntual.store.sqlite.statements import sql
from puntual.store.sqlite.transaction import Tx

#: A page reads at most so many rows of the live runs, and so many of history, whatever it looks for: about 10 ms.
ROWS_READ = 20_000
_minutes = msgspec.json.Decoder(list[tuple[int, int]])
_RUNNING = "r.seq IN (SELECT b.seq FROM runs AS b WHERE b.state = 'running')"


_WORDS = Words(
    ids="r.id IN (SELECT value FROM json_each(?))",
    # The plus keeps these off any index: rows are read in the order of the list, and no further than the page.
    column="+r.{column} IN (SELECT value FROM json_each(?))",
    tags="EXISTS (SELECT 1 FROM json_each(r.tags) AS t WHERE t.value IN (SELECT value FROM json_each(?)))",
    given=encode,
)


def condition(where: RunFilter, *, after: str | None = None, lowest: str = "") -> Condition:
    """What a filter asks of a run. Discarded runs are left out unless asked for, or named by their id."""
    return place(_WORDS, where, after=after, lowest=lowest).also(rest(_WORDS, where))


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
    halves = [text.replace("run_source", name) for name in sources(where)]
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
    for name in sources(where):
        asked = place(_WORDS, where, after=after).also(ended(where))
        text = sql("list_runs_lowest").replace("run_source", name).replace("TRUE", asked.text)
        found.append(tx.execute(text, (*asked.parameters, ROWS_READ)))
    return max((id for id in found if isinstance(id, str)), default=None)


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


def due_by_minute(tx: Tx, since: int, until: int, limit: int) -> list[tuple[int, int]]:
    """As ``RunStore.due_by_minute``."""
    return decode(_minutes, tx.text("due_by_minute", since, until, limit))
