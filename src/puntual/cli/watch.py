"""Waiting for a run to end, with a line for each attempt as it ends, and one that says why nothing happens."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import click

from puntual.cli.failure import FAILED
from puntual.cli.rows import error_text, took, why
from puntual.cli.session import Session
from puntual.cli.waiting import why_not_started
from puntual.cli.words import clean, spell, when
from puntual.model.errors import PuntualError

if TYPE_CHECKING:
    from puntual.operations.contract import Operations

_ENDED: Final = frozenset({"succeeded", "dead", "cancelled"})
_FIRST_LOOK: Final = 0.05
_LAST_LOOK: Final = 1.0
#: After so long without a change, and then every so often, it is asked why. Seconds.
_SILENCE: Final = 1.0
_ASK_AGAIN: Final = 5.0


def watch_to_end(session: Session, run_id: str, timeout: int | None) -> int | None:
    """Waits until the run has ended and says how; the exit code is 1 unless it succeeded.

    Args:
        session: where it is said.
        run_id: the run.
        timeout: how long at most, microseconds; None means for ever.

    Raises:
        PuntualError: it had not ended by then.
    """
    watching = _Watching(session, run_id)
    run = session.work(lambda operations: watching.within(operations, timeout))
    reason = why(run)
    ending = f": {clean(reason)}" if reason else ""
    colour = "green" if run["state"] == "succeeded" else "red"
    session.give(run, lambda _console: click.secho(f"{run['state']}{ending}", fg=colour))
    return None if run["state"] == "succeeded" else FAILED


class _Watching:
    """What has been seen and told of a run."""

    def __init__(self, session: Session, run_id: str) -> None:
        self._session = session
        self._run_id = run_id
        self._attempts: set[object] = set()
        self._state = "unknown"
        self._reason = ""

    async def within(self, operations: Operations, timeout_us: int | None) -> dict[str, Any]:
        try:
            async with asyncio.timeout(None if timeout_us is None else timeout_us / 1_000_000) as patience:
                return await self._to_end(operations)
        except TimeoutError:
            if timeout_us is None or not patience.expired():
                raise
        reason = f": {self._reason}" if self._reason else ""
        raise PuntualError(
            f"Run {self._run_id} had not ended after {spell(timeout_us)}, it is {self._state}{reason}.",
            hint=f"It goes on: puntual run watch {self._run_id}.",
        )

    async def _to_end(self, operations: Operations) -> dict[str, Any]:
        told = None
        look, quiet_until = _FIRST_LOOK, 0.0
        clock = asyncio.get_running_loop().time
        while True:
            run = await operations.get_run(self._run_id)
            self._state = run["state"]
            self._tell_attempts(run)
            if run["state"] in _ENDED:
                return run
            standing = (run["state"], run["attempt"])
            if standing != told:
                told, self._reason = standing, ""
                look, quiet_until = _FIRST_LOOK, clock() + _SILENCE
                self._session.note(_standing(self._session, run))
            elif run["state"] == "pending" and clock() >= quiet_until:
                await self._tell_why(operations, run)
                quiet_until = clock() + _ASK_AGAIN
            await asyncio.sleep(look)
            look = min(look * 1.5, _LAST_LOOK)

    def _tell_attempts(self, run: dict[str, Any]) -> None:
        for attempt in run.get("attempts") or []:
            if attempt["number"] not in self._attempts:
                self._attempts.add(attempt["number"])
                self._session.note(_attempt(attempt))

    async def _tell_why(self, operations: Operations, run: dict[str, Any]) -> None:
        """With ``--json`` too: whoever waits at a terminal sees it, and standard output stays one document."""
        reason = await why_not_started(operations, run)
        # The time that is left changes at each look, and is no news.
        if reason != self._reason and not (self._reason.startswith("it is due") and reason.startswith("it is due")):
            click.echo(f"waiting: {reason}", err=True)
        self._reason = reason


def _attempt(attempt: dict[str, Any]) -> str:
    error = clean(error_text(attempt))
    words = f"attempt {attempt['number']}: {attempt['outcome']} after {took(attempt)}"
    return f"{words}: {error}" if error else words


def _standing(session: Session, run: dict[str, Any]) -> str:
    if run["state"] == "running":
        return f"attempt {run['attempt']} is running on {clean(run.get('worker') or 'a worker', 80)}"
    # The reply is newer than the session's clock by as long as we have waited: the exact time is what stays true.
    due = run.get("next_try_at") or run["due_at"]
    return f"pending, due {due} ({when(due, session.now)} when you asked)"
