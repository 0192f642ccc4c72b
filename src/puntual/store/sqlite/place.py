"""Whether a path is a place for our database, said in one sentence before anything is written there."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

from puntual.model.errors import StoreUnusableError
from puntual.store.sqlite.descriptor import Descriptor, hold

_SQLITE_HEADER = b"SQLite format 3\0"
#: Where the header says what one has to know to write to the file and to read it, and that this is to have a log (WAL).
_VERSIONS, _HAS_LOG = slice(18, 20), b"\2\2"
#: On these, locks do not reach from one machine to another, or not at all: two writers would damage the file.
#:
#: Of the folders that a virtual machine shares with its host, those of VirtualBox (vboxsf) share neither locks nor
#: memory with the host, and those of Windows in WSL (drvfs) lose locks towards Windows, where people open the file too.
#: virtiofs and 9p stay: the guest's own kernel keeps the locks, for all processes that are in it, and the root of many
#: a container lies on them.
_NETWORK = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "lustre", "beegfs", "ocfs2", "gfs2"}
    | {"fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse", "fuse.davfs2", "davfs"}
    | {"vboxsf", "drvfs"}
)
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2})")
MOUNTS = "/proc/mounts"


def check_place(path: str, *, mounts: str = MOUNTS) -> None:
    """As `hold_place`, for who only wants to know."""
    held = hold_place(path, mounts=mounts)
    if held is not None:
        held.let_go()


def hold_place(path: str, *, mounts: str = MOUNTS) -> Descriptor | None:
    """Looks at the folder, the file and the file system.

    Args:
        path: where the database is, or shall be.
        mounts: the list of file systems, as Linux gives it; where there is none, nothing is known about them.

    Returns:
        The descriptor of the file, which is let go after the connections made meanwhile; None where there is no file.

    Raises:
        StoreUnusableError: it cannot be used.
        OSError: it cannot be looked at.
    """
    file = Path(path).absolute()
    folder = file.parent
    if not folder.is_dir():
        raise StoreUnusableError(f"There is no folder {folder}: make it, or name a database file in one that is there.")
    if _loops(file):
        raise StoreUnusableError(f"{path} is a loop of symbolic links: name another file.")
    if file.is_dir():
        raise StoreUnusableError(f"{path} is a folder: name a file in it, for example {file / 'puntual.db'}.")
    if file.exists() and not file.is_file():
        raise StoreUnusableError(f"{path} is no ordinary file: name one for the database.")
    kind = file_system(file.resolve(), mounts)
    if kind in _NETWORK:
        raise StoreUnusableError(
            f"{path} lies on a network or shared file system ({kind}), where locks cannot be trusted: put it on a "
            "local disk, or use PostgreSQL to share work between machines."
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StoreUnusableError(f"The folder {folder} is read-only: the database keeps its log there and must write.")
    if file.exists() and not os.access(file, os.R_OK | os.W_OK):
        raise StoreUnusableError(f"{path} is read-only: the database must be able to write to it.")
    _check_names(file, path)
    # Before the file: who makes a database changes its header before there is a log.
    log = _log(file.resolve())
    held = hold(path) if file.exists() else None
    try:
        _check_header(b"" if held is None else held.read(20), path, log)
    except BaseException:
        if held is not None:
            held.let_go()
        raise
    return held


def _check_names(file: Path, path: str) -> None:
    """The log lies beside a name, so that a file with two of them would have two logs."""
    if file.exists() and file.stat().st_nlink > 1:
        raise StoreUnusableError(
            f"{path} has another name (a hard link), under which its log would be another one: remove the link, or copy"
            " the file instead."
        )


def _loops(file: Path) -> bool:
    try:
        file.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def file_system(file: Path, mounts: str) -> str | None:
    """The type of the file system that holds a file; None when it cannot be known."""
    try:
        lines = Path(mounts).read_bytes().split(b"\n")
    except OSError:
        return None
    best, kind = -1, None
    for line in lines:
        fields = line.split(b" ")
        if len(fields) < 4:
            continue
        # Spaces and the like stand as octal escapes of a byte; later mounts cover earlier ones at the same place.
        point = Path(os.fsdecode(_ESCAPE.sub(lambda found: bytes([int(found[1], 8)]), fields[1])))
        if (file == point or point in file.parents) and len(point.parts) >= best:
            # WSL 2 reaches the same folders of Windows through 9p, and says so among the options.
            best, kind = len(point.parts), "drvfs" if b"aname=drvfs" in fields[3] else os.fsdecode(fields[2])
    return kind


def _log(file: Path) -> Path | None:
    """The log of that file, if there is anything in it."""
    log = file.with_name(f"{file.name}-wal")
    try:
        return log if log.stat().st_size else None
    except FileNotFoundError:
        return None


def _check_header(header: bytes, path: str, log: Path | None) -> None:
    """SQLite would read a log that was left by another file as if it were of this one, and damage it."""
    if log is not None and not header:
        raise StoreUnusableError(
            f"{path} is gone or empty, and {log} was left of it: stop every puntual that used it and put it back, or"
            f" remove {log} to begin with an empty database."
        )
    if log is not None and header[_VERSIONS] != _HAS_LOG:
        raise StoreUnusableError(
            f"{path} has been put beside {log}, which belongs to another file: stop every puntual that uses it, remove"
            f" {log} and {path}-shm, and start again."
        )
    if header and header[:16] != _SQLITE_HEADER:
        raise StoreUnusableError(f"{path} is no SQLite database: name another file.")
