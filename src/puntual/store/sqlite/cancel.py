"""Cancel: a pending run ends at once, a running one is asked to stop, and what is over stays as it is."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from puntual.model.run import RunState
from puntual.store.rows.codec import SqlValue, decode, encode
from puntual.store.sqlite.settle import end_runs
from puntual.store.sqlite.transaction import Tx


class _Found(msgspec.Struct, frozen=True, array_like=True):
    """Where a run stands; ``seq`` is set while it lives."""

    id: str
    state: RunState | None
    seq: int | None
    schedule_id: str | None


_found = msgspec.json.Decoder(list[_Found])


def cancel(tx: Tx, ids: Sequence[str]) -> dict[str, str]:
    """Says of each run ``cancelled``, ``requested``, ``ended`` or ``missing``."""
    if not ids:
        return {}
    unique = [(id,) for id in dict.fromkeys(ids)]
    found = [one for text in tx.read_rows("cancel_find", unique) for one in decode(_found, text)]
    pending = [one for one in found if one.state is RunState.PENDING]
    end_runs(tx, [_row(tx, one) for one in pending], (one.schedule_id for one in pending))
    if running := [one.id for one in found if one.state is RunState.RUNNING]:
        tx.change("cancel_ask", encode(running))
    return {one.id: _word(one.state) for one in found}


def _word(state: RunState | None) -> str:
    if state is None:
        return "missing"
    return {RunState.PENDING: "cancelled", RunState.RUNNING: "requested"}.get(state, "ended")


def _row(tx: Tx, one: _Found) -> tuple[SqlValue, ...]:
    """The parameters of ``end_runs`` for a run that ends before it was claimed again: its story stays as it is."""
    expires_on = tx.retention.expires_on(RunState.CANCELLED, tx.now)
    return (one.seq, str(RunState.CANCELLED), None, tx.now, None, 0, 0, 0, None, None, expires_on)
