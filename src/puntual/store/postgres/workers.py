"""Workers: a lease ends when rescue ends it here, and what its holder had goes on in the same transaction."""

from __future__ import annotations

import msgspec

from puntual.model.fleet import Worker
from puntual.store.postgres.bury import bury
from puntual.store.postgres.settle import settle_carefully
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import Beat, BeatReply, DecideLost, Lost, Rescued, Settled
from puntual.store.rows.codec import decode, decode_texts, encode
from puntual.store.rows.readable import Unreadable, readable, readable_runs

_workers = msgspec.json.Decoder(list[Worker])
_reply = msgspec.json.Decoder(BeatReply)


async def register(tx: Tx, worker: Worker, lease_us: int) -> int:
    """Writes the lease row of a worker."""
    await tx.change(
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
        worker.held,
    )
    return tx.now + lease_us


async def end(tx: Tx, worker_id: str) -> None:
    """Ends a worker's own lease."""
    await tx.change("end_worker", worker_id, tx.now)


async def drain(tx: Tx, worker_id: str) -> bool:
    """Marks a worker as draining."""
    return await tx.change("drain_worker", worker_id) > 0


async def list_live(tx: Tx) -> list[Worker]:
    """Workers whose lease is not over."""
    return readable(_workers, Worker, await tx.text("list_workers"))


async def beat(tx: Tx, beat: Beat) -> BeatReply:
    """Renews a lease that is not over, and tells what its worker must know; in one statement."""
    answer = await tx.text("beat", beat.worker, beat.lease_us, beat.held, beat.compare, tx.given)
    return decode(_reply, answer)


async def rescue(tx: Tx, decide: DecideLost, limit: int, ends_until: int | None) -> Rescued:
    """Ends overdue leases, then settles what nobody alive holds any more."""
    ended: tuple[str, ...] = ()
    if ends_until is not None and tx.now <= ends_until:
        await tx.change("rescue_clamp", tx.given)
        ended = decode_texts(await tx.text("rescue_end", tx.now))
    rows = await tx.rows("rescue_lost", tx.now, limit)
    ends: dict[str, int] = {row["id"]: row["ended"] for row in rows}
    runs, unreadable = readable_runs(f"[{','.join(row['run'] for row in rows)}]")
    lost = [Lost(run=run, lease_ended_at=ends[run.id]) for run in runs]
    settled = await settle_carefully(tx, list(decide(lost, tx.now))) if lost else Settled()
    # What cannot be read, or written, would be found again in every round.
    dead = await bury(tx, [*unreadable, *(Unreadable(id, why) for id, why in settled.refused)])
    return Rescued(
        workers=ended,
        runs=len(settled.written) + dead,
        queues=settled.queues,
        now=tx.now,
        full=len(ends) == limit,
    )


async def hold_upkeep(tx: Tx, holder: str, lease_us: int, patience_us: int) -> bool:
    """Takes or renews the upkeep lease."""
    return bool(await tx.value("hold_upkeep", holder, lease_us, tx.given, patience_us))


async def resign_upkeep(tx: Tx, holder: str) -> None:
    """Gives the upkeep lease back."""
    await tx.change("resign_upkeep", holder)
