"""Settle: one guarded write for each claim; what ended moves to history, what goes on is put back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from puntual.model.errors import StoreDataError
from puntual.store.requests import Settled, Settlement
from puntual.store.rows.codec import SqlValue, encode
from puntual.store.rows.settling import ended_values, goes_on, joined, put_back_values
from puntual.store.sqlite.enqueue import enqueue, new_rows
from puntual.store.sqlite.errors import CAUGHT, translate
from puntual.store.sqlite.transaction import Tx

_GONE, _CHANGED, _MINE = 0, 1, 2


class _Verdict(msgspec.Struct, frozen=True, array_like=True):
    """What the guard says of one claim, and where its run is."""

    guard: int
    seq: int | None
    queue: str | None
    schedule_id: str | None


_verdicts = msgspec.json.Decoder(list[_Verdict])


def settle(tx: Tx, settlements: Sequence[Settlement]) -> Settled:
    """Writes what became of the claims that are still the caller's; raises if one of them cannot be kept."""
    if not settlements:
        return Settled(now=tx.now)
    guards = [(one.id, one.attempt, one.worker, int(one.cancel_seen)) for one in settlements]
    verdicts = [verdict for text in tx.read_rows("settle_guard", guards) for verdict in _verdicts.decode(text)]
    mine = [(one, verdict) for one, verdict in zip(settlements, verdicts, strict=True) if verdict.guard == _MINE]
    back = [pair for pair in mine if goes_on(pair[0])]
    ended = [pair for pair in mine if not goes_on(pair[0])]
    queues = _put_back(tx, back)
    schedules = end_runs(tx, [_ended_row(tx, *pair) for pair in ended], (verdict.schedule_id for _, verdict in ended))
    queues |= _follow_up(tx, [one for one, _ in mine])
    _keep_evidence(tx, [one for one, _ in mine])
    return Settled(
        written=tuple(one.id for one, _ in mine),
        changed=tuple(one.id for one, verdict in zip(settlements, verdicts, strict=True) if verdict.guard == _CHANGED),
        gone=tuple(one.id for one, verdict in zip(settlements, verdicts, strict=True) if verdict.guard == _GONE),
        queues=tuple(sorted(queues)),
        schedules=schedules,
        now=tx.now,
    )


def settle_carefully(tx: Tx, settlements: Sequence[Settlement]) -> Settled:
    """As ``settle``, for a batch that failed on data: it is halved until the bad rows are alone."""
    try:
        with tx.part():
            return settle(tx, settlements)
    except (*CAUGHT, StoreDataError) as error:
        ours = translate(error, "the database")
        if not isinstance(ours, StoreDataError):
            raise
        if len(settlements) == 1:
            return Settled(refused=((settlements[0].id, ours.message),), now=tx.now)
        half = len(settlements) // 2
        return joined(settle_carefully(tx, settlements[:half]), settle_carefully(tx, settlements[half:]))


def end_runs(tx: Tx, rows: Sequence[Sequence[SqlValue]], schedule_ids: Iterable[str | None]) -> bool:
    """Moves live runs to history; says whether a schedule had a tick waiting for one of them.

    Args:
        tx: the transaction.
        rows: the parameters of ``end_runs``, the place of the run first.
        schedule_ids: whose runs they were.
    """
    if rows:
        tx.change_rows("end_runs", rows)
        tx.change("end_delete", encode([row[0] for row in rows]))
    owners = {owner for owner in schedule_ids if owner is not None}
    return bool(owners) and tx.change("settle_wake_schedules", encode(sorted(owners)), tx.now) > 0


def _ended_row(tx: Tx, settlement: Settlement, verdict: _Verdict) -> tuple[SqlValue, ...]:
    return (verdict.seq, *ended_values(settlement, tx.retention, tx.now))


def _put_back(tx: Tx, back: Sequence[tuple[Settlement, _Verdict]]) -> set[str]:
    """Makes runs pending again, and names the queues in which one can be claimed now."""
    rows = []
    queues = set()
    for settlement, verdict in back:
        change = settlement.transition
        claim_at = tx.now if change.claim_at is None else change.claim_at
        rows.append((verdict.seq, claim_at, *put_back_values(settlement)))
        if claim_at <= tx.now and verdict.queue is not None:
            queues.add(verdict.queue)
    if rows:
        tx.change_rows("put_back_runs", rows, tx.now)
    return queues


def _follow_up(tx: Tx, mine: Sequence[Settlement]) -> set[str]:
    """Inserts what the ended runs asked for, after they have let go of their unique keys; names the queues."""
    runs = [run for settlement in mine for run in settlement.transition.follow_ups]
    if runs:
        enqueue(tx, new_rows(runs))
    return {run.queue for run in runs}


def _keep_evidence(tx: Tx, mine: Sequence[Settlement]) -> None:
    rows = [
        (one.id, one.attempt, kept.body, kept.content_type, encode(kept.headers), kept.truncated)
        for one in mine
        if (kept := one.transition.evidence) is not None
    ]
    if rows:
        tx.change_rows("keep_responses", rows)
