"""Looking after the database: queues, tokens, the glance at everything, and what ``doctor`` asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from puntual.engine.clock import SystemClock
from puntual.engine.offset import offset
from puntual.model.fleet import COUNTED_TO, Queue, Token
from puntual.model.schedule import Pause
from puntual.store.postgres import workers
from puntual.store.postgres.place import OLDEST
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import QueueEdit, Snapshot, WaitingTask
from puntual.store.rows.codec import decode
from puntual.store.rows.readable import readable

if TYPE_CHECKING:
    from asyncpg import Record

#: A transaction that is older, seconds, keeps dead rows from being cleared away, and a floor where it is.
_OLD_S = 300
#: More bytes of WAL than this kept for a reader that is gone fill a disk sooner or later.
_HELD_WAL = 1 << 30
#: Of the server's connections, per cent, that may be in use.
_CROWDED = 80
#: Of each lane so many due runs are always looked at, so that what nobody takes is seen at its head.
_HEADS = 20
#: The rest of a lane is counted so far: a queue's runs lie evenly in 32 lanes, so these make twice `COUNTED_TO`.
_LANE = COUNTED_TO // 16
_glance = msgspec.json.Decoder(tuple[tuple[Queue, ...], Pause | None, int | None, int, tuple[WaitingTask, ...]])
_tokens = msgspec.json.Decoder(list[Token])


async def snapshot(tx: Tx) -> Snapshot:
    """Queues, workers and leases as they are now."""
    text = await tx.text("snapshot", tx.now, COUNTED_TO, _HEADS, _LANE)
    queues, paused, upkeep_until, schema, waiting = decode(_glance, text)
    return Snapshot(
        now=tx.now,
        queues=queues,
        workers=tuple(await workers.list_live(tx)),
        paused=paused,
        upkeep_until=upkeep_until,
        schema=schema,
        waiting=waiting,
    )


async def ping(tx: Tx) -> None:
    """Reads one row."""
    await tx.value("schema_version")


async def now(tx: Tx) -> int:
    """The time of the database."""
    return tx.now


async def put_queues(tx: Tx, edits: Sequence[QueueEdit]) -> None:
    """Writes what is given of the settings of queues, and nothing else of them; in the order of their names."""
    for edit in sorted(edits, key=lambda edit: edit.name):
        paused = None if edit.paused is msgspec.UNSET else edit.paused
        given = edit.concurrency is not msgspec.UNSET
        await tx.change("put_queue", edit.name, paused, edit.pause_reason, edit.concurrency if given else None, given)


async def put_token(tx: Tx, token: Token) -> None:
    """Keeps a token."""
    await tx.change(
        "put_token",
        token.id,
        token.name,
        token.prefix,
        token.digest,
        token.scope,
        token.created_at,
        token.expires_at,
    )


async def list_tokens(tx: Tx) -> list[Token]:
    """All tokens."""
    return readable(_tokens, Token, await tx.text("list_tokens"))


async def revoke_token(tx: Tx, token_id: str) -> bool:
    """Forgets a token."""
    return await tx.change("revoke_token", token_id) > 0


async def check(tx: Tx) -> list[tuple[str, bool, str]]:
    """What is good and what is not."""
    clock = SystemClock()
    asked_at = clock.steady()
    off = offset(await tx.value("now"), sent_at=asked_at, clock=clock)
    found = await tx.row("check")
    assert found is not None
    return [
        *_server(found),
        *_load(found),
        ("schema", found["schema"] is not None, f"The schema is version {found['schema']}."),
        ("clock", off.good, f"The database's clock shows {off.us / 1e6:+.3f} s more than this machine's."),
    ]


def _server(found: Record) -> list[tuple[str, bool, str]]:
    durable = "Commits are on disk before they are answered."
    if not found["safe"]:
        durable = "fsync or full_page_writes is off: a crash of its machine may damage the database."
    elif found["commits"] == "off":
        durable = "synchronous_commit is off: a crash of the server may lose runs that were accepted."
    return [
        ("postgresql", found["major"] >= OLDEST, f"PostgreSQL {found['version']}; puntual needs {OLDEST} or newer."),
        (
            "primary",
            not found["standby"],
            "It is a standby: nothing can be written." if found["standby"] else "It can be written to.",
        ),
        ("durability", found["safe"] and found["commits"] != "off", durable),
        (
            "autovacuum",
            found["vacuumed"],
            "Autovacuum is on." if found["vacuumed"] else "Autovacuum is off: runs that ended are never cleared away.",
        ),
        (
            "line",
            True,
            "A pooler lies between: settings are the server's own."
            if found["bare"]
            else "The server has our settings.",
        ),
    ]


def _load(found: Record) -> list[tuple[str, bool, str]]:
    seconds, held = found["oldest_seconds"] or 0, found["held_wal"]
    kind = "writer: claims look back to its start" if found["oldest_writes"] else "reader: it keeps dead rows in place"
    oldest = f"The oldest transaction is {seconds} s old."
    if seconds > _OLD_S:
        oldest = f"A transaction of {found['oldest_who']} is {seconds} s old ({kind}): end it."
    wal = "No replication slot without a reader keeps WAL."
    if held > _HELD_WAL:
        wal = f"A replication slot without a reader keeps {held >> 20} MiB of WAL: drop it, or start its reader."
    return [
        (
            "connections",
            found["connected"] * 100 <= found["most"] * _CROWDED,
            f"{found['connected']} of {found['most']} connections are in use.",
        ),
        ("transactions", seconds <= _OLD_S, oldest),
        ("wal", held <= _HELD_WAL, wal),
        ("size", True, f"The database is {found['bytes'] >> 20} MiB large."),
    ]
