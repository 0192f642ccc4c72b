"""A disk with little room on it, filled and emptied by a test."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    """A file system of its own, of so many bytes, for the account that owns the folder around it."""
    assert os.geteuid() == 0, "only root can mount a small file system"
    folder.mkdir()
    owner = folder.parent.stat()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True)
    try:
        os.chown(folder, owner.st_uid, owner.st_gid)
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Leaves no room on it; what this gives is to be removed."""
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        while free := shutil.disk_usage(disk).free:
            with suppress(OSError):  # Somebody else was quicker: there is less.
                os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, free)
    return ballast
