"""Who works and where: workers with their leases, and queues with their limits."""

from __future__ import annotations

from typing import Final

import msgspec


class Worker(msgspec.Struct, frozen=True, kw_only=True):
    """A process that claims and executes; ``id`` is random per start."""

    id: str
    host: str
    pid: int
    roles: tuple[str, ...]
    queues: tuple[str, ...] | None
    tasks: tuple[str, ...]
    concurrency: int
    started_at: int
    seen_at: int
    lease_until: int
    draining: bool = False
    held: int = 0
    version: str = ""


#: No queue is counted further; a count that reaches this says that there are so many or more.
COUNTED_TO: Final = 10_000


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    """A named lane of runs; a queue that nobody configured exists as soon as a run names it.

    ``concurrency`` None means no limit. Counts are of live runs and of dead ones not discarded, none beyond
    ``COUNTED_TO``, so they cost the same however long the history and the backlog are.
    """

    name: str
    paused: bool = False
    pause_reason: str | None = None
    concurrency: int | None = None
    pending: int = 0
    due: int = 0
    running: int = 0
    dead: int = 0
    oldest_due_at: int | None = None


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """An API token as it is kept: not its text, but its SHA-256 and a prefix. Scopes: read, operate, admin."""

    id: str
    name: str
    prefix: str
    digest: str
    scope: str
    created_at: int
    expires_at: int | None = None
