"""The tick record: every planned tick once, alone with its run or inside a stretch, newest first."""

from __future__ import annotations

import msgspec

from puntual.model.errors import InvalidError
from puntual.model.schedule import Tick
from puntual.store.requests import Page, TickFilter
from puntual.store.sqlite.codec import encode
from puntual.store.sqlite.statements import sql
from puntual.store.sqlite.transaction import Tx

_END = 2**62
_ticks = msgspec.json.Decoder(list[Tick])


def list_ticks(tx: Tx, where: TickFilter, page: Page) -> list[Tick]:
    """One page. With a schedule named its own index is read, else the one of all ticks by instant."""
    narrow = "TRUE" if where.schedule is None else "schedule = ?8"
    tick_at, schedule, number = _after(page)
    until = _END if where.until is None else where.until
    text = tx.execute(
        sql("list_ticks").replace("ONE_SCHEDULE", narrow),
        (
            page.limit,
            encode(where.fates) if where.fates else None,
            -_END if where.since is None else where.since,
            # Bounds the index from above, so that a later page does not read those before it.
            min(until, tick_at + 1),
            tick_at,
            schedule,
            number,
            where.schedule,
        ),
    )
    return _ticks.decode(str(text))


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
