"""Pages of the tick record: where one begins, and what it holds."""

from __future__ import annotations

from typing import Final

import msgspec

from puntual.model.errors import InvalidError
from puntual.model.schedule import Fate, Tick
from puntual.store.requests import Page, TickFilter, TickPage
from puntual.store.rows.readable import readable

END: Final = 2**62
_ticks = msgspec.json.Decoder(list[Tick])


class Bounds(msgspec.Struct, frozen=True):
    """Where a page lies: the tick that it comes after, and between which instants, ``until`` excluded."""

    tick_at: int
    schedule: str
    number: int
    since: int
    until: int


def bounds(where: TickFilter, page: Page) -> Bounds:
    """Where this page lies; before the first page there is a place after all ticks.

    Raises:
        InvalidError: the page begins nowhere.
    """
    tick_at, schedule, number = _after(page)
    since = -END if where.since is None else where.since
    # Bounds the indexes from above, so that a later page does not read those before it.
    until = min(END if where.until is None else where.until, tick_at + 1 if schedule else tick_at)
    return Bounds(tick_at, schedule, number, since, until)


def parts(where: TickFilter) -> dict[str, set[Fate]]:
    """The tables that may hold such ticks, each with the fates of them that are asked for."""
    fates = set(where.fates or Fate)
    held = {
        "runs": {Fate.PLANNED, Fate.RAN},
        "run_history": {Fate.RAN, Fate.SKIPPED},
        "tick_stretches": set(Fate) - {Fate.PLANNED},
    }
    return {name: fates & those for name, those in held.items() if fates & those}


def tick_page(text: str, page: Page, lowest: int | None) -> TickPage:
    """The page that was read, one tick more than it is long; ``lowest`` is down to where ticks were read at most."""
    ticks = readable(_ticks, Tick, text)
    if len(ticks) > page.limit:
        return TickPage(items=tuple(ticks[: page.limit]), next=ticks[page.limit - 1].key)
    return TickPage(items=tuple(ticks), next=None if lowest is None else f"{lowest}:0:")


def _after(page: Page) -> tuple[int, str, int]:
    """The place of the last tick seen; before the first page, a place after all."""
    if page.after is None:
        return END, "", 0
    tick_at, _, rest = page.after.partition(":")
    number, _, schedule = rest.partition(":")
    try:
        return int(tick_at), schedule, int(number)
    except ValueError:
        raise InvalidError(f"{page.after[:60]!r} is no place in the list of ticks.", field="cursor") from None
