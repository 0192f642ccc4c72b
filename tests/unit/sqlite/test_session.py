"""Operations that wait together share one commit, and each stands or falls alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress

import pytest

from puntual.engine.clock import SystemClock
from puntual.model.errors import StoreBusyError, StoreDataError, StoreFullError, StoreUnavailableError
from puntual.store.requests import Retention
from puntual.store.sqlite.connection import connect
from puntual.store.sqlite.session import _JOINT, AnyJob, Job, JointJob, Session, Surroundings
from puntual.store.sqlite.transaction import Tx


class Log(sqlite3.Connection):
    """Keeps the statements that frame transactions, and fails where a test says so."""

    said: list[str]
    failing: dict[str, sqlite3.Error]

    def execute(self, sql: str, *args: object) -> sqlite3.Cursor:
        """As sqlite3's own."""
        if sql.split(maxsplit=1)[0] in {"BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE"}:
            self.said.append(sql)
        if sql in self.failing:
            raise self.failing[sql]
        return super().execute(sql, *args)  # type: ignore[arg-type]  # handed through


@pytest.fixture
def log(path: str) -> Iterator[Log]:
    """A connection to a file with one table, ``kept``."""
    connection = sqlite3.connect(path, isolation_level=None, factory=Log)
    with closing(connection):
        connection.said, connection.failing = [], {}
        connection.execute("CREATE TABLE kept (x INTEGER NOT NULL CHECK (x < 100)) STRICT")
        yield connection


@pytest.fixture
def session(log: Log, path: str) -> Session:
    """Transactions on it."""
    return Session(log, Surroundings(path, SystemClock(), Retention(), lambda: 0.5), patience=0.01)


def _keep(*values: object) -> Job[int]:
    def work(tx: Tx) -> int:
        return sum(tx._connection.execute("INSERT INTO kept VALUES (?)", (value,)).rowcount for value in values)

    return Job(work, None)


def _together(value: int, size: int = 1) -> JointJob[int, int]:
    return JointJob(_keep_all, value, size, None)


def _keep_all(tx: Tx, values: Sequence[int]) -> list[int]:
    rows = ", ".join("(?)" for _ in values)
    tx._connection.execute(f"INSERT INTO kept VALUES {rows}", tuple(values))  # noqa: S608 - only question marks
    return [len(values)] * len(values)


def _kept(log: Log) -> list[int]:
    return [x for (x,) in log.execute("SELECT x FROM kept ORDER BY x").fetchall()]


def _disk_error() -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR
    return error


def _outcomes(jobs: Sequence[AnyJob]) -> list[object]:
    return [job.result if job.error is None else type(job.error) for job in jobs]


class TestGroups:
    """One commit for many."""

    def test_a_group_commits_once(self, session: Session, log: Log) -> None:
        """All of it is written by one BEGIN and one COMMIT."""
        jobs = [_keep(1), _keep(2, 3), _keep(4)]
        assert session.write(jobs) == 3
        assert _outcomes(jobs) == [1, 2, 1]
        assert (log.said.count("BEGIN IMMEDIATE"), log.said.count("COMMIT")) == (1, 1)
        assert _kept(log) == [1, 2, 3, 4]

    def test_a_single_operation_needs_no_savepoint(self, session: Session, log: Log) -> None:
        """Its transaction is its savepoint."""
        session.write([_keep(1)])
        assert log.said == ["BEGIN IMMEDIATE", "COMMIT"]

    def test_a_failure_undoes_itself_only(self, session: Session, log: Log) -> None:
        """What the others wrote stays, and nothing of the one that failed."""
        jobs = [_keep(1), _keep(2, 200), _keep(3)]
        session.write(jobs)
        assert _outcomes(jobs) == [1, StoreDataError, 1]
        assert _kept(log) == [1, 3]

    def test_a_single_failure_leaves_nothing(self, session: Session, log: Log) -> None:
        """The transaction is undone and the next one can begin."""
        jobs = [_keep(2, 200)]
        session.write(jobs)
        assert _outcomes(jobs) == [StoreDataError]
        assert session.write([_keep(5)]) == 1
        assert _kept(log) == [5]

    def test_an_error_of_a_callback_comes_through_as_it_is(self, session: Session) -> None:
        """It is the caller's own."""
        job = Job(lambda _: 1 // 0, None)
        session.write([job])
        with pytest.raises(ZeroDivisionError):
            job.answer()

    def test_a_value_that_python_cannot_bind_is_refused(self, session: Session) -> None:
        """It is data, not a defect."""
        jobs = [_keep(2**70), _keep(1)]
        session.write(jobs)
        assert _outcomes(jobs) == [StoreDataError, 1]


class TestJointJobs:
    """One statement for many."""

    def test_like_jobs_are_done_in_one_statement(self, session: Session, log: Log) -> None:
        """Neighbours of one kind are handed over together, others keep their place."""
        jobs = [_together(1), _together(2), _keep(3), _together(4)]
        session.write(jobs)
        assert _outcomes(jobs) == [2, 2, 1, 1]
        assert _kept(log) == [1, 2, 3, 4]

    def test_a_bad_one_is_found(self, session: Session, log: Log) -> None:
        """Where the statement fails each is done by itself."""
        jobs = [_together(1), _together(200), _together(3)]
        session.write(jobs)
        assert _outcomes(jobs) == [1, StoreDataError, 1]
        assert _kept(log) == [1, 3]

    def test_together_they_stay_small(self, session: Session) -> None:
        """A large call does not ride with others: the lock would be held for too long."""
        jobs = [_together(1), _together(2, _JOINT), _together(3), _together(4)]
        session.write(jobs)
        assert _outcomes(jobs) == [1, 1, 2, 2]

    def test_jobs_of_different_times_are_not_mixed(self, session: Session) -> None:
        """A time given is for its own operation."""
        jobs = [JointJob(_keep_all, 1, 1, 5), JointJob(_keep_all, 2, 1, 6)]
        session.write(jobs)
        assert _outcomes(jobs) == [1, 1]


class TestWholeFailures:
    """What takes the whole group with it."""

    def test_a_failed_commit_fails_everybody(self, session: Session, log: Log) -> None:
        """Nobody hears of a success that was not committed."""
        full = sqlite3.OperationalError("database or disk is full")
        full.sqlite_errorcode = sqlite3.SQLITE_FULL
        log.failing["COMMIT"] = full
        jobs = [_keep(1), _keep(2)]
        session.write(jobs)
        assert _outcomes(jobs) == [StoreFullError, StoreFullError]
        log.failing.clear()
        assert _kept(log) == []
        assert not log.in_transaction

    def test_an_error_that_undid_the_transaction_fails_everybody(self, session: Session, log: Log) -> None:
        """SQLite may roll back by itself: then those before have nothing either."""

        def undone(tx: Tx) -> None:
            tx._connection.execute("ROLLBACK")
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error

        jobs: list[AnyJob] = [_keep(1), Job(undone, None), _keep(2)]
        done = session.write(jobs)
        assert _outcomes(jobs[:done]) == [StoreFullError, StoreFullError]
        assert session.write(jobs[done:]) == 1
        assert _kept(log) == [2]

    def test_a_lock_that_does_not_pass_is_busy(self, session: Session, path: str) -> None:
        """After our patience ends, everybody in line is told."""
        with closing(connect(path, cache_kb=100)) as other:
            other.execute("BEGIN IMMEDIATE")
            jobs = [_keep(1), _keep(2)]
            session.write(jobs)
            assert _outcomes(jobs) == [StoreBusyError, StoreBusyError]
            other.execute("ROLLBACK")
        assert session.write([_keep(1)]) == 1

    def test_a_crash_in_the_middle_leaves_nothing(self, session: Session, log: Log) -> None:
        """What is no ordinary error passes through, after the transaction was undone."""

        def crash(tx: Tx) -> None:
            tx._connection.execute("INSERT INTO kept VALUES (9)")
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            session.write([Job(crash, None)])
        assert _kept(log) == []

    def test_each_has_an_error_of_its_own(self, session: Session, log: Log) -> None:
        """Whoever raises an exception writes into it: two callers do not share one."""
        log.failing["COMMIT"] = _disk_error()
        jobs = [_keep(1), _keep(2)]
        session.write(jobs)
        assert jobs[0].error is not jobs[1].error

    def test_the_error_of_one_is_not_told_to_others(self, session: Session) -> None:
        """When a callback's own error takes the group with it, the others hear that they may try again."""

        def undone(tx: Tx) -> None:
            tx._connection.execute("ROLLBACK")
            raise KeyError("mine")

        jobs: list[AnyJob] = [_keep(1), Job(undone, None)]
        session.write(jobs)
        assert _outcomes(jobs) == [StoreUnavailableError, StoreUnavailableError]
        assert jobs[0].error is not jobs[1].error

    def test_what_cannot_be_undone_alone_is_not_committed(self, session: Session, log: Log) -> None:
        """A part that stays half done takes everybody with it."""
        log.failing["ROLLBACK TO part_1"] = _disk_error()
        jobs = [_keep(1), _keep(2, 200), _keep(3)]
        done = session.write(jobs)
        assert (done, _outcomes(jobs[:done])) == (2, [StoreDataError, StoreDataError])
        assert _kept(log) == []

    def test_a_rollback_that_fails_is_tried_again(self, session: Session, log: Log) -> None:
        """The error is told all the same, and the next transaction begins with what was left to do."""
        log.failing = {"COMMIT": _disk_error(), "ROLLBACK": _disk_error()}
        jobs = [_keep(1), _keep(2)]
        session.write(jobs)
        assert _outcomes(jobs) == [StoreUnavailableError, StoreUnavailableError]
        later = [_keep(3)]
        session.write(later)
        assert _outcomes(later) == [StoreUnavailableError]
        log.failing.clear()
        session.write([_keep(4)])
        assert _kept(log) == [4]


class TestParts:
    """A part of an operation that is undone alone."""

    def test_a_failure_inside_of_another_undoes_the_whole_operation(self, session: Session, log: Log) -> None:
        """What nobody foresaw leaves both, and nothing of the operation is committed with the others."""

        def half(tx: Tx) -> None:
            tx._connection.execute("INSERT INTO kept VALUES (8)")
            with tx.part():
                tx._connection.execute("INSERT INTO kept VALUES (9)")
                raise KeyError("unforeseen")

        jobs: list[AnyJob] = [_keep(1), Job(half, None), _keep(2)]
        session.write(jobs)
        assert _outcomes(jobs) == [1, KeyError, 1]
        assert _kept(log) == [1, 2]

    def test_a_failure_that_is_caught_undoes_the_inner_one_only(self, session: Session, log: Log) -> None:
        """Halving goes on with what it has."""

        def careful(tx: Tx) -> None:
            for value in (7, 200, 8):
                with suppress(sqlite3.IntegrityError), tx.part():
                    tx._connection.execute("INSERT INTO kept VALUES (?)", (value - 1,))
                    tx._connection.execute("INSERT INTO kept VALUES (?)", (value,))

        session.write([_keep(1), Job(careful, None)])
        assert _kept(log) == [1, 6, 7, 7, 8]

    def test_a_crash_inside_of_a_group_leaves_nothing(self, session: Session, log: Log) -> None:
        """What is no ordinary error passes through parts as well."""

        def crash(tx: Tx) -> None:
            with tx.part():
                tx._connection.execute("INSERT INTO kept VALUES (9)")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            session.write([_keep(1), Job(crash, None)])
        assert _kept(log) == []

    def test_nothing_goes_on_where_the_transaction_is_gone(self, session: Session, log: Log) -> None:
        """A savepoint of its own would begin a transaction, and commit it."""

        def undone(tx: Tx) -> None:
            with suppress(sqlite3.IntegrityError), tx.part():
                tx._connection.execute("ROLLBACK")
                tx._connection.execute("INSERT INTO kept VALUES (200)")
            tx._connection.execute("INSERT INTO kept VALUES (9)")

        session.write([Job(undone, None)])
        assert _kept(log) == []


class TestReads:
    """A read sees one moment, and lets go of it."""

    def test_a_read_leaves_no_transaction(self, session: Session, log: Log) -> None:
        """An open snapshot would keep the log from being moved."""
        job = Job(lambda tx: tx._connection.execute("SELECT count(*) FROM kept").fetchone()[0], None)
        assert session.read([job]) == 1
        assert (job.answer(), log.in_transaction) == (0, False)

    def test_a_read_that_fails_leaves_no_transaction(self, session: Session, log: Log) -> None:
        """The error is told and the next read works."""
        job = Job(lambda _: 1 // 0, None)
        session.read([job])
        with pytest.raises(ZeroDivisionError):
            job.answer()
        assert not log.in_transaction
