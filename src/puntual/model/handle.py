"""What users hold of a run: ``Run``, which a handler is given, and ``RunHandle``, with which a caller waits for one."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from datetime import datetime
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

from puntual.model import ids, payload
from puntual.model.blocking import blocking
from puntual.model.call import Call
from puntual.model.errors import ConflictError, NotFoundError
from puntual.model.instant import to_datetime
from puntual.model.run import NewRun
from puntual.model.run import Run as RunRow

T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)


class Run:
    """One run as its handler sees it (exported as ``puntual.Run``); also what look-ups of the API answer with.

    It is a picture of the moment in which it was taken, save for `then`.
    """

    __slots__ = ("_follow_ups", "row")

    def __init__(self, row: RunRow, *, collect: bool = False) -> None:
        self.row: Final = row
        self._follow_ups: list[NewRun] | None = [] if collect else None

    @property
    def id(self) -> str:
        """The same for every attempt: what to give others as an idempotency key."""
        return self.row.id

    @property
    def task(self) -> str:
        """The name of what is done."""
        return self.row.task

    @property
    def args(self) -> dict[str, Any]:
        """The arguments by name, as plain JSON values; made anew each time."""
        args: dict[str, Any] = msgspec.json.decode(self.row.args)
        return args

    @property
    def queue(self) -> str:
        """The lane it runs in."""
        return self.row.queue

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags it carries."""
        return self.row.tags

    @property
    def attempt(self) -> int:
        """The number of this claim, from 1; it only grows."""
        return self.row.attempt

    @property
    def max_attempts(self) -> int:
        """How many charged attempts the run has in all."""
        return self.row.max_attempts

    @property
    def state(self) -> str:
        """Where it stood when this picture was taken: pending, running, succeeded, dead or cancelled."""
        return self.row.state.value

    @property
    def result(self) -> object:
        """What its handler returned, as plain JSON values; None until it has succeeded."""
        return None if self.row.result is None else payload.decode(self.row.result, field="result")

    @property
    def error(self) -> str | None:
        """Why its last attempt that failed did; None when none has."""
        last = next((attempt.error for attempt in reversed(self.row.attempts) if attempt.error is not None), None)
        return None if last is None else f"{last.type}: {last.message}"

    @property
    def finished_at(self) -> datetime | None:
        """When it ended, in UTC."""
        return None if self.row.finished_at is None else to_datetime(self.row.finished_at)

    @property
    def schedule(self) -> str | None:
        """The name of the schedule whose tick made it, if one did."""
        return self.row.schedule

    @property
    def tick_at(self) -> datetime | None:
        """The tick's own instant, in UTC, without spread and jitter."""
        return None if self.row.tick_at is None else to_datetime(self.row.tick_at)

    @property
    def due_at(self) -> datetime:
        """When it was to start, in UTC."""
        return to_datetime(self.row.due_at)

    @property
    def token(self) -> tuple[int, str]:
        """(attempt, worker): a later claim has a greater attempt, so that a receiver can refuse an older one."""
        return self.row.attempt, self.row.worker or ""

    def then(self, call: Call) -> str:
        """Adds a follow-up, inserted in the transaction that records this run's success, and only then.

        Returns:
            The id that the follow-up will have.

        Raises:
            ConflictError: this is not the handle that a handler was given.
        """
        if self._follow_ups is None:
            raise ConflictError(
                "Follow-ups are added inside a handler, on the run it was given: use enqueue elsewhere."
            )
        new = call.new_run(ids.follow_up_id(self.row.id, len(self._follow_ups)))
        self._follow_ups.append(new)
        return new.id

    @property
    def follow_ups(self) -> tuple[NewRun, ...]:
        """What `then` has collected."""
        return tuple(self._follow_ups or ())

    def __repr__(self) -> str:
        return f"<Run {self.row.id} of {self.row.task}, attempt {self.row.attempt}>"


class Waiter(Protocol):
    """Who can tell when a run ends."""

    def _block(self, work: Coroutine[Any, Any, T]) -> T: ...

    async def finished(self, run_id: str, *, timeout: str | None) -> RunRow:
        """The run once it has succeeded.

        Args:
            run_id: which one.
            timeout: a duration; None waits for as long as it takes.

        Raises:
            RunDeadError: it ended without success.
            WaitTimeoutError: it did not end in time.
        """
        ...


class RunHandle(Generic[R_co]):
    """A run that was asked for: its id, and its result once there is one."""

    __slots__ = ("_read", "_waiter", "id")

    def __init__(self, id: str, waiter: Waiter, read: Callable[[str | None], R_co]) -> None:
        self.id: Final = id
        self._waiter = waiter
        self._read = read

    async def result(self, *, timeout: str | None = None) -> R_co:
        """Waits for the run and gives back what its handler returned, read by its annotation.

        Args:
            timeout: how long to wait, as ``30s``; None waits for as long as it takes.

        Raises:
            RunDeadError: it ended without success.
            WaitTimeoutError: it did not end in time.
        """
        return self._read((await self._waiter.finished(self.id, timeout=timeout)).result)

    result_sync = blocking(result)

    def _block(self, work: Coroutine[Any, Any, T]) -> T:
        return self._waiter._block(work)  # noqa: SLF001 - what waits for us also waits in another thread

    def __repr__(self) -> str:
        return f"<RunHandle {self.id}>"


#: Set by the target around a handler, and read by direct calls of a task's function.
CURRENT: Final[ContextVar[Run | None]] = ContextVar("puntual_run", default=None)


def current_run() -> Run:
    """The run whose handler is executing here.

    Raises:
        NotFoundError: none is.
    """
    run = CURRENT.get()
    if run is None:
        raise NotFoundError("There is no current run: current_run() is for code that a handler calls.")
    return run
