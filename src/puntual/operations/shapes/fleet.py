"""Queues, workers, tokens and the pause of everything as replies show them."""

from __future__ import annotations

from typing import TypedDict

from puntual.model.fleet import Queue, Token, Worker
from puntual.model.instant import format_instant
from puntual.model.schedule import Pause
from puntual.operations.shapes.units import time


class QueueShape(TypedDict):
    """A queue with the counts of its live and dead runs, none beyond 10,000. ``concurrency`` null means no limit."""

    name: str
    paused: bool
    pause_reason: str | None
    concurrency: int | None
    pending: int
    due: int
    running: int
    dead: int
    oldest_due_at: str | None


class WorkerShape(TypedDict):
    """A worker whose lease nobody has ended. ``queues`` null means all; ``held`` is how many runs it holds.

    ``overdue``: its lease has run out, so that it is dead, or cut off from the database.
    """

    id: str
    host: str
    pid: int
    roles: list[str]
    queues: list[str] | None
    tasks: list[str]
    concurrency: int
    held: int
    draining: bool
    overdue: bool
    started_at: str
    seen_at: str
    lease_until: str
    version: str


class TokenShape(TypedDict):
    """A token without its text; ``prefix`` is how it begins."""

    id: str
    name: str
    prefix: str
    scope: str
    created_at: str
    expires_at: str | None


class PauseShape(TypedDict):
    """The pause of everything."""

    paused: bool
    since: str | None
    until: str | None
    reason: str | None


def queue_shape(queue: Queue) -> QueueShape:
    """The queue with its counts."""
    return {
        "name": queue.name,
        "paused": queue.paused,
        "pause_reason": queue.pause_reason,
        "concurrency": queue.concurrency,
        "pending": queue.pending,
        "due": queue.due,
        "running": queue.running,
        "dead": queue.dead,
        "oldest_due_at": time(queue.oldest_due_at),
    }


def worker_shape(worker: Worker, now: int) -> WorkerShape:
    """The worker as its last heartbeat left it."""
    return {
        "id": worker.id,
        "host": worker.host,
        "pid": worker.pid,
        "roles": list(worker.roles),
        "queues": None if worker.queues is None else list(worker.queues),
        "tasks": list(worker.tasks),
        "concurrency": worker.concurrency,
        "held": worker.held,
        "draining": worker.draining,
        "overdue": worker.lease_until <= now,
        "started_at": format_instant(worker.started_at),
        "seen_at": format_instant(worker.seen_at),
        "lease_until": format_instant(worker.lease_until),
        "version": worker.version,
    }


def token_shape(token: Token) -> TokenShape:
    """The token, without what would let anybody in."""
    return {
        "id": token.id,
        "name": token.name,
        "prefix": token.prefix,
        "scope": token.scope,
        "created_at": format_instant(token.created_at),
        "expires_at": time(token.expires_at),
    }


def pause_shape(pause: Pause | None, now: int) -> PauseShape:
    """The pause of everything, if it holds."""
    if pause is None or not pause.active(now):
        return {"paused": False, "since": None, "until": None, "reason": None}
    return {"paused": True, "since": format_instant(pause.since), "until": time(pause.until), "reason": pause.reason}
