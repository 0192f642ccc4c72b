"""The tick record: every planned tick once, alone with its run or inside a stretch, newest first."""

from __future__ import annotations

from collections.abc import Iterator

from puntual.model.schedule import Fate
from puntual.store.requests import Page, TickFilter, TickPage
from puntual.store.rows.codec import encode
from puntual.store.rows.ticks import END, Bounds, bounds, parts, tick_page
from puntual.store.sqlite.listing import ROWS_READ
from puntual.store.sqlite.statements import sql
from puntual.store.sqlite.transaction import Tx

#: Of a tick whose run is over: it ran, or its run was cancelled before it was ever started.
_NEVER_STARTED = "h.state = 'cancelled' AND h.started_at IS NULL"
_STARTED = f"NOT ({_NEVER_STARTED})"


def list_ticks(tx: Tx, where: TickFilter, page: Page) -> TickPage:
    """One page. With a schedule named its own indexes are read, else those of all ticks by instant."""
    at = bounds(where, page)
    lowest = _lowest(tx, where, at)
    text = tx.execute(
        sql("list_ticks").replace("PARTS", "\nUNION ALL\n".join(_parts(where))),
        (
            page.limit + 1,
            encode(where.fates) if where.fates else None,
            at.since,
            at.until,
            at.tick_at,
            at.schedule,
            at.number,
            where.schedule,
            -END if lowest is None else lowest,
        ),
    )
    return tick_page(str(text), page, lowest)


def _parts(where: TickFilter) -> Iterator[str]:
    """The statements of the parts that may hold such ticks."""
    wanted = parts(where)
    one = "TRUE" if where.schedule is None else "schedule = ?8"
    if "runs" in wanted:
        yield sql("list_ticks_live").replace("ONE_SCHEDULE", one)
    if fates := wanted.get("run_history"):
        over = sql("list_ticks_over").replace("ONE_SCHEDULE", one)
        if Fate.RAN in fates:
            yield over.replace("ONE_FATE", "TRUE" if Fate.SKIPPED in fates else _STARTED)
        else:
            # Few, and have an index of their own, which the planner cannot know to be the smaller one.
            yield over.replace("AS h", "AS h INDEXED BY history_skipped").replace("ONE_FATE", _NEVER_STARTED)
    if "tick_stretches" in wanted:
        yield sql("list_ticks_stretches").replace("ONE_SCHEDULE", one)
        yield sql("list_ticks_open")


def _lowest(tx: Tx, where: TickFilter, at: Bounds) -> int | None:
    """Down to which instant ticks may be read; None when there are not more than may be."""
    if not where.fates and where.since is None:
        return None
    found = []
    for name, fates in parts(where).items():
        if name == "run_history" and Fate.RAN not in fates:
            continue  # Read from the index of just those.
        one = "schedule = ?4" if where.schedule is not None else "TRUE"
        stretches = name == "tick_stretches"
        text = sql("list_ticks_lowest").replace("PART", name)
        only = one if stretches else f"tick_number IS NOT NULL AND {one}"
        # A stretch may begin before the time that is asked for and reach into it.
        since = -END if stretches else at.since
        found.append(tx.execute(text.replace("ONE_SCHEDULE", only), (since, at.until, ROWS_READ, where.schedule)))
    return max((instant for instant in found if isinstance(instant, int)), default=None)
