"""Looking after the database: queues, tokens, the glance at everything, and what ``doctor`` asks."""

from __future__ import annotations

from collections.abc import Sequence

from puntual.model.fleet import Token
from puntual.store.postgres.transaction import Tx
from puntual.store.requests import QueueEdit, Snapshot


async def snapshot(tx: Tx) -> Snapshot:
    """Queues, workers and leases as they are now."""
    raise NotImplementedError


async def ping(tx: Tx) -> None:
    """Reads one row."""
    raise NotImplementedError


async def now(tx: Tx) -> int:
    """The time of the database."""
    return tx.now


async def put_queues(tx: Tx, edits: Sequence[QueueEdit]) -> None:
    """Writes what is given of the settings of queues, and nothing else of them."""
    raise NotImplementedError


async def put_token(tx: Tx, token: Token) -> None:
    """Keeps a token."""
    raise NotImplementedError


async def list_tokens(tx: Tx) -> list[Token]:
    """All tokens."""
    raise NotImplementedError


async def revoke_token(tx: Tx, token_id: str) -> bool:
    """Forgets a token."""
    raise NotImplementedError


async def check(tx: Tx) -> list[tuple[str, bool, str]]:
    """What is good and what is not."""
    raise NotImplementedError
