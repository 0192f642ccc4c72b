"""Workers: a lease ends when rescue ends it here, and what its holder had goes on in the same transaction."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from puntual.model.fleet import Worker
from puntual.model.run import Run
from puntual.store.requests import Beat, BeatReply, DecideLost, Lost, Rescued, Settled
from puntual.store.rows.codec import decode, decode_texts, encode
from puntual.store.rows.readable import Unreadable, readable, readable_runs
from puntual.store.sqlite.bury import bury
from puntual.store.sqlite.settle import settle_carefully
from puntual.store.sqlite.transaction import Tx

_workers = msgspec.json.Decoder(list[Worker])
_lost = msgspec.json.Decoder(tuple[tuple[str, int], ...])
_held = msgspec.json.Decoder(tuple[bool, tuple[str, ...], int], strict=False)
_claims = msgspec.json.Decoder(tuple[tuple[str, int], ...])


def register(tx: Tx, worker: Worker, lease_us: int) -> int:
    """Writes the lease row of a worker."""
    tx.change(
        "register_worker",
        worker.id,
        worker.host,
        worker.pid,
        encode(worker.roles),
        None if worker.queues is None else encode(worker.queues),
        encode(worker.tasks),
        worker.concurrency,
        worker.version,
        worker.started_at,
        tx.now,
        lease_us,
        tx.now + lease_us,
        worker.held,
    )
    return tx.now + lease_us


def end(tx: Tx, worker_id: str) -> None:
    """Ends a worker's own lease."""
    tx.change("end_worker", worker_id, tx.now)


def drain(tx: Tx, worker_id: str) -> bool:
    """Marks a worker as draining."""
    return tx.change("drain_worker", worker_id) > 0


def list_live(tx: Tx) -> list[Worker]:
    """Workers whose lease is not over."""
    return readable(_workers, Worker, tx.text("list_workers"))


def beat(tx: Tx, beat: Beat) -> BeatReply:
    """Renews a lease that is not over, and tells what its worker must know."""
    if tx.change("beat", beat.worker, tx.now, beat.lease_us, beat.held) == 0:
        return BeatReply(alive=False, now=tx.now)
    draining, cancels, held = decode(_held, tx.text("beat_read", beat.worker))
    claims = None
    if beat.compare or held != beat.held:
        claims = decode(_claims, tx.text("beat_claims", beat.worker))
    return BeatReply(
        alive=True,
        now=tx.now,
        lease_until=tx.now + beat.lease_us,
        draining=draining,
        cancels=cancels,
        claims=claims,
    )


def rescue(tx: Tx, decide: DecideLost, limit: int, ends_until: int | None) -> Rescued:
    """Ends overdue leases, then settles what nobody alive holds any more."""
    ended: tuple[str, ...] = ()
    if ends_until is not None and tx.now <= ends_until:
        tx.change("rescue_clamp", tx.now)
        ended = decode_texts(tx.text("rescue_overdue", tx.now))
        if ended:
            tx.change("rescue_end", encode(ended), tx.now)
    ends, runs, unreadable = _lost_runs(tx, limit)
    lost = [Lost(run=run, lease_ended_at=ends[run.id]) for run in runs]
    settled = settle_carefully(tx, list(decide(lost, tx.now))) if lost else Settled()
    # What cannot be read, or written, would be found again in every round.
    dead = bury(tx, [*unreadable, *(Unreadable(id, why) for id, why in settled.refused)])
    return Rescued(
        workers=ended,
        runs=len(settled.written) + dead,
        queues=settled.queues,
        now=tx.now,
        full=len(ends) == limit,
    )


def _lost_runs(tx: Tx, limit: int) -> tuple[dict[str, int], Sequence[Run], Sequence[Unreadable]]:
    """The first runs whose worker has no live lease: when each lease ran out, and those that can and cannot be read."""
    lost = decode(_lost, tx.text("rescue_lost", tx.now, limit))
    ends = dict(lost)
    if not ends:
        return {}, (), ()
    runs, unreadable = readable_runs(tx.text("rescue_read", encode(list(ends))))
    return ends, runs, unreadable


def hold_upkeep(tx: Tx, holder: str, lease_us: int, patience_us: int) -> bool:
    """Takes or renews the upkeep lease."""
    tx.change("hold_upkeep_clamp", tx.now)
    return tx.change("hold_upkeep", holder, lease_us, tx.now, patience_us) > 0


def resign_upkeep(tx: Tx, holder: str) -> None:
    """Gives the upkeep lease back."""
    tx.change("resign_upkeep", holder)
