"""A real ``puntual serve`` in a folder of its own: started, killed, asked."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

_PATIENCE = 60.0


class Served:
    """The process, and where it writes.

    Args:
        folder: its working folder, with the database.
        settings: PUNTUAL_* variables beside the usual ones.
    """

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.settings = {"PORT": "0", "LOG_FORMAT": "json", **settings}
        self.process: subprocess.Popen[bytes] | None = None
        self.log = folder / "serve.log"

    @property
    def environment(self) -> dict[str, str]:
        """A small environment: what the test's own has is no part of the test."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        return {**kept, "HOME": str(self.folder), **{f"PUNTUAL_{name}": value for name, value in self.settings.items()}}

    def command(self, *arguments: str) -> list[str]:
        """The command line of this environment's puntual."""
        return [sys.executable, "-m", "puntual", *arguments]

    def start(self, *arguments: str, verb: str = "serve") -> None:
        """Starts it, or another command that goes on; returns at once."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command(verb, *arguments),
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        """SIGKILL, and reaps it."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(_PATIENCE)

    def stop(self) -> int:
        """SIGTERM, and its exit code."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(_PATIENCE)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """One command, to its end."""
        return subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )

    def wait_for_log(self, text: str) -> None:
        """Waits until its log has this text.

        Raises:
            TimeoutError: it did not come, with the log.
        """
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            if text in self.log.read_text(errors="replace"):
                return
            assert self.process is not None
            self.process.poll()
            time.sleep(0.02)  # noqa: TID251 - another process's file has no event to wait for
        raise TimeoutError(f"{text!r} not in the log:\n{self.log.read_text(errors='replace')[-4000:]}")

    def __enter__(self) -> Self:
        """Nothing is started yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leaves no process behind."""
        if self.process is not None and self.process.poll() is None:
            self.kill()
