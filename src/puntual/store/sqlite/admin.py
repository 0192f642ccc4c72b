"""Looking after the database: queues, tokens, the glance at everything, copies and what ``doctor`` asks."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from puntual.model.fleet import COUNTED_TO, Queue, Token
from puntual.model.schedule import Pause
from puntual.store.requests import QueueEdit, Snapshot, WaitingTask
from puntual.store.rows.codec import SqlValue, decode
from puntual.store.rows.readable import readable
from puntual.store.sqlite import workers
from puntual.store.sqlite.connection import APPLICATION_ID
from puntual.store.sqlite.transaction import Tx

_WHOLE = "The file is whole."
_DAMAGED = "The file is damaged ({}): stop, and restore it from a backup."
_glance = msgspec.json.Decoder(tuple[tuple[Queue, ...], Pause | None, int | None, int, tuple[WaitingTask, ...]])
_tokens = msgspec.json.Decoder(list[Token])
#: Before this a checkpoint may, rarely, be skipped over when two connections do it at once; ours never do.
_RESET_SAFE = (3, 51, 3)


def snapshot(tx: Tx) -> Snapshot:
    """Queues, workers and leases as they are now."""
    queues, paused, upkeep_until, schema, waiting = decode(_glance, tx.text("snapshot", tx.now, COUNTED_TO))
    return Snapshot(
        now=tx.now,
        queues=queues,
        workers=tuple(workers.list_live(tx)),
        paused=paused,
        upkeep_until=upkeep_until,
        schema=schema,
        waiting=waiting,
    )


def ping(tx: Tx) -> None:
    """Reads one row."""
    tx.value("schema_version")


def put_queues(tx: Tx, edits: Sequence[QueueEdit]) -> None:
    """Writes what is given of the settings of queues, and nothing else of them."""
    if edits:
        tx.change_rows("put_queues", [_queue_row(edit) for edit in edits])


def _queue_row(edit: QueueEdit) -> tuple[SqlValue, ...]:
    paused = None if edit.paused is msgspec.UNSET else int(edit.paused)
    limit = None if edit.concurrency is msgspec.UNSET else edit.concurrency
    return (edit.name, paused, edit.pause_reason, limit, int(edit.concurrency is not msgspec.UNSET))


def put_token(tx: Tx, token: Token) -> None:
    """Keeps a token."""
    tx.change(
        "put_token",
        token.id,
        token.name,
        token.prefix,
        token.digest,
        token.scope,
        token.created_at,
        token.expires_at,
    )


def list_tokens(tx: Tx) -> list[Token]:
    """All tokens."""
    return readable(_tokens, Token, tx.text("list_tokens"))


def revoke_token(tx: Tx, token_id: str) -> bool:
    """Forgets a token."""
    return tx.change("revoke_token", token_id) > 0


def check(tx: Tx) -> list[tuple[str, bool, str]]:
    """What is good and what is not."""
    version = sqlite3.sqlite_version
    safe = sqlite3.sqlite_version_info >= _RESET_SAFE
    note = "" if safe else "; before 3.51.3 checkpoints must not coincide, so puntual does one at a time"
    found = tx.pragma("quick_check(1)")
    journal = tx.pragma("journal_mode")
    schema = tx.value("schema_version")
    return [
        ("sqlite", True, f"SQLite {version}{note}."),
        ("integrity", found == "ok", _WHOLE if found == "ok" else _DAMAGED.format(" ".join(found.split()))),
        ("journal", journal in {"wal", "memory"}, f"The journal mode is {journal}."),
        ("schema", tx.pragma("application_id") == str(APPLICATION_ID), f"The schema is version {schema!s}."),
    ]
