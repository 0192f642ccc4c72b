"""The tick record: every planned tick once, alone with its run or inside a stretch, newest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from puntual.model.schedule import Fate
from puntual.store.postgres.statements import sql
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Page, TickFilter, TickPage
from puntual.store.rows.ticks import END, Bounds, bounds, parts, tick_page

#: A page reads at most so many ticks of each part, whatever it looks for.
ROWS_READ: Final = 20_000
#: Of a tick whose run is over: it ran, or its run was cancelled before it was ever started.
_NEVER_STARTED = "h.state = 'cancelled' AND h.started_at IS NULL"


async def list_ticks(tx: Tx, where: TickFilter, page: Page) -> TickPage:
    """One page. With a schedule named its own indexes are read, else those of all ticks by instant."""
    at = bounds(where, page)
    lowest = await _lowest(tx, where, at)
    text = await tx.execute(
        sql("list_ticks").replace("PARTS", "\nUNION ALL\n".join(_parts(where))),
        (
            page.limit + 1,
            list(where.fates) or None,
            at.since,
            at.until,
            at.tick_at,
            at.schedule,
            at.number,
            where.schedule,
            -END if lowest is None else lowest,
        ),
    )
    return tick_page(text, page, lowest)


def _parts(where: TickFilter) -> Iterator[str]:
    """The statements of the parts that may hold such ticks."""
    wanted = parts(where)
    if "runs" in wanted:
        yield _placed("list_ticks_live", where, "$8")
    if over := wanted.get("run_history"):
        fate = "TRUE" if len(over) > 1 else f"NOT ({_NEVER_STARTED})" if Fate.RAN in over else _NEVER_STARTED
        yield _placed("list_ticks_over", where, "$8").replace("ONE_FATE", fate)
    if "tick_stretches" in wanted:
        yield _placed("list_ticks_stretches", where, "$8")
        yield sql("list_ticks_open").replace("ONE_NAME", "TRUE" if where.schedule is None else "s.name = $8")


async def _lowest(tx: Tx, where: TickFilter, at: Bounds) -> int | None:
    """Down to which instant ticks may be read; None when there are not more than may be."""
    if not where.fates and where.since is None:
        return None
    found: list[int] = []
    for name in parts(where):
        stretches = name == "tick_stretches"
        text = _placed("list_ticks_lowest", where, "$4").replace("PART", name)
        statement = text.replace("TICKS", "TRUE" if stretches else "tick_number IS NOT NULL")
        # A stretch may begin before the time that is asked for and reach into it.
        since = -END if stretches else at.since
        instant: int | None = await tx.execute(statement, (since, at.until, ROWS_READ, where.schedule))
        if instant is not None:
            found.append(instant)
    return max(found, default=None)


def _placed(name: str, where: TickFilter, schedule: str) -> str:
    """A statement whose ticks lie between two places: instants, or instants of the one schedule of this parameter."""
    if where.schedule is None:
        place, at, ordered = "tick_at", "", "tick_at DESC, schedule DESC"
    else:
        place, at, ordered = "(schedule, tick_at)", f"{schedule}::text,", "schedule DESC, tick_at DESC"
    return sql(name).replace("PLACE", place).replace("(AT ", f"({at} ").replace("ORDERED", ordered)
