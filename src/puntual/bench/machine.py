"""The facts without which a figure says little: processors, versions, and what one durable write costs here."""

from __future__ import annotations

import importlib.util
import os
import platform
import statistics
import time
from pathlib import Path

_WRITES = 50
_PAGE = b"\0" * 4096


def machine(folder: Path) -> dict[str, object]:
    """The machine, as far as benchmarks depend on it.

    Args:
        folder: on the file system whose durable writes are timed.
    """
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "uvloop": importlib.util.find_spec("uvloop") is not None,
        "fsync_ms": round(fsync_ms(folder), 3),
    }


def cores() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def fsync_ms(folder: Path) -> float:
    """The median of appending one page to a file and waiting until it is on the disk, milliseconds."""
    times = []
    sync = getattr(os, "fdatasync", os.fsync)
    with (folder / "fsync").open("wb", buffering=0) as file:
        for _ in range(_WRITES):
            started = time.perf_counter()
            file.write(_PAGE)
            sync(file.fileno())
            times.append((time.perf_counter() - started) * 1000)
    (folder / "fsync").unlink()
    return statistics.median(times)
