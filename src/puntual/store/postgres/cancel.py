"""Cancel: a pending run ends at once, a running one is asked to stop, and what is over stays as it is."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from puntual.model.run import RunState
from puntual.store.postgres.listing import known_form
from puntual.store.postgres.transaction import Tx
from puntual.store.rows.codec import decode, decode_texts

_live = msgspec.json.Decoder(tuple[tuple[str, RunState], ...])
_WORDS = {RunState.PENDING: "cancelled", RunState.RUNNING: "requested"}


async def cancel(tx: Tx, ids: Sequence[str]) -> dict[str, str]:
    """Says of each run ``cancelled``, ``requested``, ``ended`` or ``missing``."""
    answers = dict.fromkeys(ids, "missing")
    left = known_form(ids)
    # A replay may bring a run back between the look at the live ones and the look at those that are over.
    for _ in range(2):
        if left:
            answers |= await _cancel_live(tx, left)
            left = [id for id in left if answers[id] == "missing"]
        if left:
            answers |= dict.fromkeys(decode_texts(await tx.text("cancel_ended", left)), "ended")
            left = [id for id in left if answers[id] == "missing"]
    return answers


async def _cancel_live(tx: Tx, ids: Sequence[str]) -> dict[str, str]:
    live = decode(_live, await tx.text("cancel_find", ids))
    if pending := [id for id, state in live if state is RunState.PENDING]:
        await tx.change("cancel_pending", pending, tx.now, tx.retention.expires_on(RunState.CANCELLED, tx.now))
    if running := [id for id, state in live if state is RunState.RUNNING]:
        await tx.change("cancel_ask", running)
    return {id: _WORDS[state] for id, state in live}
