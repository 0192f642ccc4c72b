"""A wall clock that a test steps under real processes; their steady clocks go on as they are."""

from __future__ import annotations

from pathlib import Path


def _shim() -> str:
    """The library that is put between a program and its clock."""
    # Debian has a folder for each architecture, others have none.
    found = [path for where in ("lib/*", "lib*") for path in Path("/usr").glob(f"{where}/faketime/libfaketime.so.1")]
    assert found, "libfaketime is missing: tools/need_faketime installs it"
    return str(found[0])


class FakeClock:
    """What the processes that are started with its ``environment`` take for the time.

    Args:
        path: the file that says how far off it is, which all of them can read. Each look at the clock reads it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.set(0)

    def set(self, seconds: int) -> None:
        """So far ahead of the true time from now on, for all of them at once; behind it if negative."""
        new = self._path.with_suffix(".new")
        new.write_text(f"{seconds:+d}\n")
        new.chmod(0o644)
        new.rename(self._path)

    @property
    def environment(self) -> dict[str, str]:
        """For a process that is to live by it."""
        return {
            "LD_PRELOAD": _shim(),
            "FAKETIME_TIMESTAMP_FILE": str(self._path),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            # What files say of themselves is no clock.
            "NO_FAKE_STAT": "1",
        }
