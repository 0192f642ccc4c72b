"""Finding runs: live ones and history as one list, by id, newest first, and never more than a bound of rows at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import TypeVar

import msgspec

from puntual.model.run import Run, RunState
from puntual.store.postgres.statements import sql
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Page, Response, RunFilter, RunPage
from puntual.store.rows.asked import Condition, Words, bounds, ended, place, rest, sources
from puntual.store.rows.codec import decode, decode_texts
from puntual.store.rows.readable import shown_runs

#: A page reads at most so many rows of the live runs, and so many of history, whatever it looks for.
ROWS_READ = 20_000
#: Tried before that: most pages are full after a few rows.
_FEW = 500
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ZEROS = "00000000-0000-0000-0000-000000000000"
_LAST = "ffffffff-ffff-ffff-ffff-ffffffffffff"
_minutes = msgspec.json.Decoder(list[tuple[int, int]])
_headers = msgspec.json.Decoder(tuple[tuple[str, str], ...])
_page = msgspec.json.Decoder(tuple[str | None, msgspec.Raw])

T = TypeVar("T")


def known_form(ids: Iterable[str]) -> list[str]:
    """Those of these ids that a run can have, each once: no run has another, and the database would refuse it."""
    return [id for id in dict.fromkeys(ids) if _UUID.fullmatch(id)]


def _bound(id: str) -> str:
    """An id from its beginning: the first of those that begin so. What begins no id is before all of them."""
    whole = id + _ZEROS[len(id) :]
    return whole if _UUID.fullmatch(whole) else _ZEROS


_WORDS = Words(
    ids="r.id = ANY (?::text[]::uuid[])",
    column="r.{column} = ANY (?::text[])",
    tags=(
        "r.tags <> '[]' AND EXISTS "
        "(SELECT 1 FROM json_array_elements_text(r.tags::json) AS t (tag) WHERE t.tag = ANY (?::text[]))"
    ),
    given=list,
    bound=_bound,
)


def condition(where: RunFilter, *, after: str | None = None) -> Condition:
    """What a filter asks of a run. Discarded runs are left out unless asked for, or named by their id."""
    return _place(where, after).also(rest(_WORDS, where))


def numbered(text: str, first: int) -> str:
    """Every ``?`` as a parameter of PostgreSQL, from ``$first`` on."""
    numbers = count(first)
    return re.sub(r"\?", lambda _: f"${next(numbers)}", text)


async def get_run(tx: Tx, run_id: str) -> Run | None:
    """The run, wherever it is."""
    if not known_form([run_id]):
        return None
    found = shown_runs(await tx.text("get_run", run_id))
    return found[0] if found else None


async def list_runs(tx: Tx, where: RunFilter, page: Page) -> RunPage:
    """One page."""
    runs, lowest = await _read(tx, sql("_run"), where, page, shown_runs)
    if len(runs) > page.limit:
        return RunPage(items=runs[: page.limit], next=runs[page.limit - 1].id)
    return RunPage(items=runs, next=lowest)


async def find_ids(tx: Tx, where: RunFilter, page: Page) -> tuple[Sequence[str], str | None]:
    """The ids of one page, and where to go on."""
    ids, lowest = await _read(tx, "r.id", where, page, decode_texts)
    if len(ids) > page.limit:
        return ids[: page.limit], ids[page.limit - 1]
    return ids, lowest


async def _read(
    tx: Tx, shown: str, where: RunFilter, page: Page, read: Callable[[str], tuple[T, ...]]
) -> tuple[tuple[T, ...], str | None]:
    """Up to one more than a page of what is shown of each run, and the lowest id read if there may be more below it."""
    for rows in (min(_FEW, ROWS_READ), ROWS_READ):
        asked = _statement(shown, where, page, rows)
        lowest, raw = decode(_page, str(await tx.execute(asked.text, asked.parameters)))
        found = read(bytes(raw).decode())
        if lowest is None or len(found) > page.limit:
            break
    return found, lowest


def _statement(shown: str, where: RunFilter, page: Page, rows: int) -> Condition:
    """What reads a page from so many rows of each table; runs that are named, or few, are read whole."""
    first, last = _place(where, page.after).also(ended(where)), rest(_WORDS, where)
    if where.states == (RunState.RUNNING,):
        first = Condition("r.state = 'running'").also(first)
    whole = bool(where.ids) or where.states == (RunState.RUNNING,)
    numbers = (page.limit + 1,) if whole else (page.limit + 1, rows)
    # The same parameters for both halves, and for the search of the lowest.
    inner = numbered(first.text, len(numbers) + 1)
    outer = numbered(last.text, len(numbers) + 1 + len(first.parameters))

    order = "r.schedule DESC, r.id DESC" if len(where.schedules) == 1 and not where.ids else "r.id DESC"

    def each(name: str) -> str:
        text = (
            sql(name).replace("TRUE", outer).replace("PLACE", inner).replace("SHOWN", shown).replace("ORDERED", order)
        )
        return "UNION ALL".join(text.replace("run_source", source) for source in sources(where))

    if whole:
        text = sql("list_runs_whole").replace("HALVES", each("list_runs_whole_from"))
    else:
        text = sql("list_runs").replace("HALVES", each("list_runs_from"))
        text = text.replace("LOWEST", each("list_runs_lowest"))
    return Condition(text, (*numbers, *first.parameters, *last.parameters))


def _place(where: RunFilter, after: str | None) -> Condition:
    if where.ids:
        ids = tuple(known_form(where.ids))
        return place(_WORDS, msgspec.structs.replace(where, ids=ids), after=after) if ids else Condition("FALSE")
    if len(where.schedules) != 1:
        return place(_WORDS, where, after=after)
    # As one value with the id: nothing but the index of both can be read in that order, whatever the planner expects.
    low, below = bounds(where, after=after)
    (name,) = where.schedules
    return Condition(
        "r.schedule IS NOT NULL AND (r.schedule, r.id) >= (?, ?) AND (r.schedule, r.id) < (?, ?)",
        (name, _bound(low), name, _LAST if below is None else _bound(below)),
    )


async def get_response(tx: Tx, run_id: str, attempt: int) -> Response | None:
    """What was kept of one attempt."""
    row = await tx.row("get_response", run_id, attempt) if known_form([run_id]) else None
    if row is None:
        return None
    return Response(
        run_id=run_id,
        attempt=attempt,
        body=row["body"],
        content_type=row["content_type"],
        headers=decode(_headers, row["headers"]),
        truncated=row["truncated"],
    )


async def due_by_minute(tx: Tx, since: int, until: int, limit: int) -> list[tuple[int, int]]:
    """As ``RunStore.due_by_minute``."""
    return decode(_minutes, await tx.text("due_by_minute", since, until, limit))
