"""Waiting for a run to end, with a line for each attempt as it ends."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import click

from puntual.cli.failure import FAILED
from puntual.cli.rows import error_text, took, why
from puntual.cli.session import Session
from puntual.cli.words import clean, when

if TYPE_CHECKING:
    from puntual.operations.contract import Operations

_ENDED: Final = frozenset({"succeeded", "dead", "cancelled"})
_FIRST_LOOK: Final = 0.05
_LAST_LOOK: Final = 1.0


def watch_to_end(session: Session, run_id: str) -> int | None:
    """Waits until the run has ended and says how; the exit code is 1 unless it succeeded."""
    run = session.work(lambda operations: _watch(session, operations, run_id))
    reason = why(run)
    ending = f": {clean(reason)}" if reason else ""
    colour = "green" if run["state"] == "succeeded" else "red"
    session.give(run, lambda _console: click.secho(f"{run['state']}{ending}", fg=colour))
    return None if run["state"] == "succeeded" else FAILED


async def _watch(session: Session, operations: Operations, run_id: str) -> dict[str, Any]:
    seen: set[object] = set()
    told = None
    look = _FIRST_LOOK
    while True:
        run = await operations.get_run(run_id)
        for attempt in run.get("attempts") or []:
            if attempt["number"] not in seen:
                seen.add(attempt["number"])
                session.note(_attempt(attempt))
        if run["state"] in _ENDED:
            return run
        standing = (run["state"], run["attempt"])
        if standing != told:
            told = standing
            look = _FIRST_LOOK
            session.note(_standing(session, run))
        await asyncio.sleep(look)
        look = min(look * 1.5, _LAST_LOOK)


def _attempt(attempt: dict[str, Any]) -> str:
    error = clean(error_text(attempt), 300)
    words = f"attempt {attempt['number']}: {attempt['outcome']} after {took(attempt)}"
    return f"{words}: {error}" if error else words


def _standing(session: Session, run: dict[str, Any]) -> str:
    if run["state"] == "running":
        return f"attempt {run['attempt']} is running on {clean(run.get('worker') or 'a worker', 80)}"
    # The reply is newer than the session's clock by as long as we have waited: the exact time is what stays true.
    due = run.get("next_try_at") or run["due_at"]
    return f"pending, due {due} ({when(due, session.now)} when you asked)"
