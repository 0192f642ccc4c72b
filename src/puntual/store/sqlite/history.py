"""Prune: history leaves in bounded pieces when its day has come, and its ticks stay, folded into stretches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from puntual.model.schedule import Fate, FateReason
from puntual.store.sqlite.codec import decode, encode
from puntual.store.sqlite.statements import SqlValue
from puntual.store.sqlite.transaction import DAY_US, Tx


class _Expired(msgspec.Struct, frozen=True, array_like=True):
    """A run whose day has come, with its tick if it had one."""

    seq: int
    id: str
    schedule_id: str | None
    schedule: str | None
    tick_number: int | None
    tick_at: int | None
    skipped: int


class _Piece(msgspec.Struct, frozen=True, array_like=True):
    """Consecutive ticks of one schedule that all ran, or whose runs were all cancelled before they were started."""

    schedule_id: str
    schedule: str
    number: int
    tick_at: int
    last_tick_at: int
    count: int
    fate: Fate
    reason: FateReason | None

    @property
    def next(self) -> int:
        """The number after the last."""
        return self.number + self.count

    def joined(self, other: _Piece) -> _Piece:
        """Both, the other one beginning where this one ends."""
        return msgspec.structs.replace(self, last_tick_at=other.last_tick_at, count=self.count + other.count)


#: What became of a tick whose run is over: it ran, or it was cancelled before that.
_FATES = ((Fate.RAN, None), (Fate.SKIPPED, FateReason.CANCELLED))
_expired = msgspec.json.Decoder(list[_Expired])
_pieces = msgspec.json.Decoder(list[_Piece])


def prune(tx: Tx, limit: int) -> int:
    """Removes up to ``limit`` runs, or stretches of ticks where fewer are left; says how many rows those were."""
    rows = decode(_expired, tx.text("prune_read", tx.now // DAY_US, limit))
    if rows:
        _fold(tx, rows)
        tx.change("prune_responses", encode([row.id for row in rows]))
        tx.change("prune_runs", encode([row.seq for row in rows]))
    stretches = tx.change("prune_stretches", tx.now - tx.retention.ticks_us, limit - len(rows))
    # A worker that comes back late must still hear that its lease is over.
    tx.change("prune_workers", tx.now - DAY_US)
    return len(rows) + stretches


def _fold(tx: Tx, rows: Sequence[_Expired]) -> None:
    """Writes the ticks of these runs into stretches, as few as there can be."""
    oldest = tx.now - tx.retention.ticks_us
    single = [
        _Piece(row.schedule_id, row.schedule or "", row.tick_number, row.tick_at, row.tick_at, 1, *_FATES[row.skipped])
        for row in rows
        if row.tick_number is not None and row.tick_at is not None and row.schedule_id is not None
        if row.tick_at >= oldest
    ]
    if not single:
        return
    places = [(piece.schedule_id, piece.number, piece.next) for piece in _merged(single)]
    beside = [piece for text in tx.read_rows("fold_neighbours", places) for piece in decode(_pieces, text)]
    if beside:
        tx.change_rows("fold_replace", sorted({(piece.schedule_id, piece.number) for piece in beside}))
    tx.change_rows("keep_stretches", [_row(piece) for piece in _merged([*single, *beside])])


def _merged(pieces: Iterable[_Piece]) -> list[_Piece]:
    """The same ticks in as few pieces as can be; a piece that came twice counts once."""
    merged: list[_Piece] = []
    for piece in sorted(set(pieces), key=lambda piece: (piece.schedule_id, piece.number)):
        last = merged[-1] if merged else None
        if last is not None and (last.schedule_id, last.next, last.fate) == (
            piece.schedule_id,
            piece.number,
            piece.fate,
        ):
            merged[-1] = last.joined(piece)
        else:
            merged.append(piece)
    return merged


def _row(piece: _Piece) -> tuple[SqlValue, ...]:
    return (
        piece.schedule_id,
        piece.number,
        piece.schedule,
        piece.tick_at,
        piece.last_tick_at,
        piece.count,
        0,
        str(piece.fate),
        None if piece.reason is None else str(piece.reason),
    )
