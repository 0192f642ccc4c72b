"""Prune: history leaves in bounded pieces when its day has come, and its ticks stay, folded into stretches."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from puntual.model.instant import DAY
from puntual.store.rows.codec import decode, encode
from puntual.store.rows.fold import FATES, Piece, merged_pieces, stretch_row
from puntual.store.sqlite.transaction import Tx


class _Expired(msgspec.Struct, frozen=True, array_like=True):
    """A run whose day has come, with its tick if it had one."""

    seq: int
    id: str
    schedule_id: str | None
    schedule: str | None
    tick_number: int | None
    tick_at: int | None
    skipped: int


_expired = msgspec.json.Decoder(list[_Expired])
_pieces = msgspec.json.Decoder(list[Piece])


def prune(tx: Tx, limit: int) -> int:
    """Removes up to ``limit`` runs, or stretches of ticks where fewer are left; says how many rows those were."""
    rows = decode(_expired, tx.text("prune_read", tx.now // DAY, limit))
    if rows:
        _fold(tx, rows)
        tx.change("prune_responses", encode([row.id for row in rows]))
        tx.change("prune_runs", encode([row.seq for row in rows]))
    stretches = tx.change("prune_stretches", tx.now - tx.retention.ticks_us, limit - len(rows))
    # A worker that comes back late must still hear that its lease is over.
    tx.change("prune_workers", tx.now - DAY)
    return len(rows) + stretches


def _fold(tx: Tx, rows: Sequence[_Expired]) -> None:
    """Writes the ticks of these runs into stretches, as few as there can be."""
    oldest = tx.now - tx.retention.ticks_us
    single = [
        Piece(row.schedule_id, row.schedule or "", row.tick_number, row.tick_at, row.tick_at, 1, *FATES[row.skipped])
        for row in rows
        if row.tick_number is not None and row.tick_at is not None and row.schedule_id is not None
        if row.tick_at >= oldest
    ]
    if not single:
        return
    places = [(piece.schedule_id, piece.number, piece.next) for piece in merged_pieces(single)]
    beside = [piece for text in tx.read_rows("fold_neighbours", places) for piece in decode(_pieces, text)]
    if beside:
        tx.change_rows("fold_replace", sorted({(piece.schedule_id, piece.number) for piece in beside}))
    tx.change_rows("keep_stretches", [stretch_row(piece) for piece in merged_pieces([*single, *beside])])
