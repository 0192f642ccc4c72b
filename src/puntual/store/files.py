"""A file takes its name only when it is whole, and never that of another."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def give_name(part: Path, name: Path) -> None:
    """Gives a finished file its name, in the folder where it is.

    Where the file system has hard links nobody ever sees anything but the whole file. Where it has none (FAT, many that
    lie in user space) the name is taken by an empty file first, which a crash may leave.

    Args:
        part: the finished file; it is gone under this name afterwards.
        name: what it shall be called.

    Raises:
        FileExistsError: there is something of that name; it stays as it is, and so does the finished file.
        OSError: the folder cannot be written.
    """
    try:
        # A link is refused where something of that name has come meanwhile; a rename would replace it.
        name.hardlink_to(part)
    except FileExistsError:
        raise
    except OSError:
        _replace_own(part, name)
    else:
        part.unlink()


def _replace_own(part: Path, name: Path) -> None:
    """Takes the name where it is free, then replaces what took it."""
    os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        part.replace(name)
    except BaseException:
        with suppress(OSError):
            name.unlink()
        raise
