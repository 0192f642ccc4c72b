"""Folding: ticks whose runs leave history become as few stretches as there can be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from puntual.model.schedule import Fate, FateReason
from puntual.store.rows.codec import SqlValue


class Piece(msgspec.Struct, frozen=True, array_like=True):
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

    def joined(self, other: Piece) -> Piece:
        """Both, the other one beginning where this one ends."""
        return msgspec.structs.replace(self, last_tick_at=other.last_tick_at, count=self.count + other.count)


#: What became of a tick whose run is over: it ran, or it was cancelled before that.
FATES: Final = ((Fate.RAN, None), (Fate.SKIPPED, FateReason.CANCELLED))


def merged_pieces(pieces: Iterable[Piece]) -> list[Piece]:
    """The same ticks in as few pieces as can be; a piece that came twice counts once."""
    merged: list[Piece] = []
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


def stretch_row(piece: Piece) -> tuple[SqlValue, ...]:
    """A piece as the parameters of ``keep_stretches``."""
    return (
        piece.schedule_id,
        piece.schedule,
        piece.number,
        piece.tick_at,
        piece.last_tick_at,
        piece.count,
        0,
        str(piece.fate),
        None if piece.reason is None else str(piece.reason),
    )
