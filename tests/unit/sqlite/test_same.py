"""A file that is no longer the one that was opened is neither read nor written any more."""

from __future__ import annotations

import asyncio
import errno
import os
import sqlite3
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from puntual.model.errors import StoreUnavailableError, StoreUnusableError
from puntual.store.requests import Beat, Page, QueueEdit, RunFilter
from puntual.store.sqlite import SqliteStore, opening, place, same
from puntual.store.sqlite.checkpoint import alone
from puntual.store.sqlite.connection import connect
from puntual.store.sqlite.descriptor import Descriptor
from puntual.store.sqlite.migrate import migrate
from puntual.store.sqlite.place import check_place
from tests.support.flaky import file_store, new_run
from tests.support.processes import shell

REMOVED, OVERWRITTEN = "removed or replaced", "overwritten or cut short"
#: What somebody does to the files, and what is said of it.
HARMS = {
    "removed": ("rm puntual.db", REMOVED),
    "all removed": ("rm puntual.db*", REMOVED),
    "log removed": ("rm puntual.db-wal", REMOVED),
    "moved over": ("mv copy.db puntual.db", REMOVED),
    "backup copied over": ("cp copy.db puntual.db", OVERWRITTEN),
    "older copied over": ("cp older.db puntual.db", OVERWRITTEN),
    "emptied": ("truncate -s 0 puntual.db", OVERWRITTEN),
    "cut": ("truncate -s 12288 puntual.db", OVERWRITTEN),
    "scribbled over": ("head -c 8192 /dev/urandom | dd of=puntual.db conv=notrunc status=none", OVERWRITTEN),
}


@pytest.fixture(autouse=True)
def looks_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test waits for the next look."""
    monkeypatch.setattr(same, "_EVERY", 0.0)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """A store with a run, a backup and a plain copy of a time when it was smaller."""
    store = file_store(tmp_path)
    await store.open()
    await shell("cp puntual.db older.db", tmp_path)
    await store.enqueue([new_run(number) for number in range(1, 200)])
    await store.backup(str(tmp_path / "copy.db"))
    await _visit(tmp_path)
    await store.ping()
    yield store
    await store.close()


async def _visit(folder: Path) -> None:
    """Another store comes, moves the log into the file when it leaves, and finds that it is not the last."""
    other = file_store(folder)
    await other.open()
    await other.enqueue([new_run(1000)])
    await other.close()


@pytest.mark.parametrize(("line", "said"), HARMS.values(), ids=HARMS.keys())
async def test_it_is_said_and_nothing_is_written(line: str, said: str, store: SqliteStore, tmp_path: Path) -> None:
    """A backup put over a database in use would make ticks run twice, and the log moved into it would damage it."""
    await shell(line, tmp_path)
    path = tmp_path / "puntual.db"
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(StoreUnusableError, match=said):
        await store.enqueue([new_run(2000)])
    with pytest.raises(StoreUnusableError, match="start again"):
        await store.list_runs(RunFilter(), Page())
    await store.close()
    assert (path.read_bytes() if path.exists() else None) == before


async def test_each_of_a_group_is_told(store: SqliteStore, tmp_path: Path) -> None:
    """By an error of its own: it is no failure of somebody else's operation."""
    await shell("rm puntual.db", tmp_path)
    errors = await asyncio.gather(*(store.enqueue([new_run(n)]) for n in (3001, 3002, 3003)), return_exceptions=True)
    assert {type(error) for error in errors} == {StoreUnusableError}
    assert len({id(error) for error in errors}) == 3


async def test_no_further_connection_is_made_to_what_has_come_in_its_place(store: SqliteStore, tmp_path: Path) -> None:
    """It would read our log as if it were of that file, and move it in there."""
    await shell("rm puntual.db", tmp_path)
    line = store.heartbeat_line()
    with pytest.raises(StoreUnusableError, match=REMOVED):
        await asyncio.to_thread(line.beat, Beat(worker="w", lease_us=1_000_000, held=0))
    with pytest.raises(StoreUnusableError, match=REMOVED):
        await store.backup(str(tmp_path / "another.db"))
    line.close()
    assert not (tmp_path / "puntual.db").exists()


async def test_a_file_that_is_ours_is_used_on(store: SqliteStore, tmp_path: Path) -> None:
    """Looking changes nothing, and others may come and go, or make the file smaller in order."""
    await store.enqueue([new_run(2)])
    await _visit(tmp_path)
    await store.discard(RunFilter())
    program = "import sqlite3, sys; sqlite3.connect(sys.argv[1], isolation_level=None).execute('VACUUM')"
    await shell(f'{sys.executable} -c "{program}" puntual.db', tmp_path)
    await store.enqueue([new_run(3)])
    await _visit(tmp_path)
    await store.enqueue([new_run(4)])


async def test_a_file_into_which_the_log_is_being_moved_is_looked_at_again(store: SqliteStore, tmp_path: Path) -> None:
    """For a moment it is shorter than its header says; only when nobody is at it is that trouble."""
    path = tmp_path / "puntual.db"
    size = path.stat().st_size
    with alone(str(path)):
        await shell("truncate -s 12288 puntual.db", tmp_path)
        await store.ping()
        await shell(f"truncate -s {size} puntual.db", tmp_path)
    await store.ping()


async def test_a_file_into_which_the_log_was_moved_in_part_is_ours(store: SqliteStore, tmp_path: Path) -> None:
    """Who died, or found no room, leaves the first page ahead of the size; the log has the rest still."""
    path = tmp_path / "puntual.db"
    pages = (int.from_bytes(path.read_bytes()[28:32], "big") + 5).to_bytes(4, "big")
    octal = "".join(f"\\{byte:03o}" for byte in pages)
    await shell(f"printf '{octal}' | dd of=puntual.db bs=1 seek=28 conv=notrunc status=none", tmp_path)
    await store.ping()
    await store.list_runs(RunFilter(), Page())


async def test_a_disk_that_does_not_answer_is_no_other_file(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said, and work goes on when it answers."""
    with monkeypatch.context() as patched:
        patched.setattr(Descriptor, "size", _no_answer)
        with pytest.raises(StoreUnavailableError, match="cannot be looked at"):
            await store.ping()
    await store.ping()


def _no_answer(_: Descriptor) -> int:
    raise OSError(errno.EIO, "Input/output error")


async def test_two_stores_of_a_process_keep_their_locks(tmp_path: Path) -> None:
    """Opening one must not cost the other its locks: a process that leaves would take itself for the last one."""
    first, second = file_store(tmp_path), file_store(tmp_path)
    await first.open()
    await second.open()
    await second.close()
    log = tmp_path / "puntual.db-wal"
    before = log.stat().st_ino
    program = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT count(*) FROM runs').fetchone()"
    await shell(f'{sys.executable} -c "{program}" puntual.db', tmp_path)
    assert log.stat().st_ino == before
    await first.enqueue([new_run(1)])
    await first.close()


@pytest.mark.parametrize("there", [False, True], ids=["made", "there already"])
async def test_a_look_at_the_place_costs_a_store_that_is_opening_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, there: bool
) -> None:
    """As another store of the process looks before it opens: what is enqueued next would be in no file."""
    store = file_store(tmp_path)
    if there:
        await store.open()
        await store.close()

    def with_a_look(*args: Any, **more: Any) -> None:
        migrate(*args, **more)
        check_place(str(tmp_path / "puntual.db"))

    monkeypatch.setattr(opening, "migrate", with_a_look)
    await store.open()
    log = tmp_path / "puntual.db-wal"
    before = log.stat().st_ino
    program = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT count(*) FROM runs').fetchone()"
    await shell(f'{sys.executable} -c "{program}" puntual.db', tmp_path)
    assert log.stat().st_ino == before
    await store.close()


async def test_a_file_that_is_replaced_while_it_is_being_opened_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was looked at is not what was opened."""
    store = file_store(tmp_path)
    await store.open()
    await store.backup(str(tmp_path / "copy.db"))
    await store.close()

    def replaced(*args: Any, **more: Any) -> sqlite3.Connection:
        (tmp_path / "copy.db").replace(tmp_path / "puntual.db")
        return connect(*args, **more)

    monkeypatch.setattr(opening, "connect", replaced)
    with pytest.raises(StoreUnusableError, match=REMOVED):
        await store.open()


@pytest.mark.parametrize(
    ("number", "error"), [(errno.EMFILE, StoreUnavailableError), (errno.ENOENT, StoreUnavailableError),
                          (errno.EACCES, StoreUnusableError)],
)  # fmt: skip
@pytest.mark.parametrize("where", [place, same])
async def test_a_file_that_cannot_be_held_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: ModuleType, number: int, error: type[Exception]
) -> None:
    """Before the first connection, and after it for a new file; a start that failed leaves nothing held."""
    (tmp_path / "puntual.db").touch()

    def refuse(_: str) -> Descriptor:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        if where is same:
            (tmp_path / "puntual.db").unlink()
        patched.setattr(where, "hold", refuse)
        with pytest.raises(error, match=r"puntual\.db (may not|cannot) be opened"):
            await file_store(tmp_path).open()
    store = file_store(tmp_path)
    await store.open()
    await store.close()


async def test_a_store_that_is_opened_again_holds_one_descriptor(tmp_path: Path) -> None:
    """Closing and opening at the same time leaves it open, and looked after."""
    store = file_store(tmp_path)
    await store.open()
    closing = asyncio.create_task(store.close())
    await asyncio.sleep(0)
    await store.open()
    await closing
    await store.enqueue([new_run(1)])
    (tmp_path / "puntual.db").unlink()
    with pytest.raises(StoreUnusableError, match=REMOVED):
        await store.enqueue([new_run(2)])
    await store.close()


async def test_an_index_of_the_log_that_was_removed_is_noticed(tmp_path: Path) -> None:
    """The next process would make another one, and the two would write over each other."""
    store = file_store(tmp_path)
    await store.open()
    (tmp_path / "puntual.db-shm").unlink()
    store._around.file._looked_at = 0.0
    with pytest.raises(StoreUnusableError, match="removed or replaced"):
        await store.put_queue(QueueEdit(name="a"))
    await store.close()
