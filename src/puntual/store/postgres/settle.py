"""Settle: one guarded write for each claim; what ended moves to history, what goes on is put back.

A batch of which every run ended, and left nothing beside its row, is one statement and no transaction of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

import asyncpg
import msgspec

from puntual.model.errors import StoreBusyError, StoreDataError
from puntual.model.run import RunState
from puntual.store.postgres.enqueue import insert
from puntual.store.postgres.errors import DATA_ERRORS, translate
from puntual.store.postgres.listing import known_form
from puntual.store.postgres.session import Session
from puntual.store.postgres.statements import columns
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Settled, Settlement
from puntual.store.rows.codec import SqlValue, encode
from puntual.store.rows.settling import ended_values, goes_on, joined, put_back_values

#: Milliseconds to wait for the unique key of a follow-up: the whole batch waits with it.
_PATIENCE_MS: Final = 200
_REFUSED = (*DATA_ERRORS, asyncpg.IntegrityConstraintViolationError, StoreDataError)


class Ended(NamedTuple):
    """What became of a batch of ended runs: when, which were written, and whether a schedule has to be looked at."""

    now: int
    written: Collection[str]
    schedules: bool


async def settle(session: Session, settlements: Sequence[Settlement], *, now: int | None) -> Settled:
    """As ``RunStore.settle``; a batch that fails on data or on a held key is done again, carefully.

    Nothing of it was written then.
    """
    batch = sorted(settlements, key=lambda one: one.id)
    try:
        if batch and all(map(_is_plain, batch)):
            return await session.single(lambda tx: _settle_plain(tx, batch), now=now)
        return await session.write(lambda tx: _settle(tx, batch), now=now)
    except StoreDataError:
        return await session.write(lambda tx: settle_carefully(tx, batch), now=now)
    except StoreBusyError as error:
        if error.field != "unique_key":
            raise
        return await session.write(lambda tx: _settle_apart(tx, batch), now=now)


async def settle_carefully(tx: Tx, settlements: Sequence[Settlement]) -> Settled:
    """As ``settle``, inside a transaction: a batch that fails on data is halved until the bad rows are alone."""
    try:
        async with tx.part():
            return await _settle(tx, sorted(settlements, key=lambda one: one.id))
    except _REFUSED as error:
        if len(settlements) == 1:
            return _refused(tx, settlements[0], error)
        half = len(settlements) // 2
        first = await settle_carefully(tx, settlements[:half])
        return joined(first, await settle_carefully(tx, settlements[half:]))


async def _settle_apart(tx: Tx, batch: Sequence[Settlement]) -> Settled:
    """As ``settle_carefully``, where an open transaction holds the unique key of a follow-up: its own run waits."""
    settled = await settle_carefully(tx, [one for one in batch if not _keys(one)])
    held: set[tuple[str, str]] = set()
    waiting: list[str] = []
    for one in batch:
        if not (keys := _keys(one)):
            continue
        if keys.isdisjoint(held):
            try:
                async with tx.part():
                    settled = joined(settled, await settle_carefully(tx, [one]))
                continue
            except (StoreBusyError, asyncpg.LockNotAvailableError):
                held |= keys
        waiting.append(one.id)
    return msgspec.structs.replace(settled, waiting=tuple(waiting))


async def end_runs(tx: Tx, rows: Sequence[Sequence[SqlValue]]) -> Ended:
    """Moves live runs to history, and has the schedules looked at that had a tick waiting for one of them.

    Args:
        tx: a transaction, or a single statement.
        rows: the parameters of ``end_runs``, in the order of their ids.
    """
    if not rows:
        return Ended(tx.now, (), schedules=False)
    record = await tx.row("end_runs", tx.now or None, *columns(rows))
    assert record is not None
    written = record["written"]
    return Ended(record["now"], [str(row[0]) for row in rows] if written is None else written, record["schedules"])


async def _settle(tx: Tx, batch: Sequence[Settlement]) -> Settled:
    """Writes what became of the claims that are still the caller's; raises if one of them cannot be kept."""
    ended = await end_runs(tx, [_ended_row(tx, one) for one in batch if not goes_on(one)])
    back, queues = await _put_back(tx, [one for one in batch if goes_on(one)])
    written = {*ended.written, *back}
    mine = [one for one in batch if one.id in written]
    queues |= await _follow_up(tx, mine)
    await _keep_evidence(tx, mine)
    return await _settled(tx, batch, Ended(tx.now, written, ended.schedules), queues)


async def _settle_plain(tx: Tx, batch: Sequence[Settlement]) -> Settled:
    return await _settled(tx, batch, await end_runs(tx, [_ended_row(tx, one) for one in batch]), set())


async def _settled(tx: Tx, batch: Sequence[Settlement], ended: Ended, queues: set[str]) -> Settled:
    changed: set[str] = set()
    written = set(ended.written)
    others = [one for one in batch if one.id not in written]
    if others:
        claims = [(one.id, one.attempt, one.worker) for one in others]
        changed = {record["id"] for record in await tx.rows("settle_standing", *columns(claims))}
    return Settled(
        written=tuple(one.id for one in batch if one.id in written),
        changed=tuple(one.id for one in others if one.id in changed),
        gone=tuple(one.id for one in others if one.id not in changed),
        queues=tuple(sorted(queues)),
        schedules=ended.schedules,
        now=ended.now,
    )


def _is_plain(settlement: Settlement) -> bool:
    """Whether it ends its run and leaves nothing else behind."""
    change = settlement.transition
    return (
        change.state is not RunState.PENDING
        and change.finished_at is not None
        and not change.follow_ups
        and change.evidence is None
    )


def _guard(settlement: Settlement) -> tuple[SqlValue, ...]:
    return (settlement.id, settlement.attempt, settlement.worker, settlement.cancel_seen)


def _ended_row(tx: Tx, settlement: Settlement) -> tuple[SqlValue, ...]:
    return (*_guard(settlement), *ended_values(settlement, tx.retention, tx.now))


async def _put_back(tx: Tx, back: Sequence[Settlement]) -> tuple[set[str], set[str]]:
    """Makes runs pending again: which were, and the queues in which one can be claimed now."""
    rows = [(*_guard(one), one.transition.claim_at, *put_back_values(one)) for one in back]
    if not rows:
        return set(), set()
    records = await tx.rows("put_back_runs", tx.now, *columns(rows))
    queues = {record["queue"] for record in records}
    return {record["id"] for record in records}, queues - {None}


async def _follow_up(tx: Tx, mine: Sequence[Settlement]) -> set[str]:
    """Inserts what the ended runs asked for, after they have let go of their unique keys; names the queues."""
    runs = [run for settlement in mine for run in settlement.transition.follow_ups]
    if runs:
        await insert(tx, runs, patience_ms=_PATIENCE_MS)
    return {run.queue for run in runs}


def _keys(settlement: Settlement) -> set[tuple[str, str]]:
    """What no other live run may have, of its follow-ups."""
    runs = settlement.transition.follow_ups
    return {(run.task, run.unique_key) for run in runs if run.unique_key is not None}


async def _keep_evidence(tx: Tx, mine: Sequence[Settlement]) -> None:
    """Keeps answers as long as their runs; that of a run which goes on, as long as if the run had ended now."""
    rows = [
        (one.id, one.attempt, kept.body, kept.content_type, encode(kept.headers), kept.truncated, _last_day(tx, one))
        for one in mine
        if (kept := one.transition.evidence) is not None
    ]
    if rows:
        await tx.change("keep_responses", *columns(rows))


def _last_day(tx: Tx, settlement: Settlement) -> int:
    change = settlement.transition
    if change.finished_at is not None and not goes_on(settlement):
        return tx.retention.expires_on(change.state, change.finished_at)
    return max(tx.retention.expires_on(state, tx.now) for state in (RunState.SUCCEEDED, RunState.DEAD))


def _refused(tx: Tx, settlement: Settlement, error: Exception) -> Settled:
    if not known_form([settlement.id]):
        return Settled(gone=(settlement.id,), now=tx.now)
    return Settled(refused=((settlement.id, translate(error).message),), now=tx.now)
