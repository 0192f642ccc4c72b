"""The tick record: every planned tick once, alone with its run or inside a stretch, newest first."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from puntual.model.errors import InvalidError
from puntual.model.schedule import Fate, Tick
from puntual.store.requests import Page, TickFilter, TickPage
from puntual.store.rows.codec import encode
from puntual.store.rows.readable import readable
from puntual.store.sqlite.listing import ROWS_READ
from puntual.store.sqlite.statements import sql
from puntual.store.sqlite.transaction import Tx

_END = 2**62
#: Of a tick whose run is over: it ran, or its run was cancelled before it was ever started.
_NEVER_STARTED = "h.state = 'cancelled' AND h.started_at IS NULL"
_STARTED = f"NOT ({_NEVER_STARTED})"
_ticks = msgspec.json.Decoder(list[Tick])


def list_ticks(tx: Tx, where: TickFilter, page: Page) -> TickPage:
    """One page. With a schedule named its own indexes are read, else those of all ticks by instant."""
    tick_at, schedule, number = _after(page)
    since = -_END if where.since is None else where.since
    # Bounds the indexes from above, so that a later page does not read those before it.
    until = min(_END if where.until is None else where.until, tick_at + 1 if schedule else tick_at)
    lowest = _lowest(tx, where, since, until)
    parts = "\nUNION ALL\n".join(_parts(where))
    text = tx.execute(
        sql("list_ticks").replace("PARTS", parts),
        (
            page.limit + 1,
            encode(where.fates) if where.fates else None,
            since,
            until,
            tick_at,
            schedule,
            number,
            where.schedule,
            -_END if lowest is None else lowest,
        ),
    )
    ticks = readable(_ticks, Tick, str(text))
    if len(ticks) > page.limit:
        return TickPage(items=tuple(ticks[: page.limit]), next=ticks[page.limit - 1].key)
    return TickPage(items=tuple(ticks), next=None if lowest is None else f"{lowest}:0:")


def _parts(where: TickFilter) -> Iterator[str]:
    """The statements of the parts that may hold such ticks."""
    fates = set(where.fates or Fate)
    one = "TRUE" if where.schedule is None else "schedule = ?8"
    if fates & {Fate.PLANNED, Fate.RAN}:
        yield sql("list_ticks_live").replace("ONE_SCHEDULE", one)
    if fates & {Fate.RAN, Fate.SKIPPED}:
        over = sql("list_ticks_over").replace("ONE_SCHEDULE", one)
        if Fate.RAN in fates:
            yield over.replace("ONE_FATE", "TRUE" if Fate.SKIPPED in fates else _STARTED)
        else:
            # Few, and have an index of their own, which the planner cannot know to be the smaller one.
            yield over.replace("AS h", "AS h INDEXED BY history_skipped").replace("ONE_FATE", _NEVER_STARTED)
    if fates - {Fate.PLANNED}:
        yield sql("list_ticks_stretches").replace("ONE_SCHEDULE", one)
        yield sql("list_ticks_open")


def _lowest(tx: Tx, where: TickFilter, since: int, until: int) -> int | None:
    """Down to which instant ticks may be read; None when there are not more than may be."""
    if not where.fates and where.since is None:
        return None
    fates = set(where.fates or Fate)
    parts = {
        "runs": fates & {Fate.PLANNED, Fate.RAN},
        "run_history": fates & {Fate.RAN},
        "tick_stretches": fates - {Fate.PLANNED},
    }
    found = []
    for name, wanted in parts.items():
        if wanted:
            one = "schedule = ?4" if where.schedule is not None else "TRUE"
            text = sql("list_ticks_lowest").replace("PART", name)
            only = one if name == "tick_stretches" else f"tick_number IS NOT NULL AND {one}"
            # A stretch may begin before the time that is asked for and reach into it.
            start = -_END if name == "tick_stretches" else since
            found.append(tx.execute(text.replace("ONE_SCHEDULE", only), (start, until, ROWS_READ, where.schedule)))
    return max((instant for instant in found if isinstance(instant, int)), default=None)


def _after(page: Page) -> tuple[int, str, int]:
    """The place of the last tick seen; before the first page, a place after all."""
    if page.after is None:
        return _END, "", 0
    tick_at, _, rest = page.after.partition(":")
    number, _, schedule = rest.partition(":")
    try:
        return int(tick_at), schedule, int(number)
    except ValueError:
        raise InvalidError(f"{page.after[:60]!r} is no place in the list of ticks.", field="cursor") from None
