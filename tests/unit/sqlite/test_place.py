"""A path that cannot hold our database is refused in one sentence, before anything is written."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from puntual.engine.clock import SystemClock
from puntual.model.errors import StoreUnusableError
from puntual.store.requests import Retention
from puntual.store.sqlite import SqliteStore
from puntual.store.sqlite.place import check_place, file_system
from tests.support.flaky import file_store


async def _refusal(path: Path) -> str:
    with pytest.raises(StoreUnusableError) as caught:
        await SqliteStore(str(path), clock=SystemClock(), retention=Retention()).open()
    return caught.value.message


def _names(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


def _mounts(tmp_path: Path, *lines: str) -> str:
    file = tmp_path / "mounts"
    file.write_text("".join(f"{line}\n" for line in lines))
    return str(file)


class TestPlaces:
    """What stands at the path."""

    async def test_a_missing_folder_is_named(self, tmp_path: Path) -> None:
        """The folder must be there; it is not made."""
        assert f"There is no folder {tmp_path / 'nowhere'}" in await _refusal(tmp_path / "nowhere" / "puntual.db")
        assert _names(tmp_path) == []

    async def test_a_folder_is_no_database(self, tmp_path: Path) -> None:
        """The sentence shows a file that would do."""
        assert str(tmp_path / "puntual.db") in await _refusal(tmp_path)

    async def test_a_pipe_is_no_database(self, tmp_path: Path) -> None:
        """Only an ordinary file is opened; a pipe would block."""
        os.mkfifo(tmp_path / "pipe")
        assert "no ordinary file" in await _refusal(tmp_path / "pipe")

    @pytest.mark.parametrize("size", [1, 100, 5000])
    async def test_a_file_of_something_else_is_left_as_it_is(self, tmp_path: Path, size: int) -> None:
        """Text is not taken for a database, nor changed."""
        path = tmp_path / "notes.txt"
        path.write_bytes(b"n" * size)
        assert "is no SQLite database" in await _refusal(path)
        assert path.read_bytes() == b"n" * size
        assert _names(tmp_path) == [path.name]

    async def test_a_damaged_database_is_refused(self, tmp_path: Path) -> None:
        """A header alone makes no database."""
        path = tmp_path / "puntual.db"
        path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4080)
        assert str(path) in await _refusal(path)

    async def test_a_database_of_another_program_is_left_as_it_is(self, tmp_path: Path) -> None:
        """Tables without our mark are somebody else's."""
        path = tmp_path / "other.db"
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE notes (text)")
        connection.close()
        before = path.read_bytes()
        assert "another program" in await _refusal(path)
        assert path.read_bytes() == before

    @pytest.mark.parametrize("read_only", ["folder", "file"])
    async def test_what_cannot_be_written_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_only: str
    ) -> None:
        """A database needs its file and its folder to be writable."""
        path = tmp_path / "puntual.db"
        sqlite3.connect(path).close()
        path.touch()
        locked = tmp_path if read_only == "folder" else path
        access: Callable[[Path, int], bool] = os.access
        monkeypatch.setattr(os, "access", lambda file, mode: file != locked and access(file, mode))
        assert "read-only" in await _refusal(path)

    async def test_an_empty_file_becomes_ours(self, tmp_path: Path) -> None:
        """What was made by ``touch`` or mktemp can be used."""
        path = tmp_path / "puntual.db"
        path.touch()
        store = SqliteStore(str(path), clock=SystemClock(), retention=Retention())
        await store.open()
        await store.close()
        assert path.read_bytes().startswith(b"SQLite format 3\0")

    @pytest.mark.parametrize("there", ["nothing", "an empty file"])
    async def test_a_log_without_its_database_is_told(self, tmp_path: Path, there: str) -> None:
        """Nobody begins with an empty database where one was lost, and SQLite does not throw its log away."""
        path, log = tmp_path / "puntual.db", tmp_path / "puntual.db-wal"
        log.write_bytes(b"what was written last")
        if there == "an empty file":
            path.touch()
        assert f"{path} is gone or empty" in await _refusal(path)
        assert log.read_bytes() == b"what was written last"

    @pytest.mark.parametrize("name", ["puntual.db", "link.db"])
    async def test_a_log_beside_a_backup_is_told(self, tmp_path: Path, name: str) -> None:
        """SQLite would read it as if it were of that file, and damage it; also where a link leads there."""
        path = tmp_path / "puntual.db"
        (tmp_path / "link.db").symlink_to(path)
        store = SqliteStore(str(tmp_path / "other.db"), clock=SystemClock(), retention=Retention())
        await store.open()
        await store.backup(str(path))
        await store.close()
        before = path.read_bytes()
        (tmp_path / "puntual.db-wal").write_bytes(b"what another one wrote last")
        assert f"{tmp_path}/puntual.db-wal, which belongs to another file" in await _refusal(tmp_path / name)
        assert path.read_bytes() == before


class TestNetworkFileSystems:
    """Locks do not reach over a network."""

    @pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "vboxsf", "drvfs"])
    def test_a_network_file_system_is_refused(self, tmp_path: Path, kind: str) -> None:
        """The sentence names it and says what to do."""
        mounts = _mounts(tmp_path, "/dev/sda1 / ext4 rw 0 0", f"server:/x {tmp_path} {kind} rw 0 0")
        with pytest.raises(StoreUnusableError, match=f"network or shared file system \\({kind}\\)"):
            check_place(str(tmp_path / "puntual.db"), mounts=mounts)

    @pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "apfs", "tmpfs", "overlay", "zfs", "9p", "virtiofs"])
    def test_a_local_one_is_used(self, tmp_path: Path, kind: str) -> None:
        """Nothing else is refused."""
        check_place(str(tmp_path / "puntual.db"), mounts=_mounts(tmp_path, f"/dev/sda1 / {kind} rw 0 0"))

    def test_the_innermost_mount_counts(self, tmp_path: Path) -> None:
        """A local disk inside a network mount is local, and the last mount at a place covers those before."""
        mounts = _mounts(
            tmp_path, "a / ext4 rw 0 0", "b /srv nfs rw 0 0", "c /srv/local ext4 rw 0 0", "d /mnt ext4 rw 0 0",
            "e /mnt nfs rw 0 0",
        )  # fmt: skip
        kinds = [file_system(Path(file), mounts) for file in ("/srv/x.db", "/srv/local/x.db", "/srvx.db", "/mnt/x.db")]
        assert kinds == ["nfs", "ext4", "ext4", "nfs"]

    def test_a_mount_with_a_space_is_understood(self, tmp_path: Path) -> None:
        """The kernel writes a space as an octal escape."""
        mounts = _mounts(tmp_path, "a / ext4 rw 0 0", r"b /my\040disk nfs rw 0 0", "short")
        assert file_system(Path("/my disk/x.db"), mounts) == "nfs"

    def test_a_mount_with_letters_beyond_ascii_is_understood(self, tmp_path: Path) -> None:
        """The kernel writes those as they are, beside escapes."""
        mounts = _mounts(tmp_path, "a / ext4 rw 0 0", r"b /mnt/cópia\040ñ nfs rw 0 0")
        assert file_system(Path("/mnt/cópia ñ/x.db"), mounts) == "nfs"

    def test_windows_is_told_from_other_9p(self, tmp_path: Path) -> None:
        """WSL 2 reaches the disks of Windows through 9p and says so among the options."""
        mounts = _mounts(tmp_path, "a / 9p rw 0 0", r"C:\134 /mnt/c 9p rw,noatime,aname=drvfs;path=C:\;uid=1000 0 0")
        assert [file_system(Path(file), mounts) for file in ("/x.db", "/mnt/c/x.db")] == ["9p", "drvfs"]

    def test_a_link_onto_a_network_file_system_is_seen_through(self, tmp_path: Path) -> None:
        """What counts is where the file lies, not where its name does."""
        (tmp_path / "far").mkdir()
        (tmp_path / "puntual.db").symlink_to(tmp_path / "far" / "puntual.db")
        mounts = _mounts(tmp_path, "a / ext4 rw 0 0", f"b {tmp_path / 'far'} nfs4 rw 0 0")
        with pytest.raises(StoreUnusableError, match="nfs4"):
            check_place(str(tmp_path / "puntual.db"), mounts=mounts)

    def test_where_nothing_is_known_nothing_is_refused(self, tmp_path: Path) -> None:
        """Systems without that list are trusted."""
        check_place(str(tmp_path / "puntual.db"), mounts=str(tmp_path / "none"))


async def test_a_file_with_two_names_is_refused(tmp_path: Path) -> None:
    """Each name would have a log of its own, and what one of them was given would vanish."""
    first = file_store(tmp_path)
    await first.open()
    await first.close()
    (tmp_path / "other.db").hardlink_to(tmp_path / "puntual.db")
    with pytest.raises(StoreUnusableError, match="hard link"):
        await file_store(tmp_path).open()
