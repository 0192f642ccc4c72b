"""Transactions on one connection: writes that arrived together share one commit, and each stands or falls alone."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

from puntual.model.clock import Clock
from puntual.model.errors import StoreUnavailableError, StoreUnusableError
from puntual.store.requests import Retention
from puntual.store.sqlite.checkpoint import Checkpointer
from puntual.store.sqlite.connection import PATIENCE, connect, patiently
from puntual.store.sqlite.errors import CAUGHT, translate
from puntual.store.sqlite.same import SameFile
from puntual.store.sqlite.transaction import TransactionLostError, Tx

R = TypeVar("R")
A = TypeVar("A")
Work = Callable[[Tx], R]
#: Does several calls at once: it is given their arguments and gives back their answers, in the same order.
JointWork = Callable[[Tx, Sequence[A]], Sequence[R]]

#: A group is cut once it has held the lock for this long, seconds, so that other processes get their turn.
_GROUP = 0.02
#: Calls are put together up to this size: 2,000 runs take about 20 ms to insert.
_JOINT = 2_000


class Job(Generic[R]):
    """One operation in line, and what came of it."""

    __slots__ = ("error", "future", "now", "result", "work")

    def __init__(self, work: Work[R], now: int | None) -> None:
        self.work = work
        self.now = now
        self.future: asyncio.Future[R] | None = None
        self.result: R | None = None
        self.error: Exception | None = None

    def answer(self) -> R:
        """The result, or raises the error."""
        if self.error is not None:
            raise self.error
        return self.result  # type: ignore[return-value]  # set by whoever did the work; R may itself be None

    def resolve(self) -> None:
        """Hands the answer to whoever still waits for it; on the thread of its loop."""
        if self.future is None or self.future.done():
            return
        if isinstance(self.error, StopIteration):
            # No future holds it: to whoever waits it would say that the future has a result.
            self.future.set_exception(RuntimeError(f"An operation of the store raised {self.error!r}."))
        elif self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)  # type: ignore[arg-type]  # as in answer

    def give_up(self) -> None:
        """For an answer that could not be handed over: whoever waits for it is told that much."""
        if self.future is not None and not self.future.done():
            self.future.set_exception(RuntimeError("The store's answer could not be handed over."))


class JointJob(Job[R], Generic[A, R]):
    """A job that can be done in one statement with others of its kind; ``size`` says how much of it."""

    __slots__ = ("item", "joint", "size")

    def __init__(self, joint: JointWork[A, R], item: A, size: int, now: int | None) -> None:
        super().__init__(lambda tx: joint(tx, [item])[0], now)
        self.joint = joint
        self.item = item
        self.size = size


#: Jobs in line have answers of all kinds; each goes to the future of its own.
AnyJob = Job[Any]


class Surroundings:
    """What every transaction of a store is given."""

    def __init__(self, path: str, clock: Clock, retention: Retention, random: Callable[[], float]) -> None:
        self.path = path
        self.clock = clock
        self.retention = retention
        self.random = random
        self.file = SameFile(path)

    def connect(self, *, cache_kb: int, query_only: bool = False) -> sqlite3.Connection:
        """One more connection to the file that is open, and never to another that has come in its place.

        Raises:
            StoreUnusableError: it has.
            sqlite3.Error: it cannot be opened.
        """
        self.file.check_now()
        return connect(self.path, cache_kb=cache_kb, query_only=query_only, create=False)


class Session:
    """One connection, and the way in which transactions are made on it."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        around: Surroundings,
        checkpointer: Checkpointer | None = None,
        *,
        patience: float = PATIENCE,
    ) -> None:
        self.connection = connection
        self._around = around
        self._checkpointer = checkpointer
        self._patience = patience

    def write(self, jobs: Sequence[AnyJob]) -> int:
        """Does jobs in one transaction and says how many; what is left was not begun.

        Every job done has its result or its error when this returns, and none has a result unless it is committed.
        """
        done = 0
        try:
            self._roll_back()  # Nothing is open here, unless an error of the disk kept it so.
            self._around.file.check()
            self._patiently(lambda: self.connection.execute("BEGIN IMMEDIATE"))
            started = time.monotonic()
            while done < len(jobs) and (done == 0 or time.monotonic() - started < _GROUP):
                part = _alike(jobs, done)
                done += len(part)
                if len(jobs) == 1:
                    _run(part, self._tx(part))
                else:
                    self._attempt(part)
            self.connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - whoever waits for a job must be answered, whatever happened
            self._give_up()
            done = done or len(jobs)
            self._fail(jobs[:done], error)
        except BaseException:
            self._give_up()
            raise
        return done

    def read(self, jobs: Sequence[AnyJob]) -> int:
        """Does one job on a snapshot, which is let go at once so that the log can be moved."""
        job = jobs[0]
        try:
            self._patiently(lambda: self._read(job))
        except Exception as error:  # noqa: BLE001 - as in write
            self._fail([job], error)
        return 1

    def tidy(self) -> None:
        """Moves the log if commits have made it large; for after their answers, which need not wait for it."""
        if self._checkpointer is not None:
            self._checkpointer.committed(self.connection)

    def close(self) -> None:
        """Closes the connection, the writer's with an empty log if nobody else is there."""
        try:
            if self._checkpointer is not None:
                self._checkpointer.run(self.connection, "TRUNCATE")
        finally:
            self._disconnect()

    def _disconnect(self) -> None:
        try:
            self.connection.close()
        except sqlite3.Error as error:
            raise translate(error, self._around.path) from error

    def _patiently(self, step: Callable[[], object]) -> None:
        patiently(step, self._around.random, patience=self._patience)

    def _read(self, job: AnyJob) -> None:
        self._roll_back()  # As in write.
        self._around.file.check()
        self.connection.execute("BEGIN")
        try:
            job.result = job.work(self._tx([job]))
        finally:
            self._roll_back()

    def _attempt(self, part: Sequence[AnyJob]) -> None:
        """Does a part of a group, or each of it by itself where it fails; a failure undoes nothing else."""
        tx = self._tx(part)
        try:
            with tx.part():
                _run(part, tx)
        except TransactionLostError:
            raise  # The whole group is undone, or has to be: nobody in it gets anything.
        except Exception as error:  # noqa: BLE001 - as in write
            if len(part) == 1:
                self._fail(part, error)
                return
            for job in part:
                self._attempt([job])

    def _tx(self, part: Sequence[AnyJob]) -> Tx:
        return Tx(self.connection, self._around.clock, self._around.retention, part[0].now)

    def _roll_back(self) -> None:
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def _give_up(self) -> None:
        """Undoes a transaction that failed; where even that fails, the next one tries again before it begins."""
        with suppress(sqlite3.Error):
            self._roll_back()

    def _fail(self, jobs: Sequence[AnyJob], error: Exception) -> None:
        """Tells each that nothing of it was done, by an error of its own: whoever raises one writes into it."""
        if isinstance(error, TransactionLostError) and isinstance(error.__cause__, Exception):
            error = error.__cause__
        for job in jobs:
            if isinstance(error, CAUGHT):
                job.error = translate(error, self._around.path)
            elif len(jobs) == 1:
                job.error = error
            elif isinstance(error, StoreUnusableError):
                job.error = StoreUnusableError(error.message)
            else:
                job.error = StoreUnavailableError(
                    f"Nothing was done, as another operation failed ({error!r}): try again."
                )


def _alike(jobs: Sequence[AnyJob], start: int) -> Sequence[AnyJob]:
    """The jobs from here on that can be done in one statement, up to a bound that keeps the lock short."""
    first = jobs[start]
    if not isinstance(first, JointJob):
        return jobs[start : start + 1]
    end, size = start + 1, first.size
    for other in jobs[end:]:
        if not (isinstance(other, JointJob) and other.joint is first.joint and other.now == first.now):
            break
        size += other.size
        if size > _JOINT:
            break
        end += 1
    return jobs[start:end]


def _run(part: Sequence[AnyJob], tx: Tx) -> None:
    first = part[0]
    if isinstance(first, JointJob) and len(part) > 1:
        results = first.joint(tx, [job.item for job in part if isinstance(job, JointJob)])
        for job, result in zip(part, results, strict=True):
            job.result = result
    else:
        first.result = first.work(tx)
