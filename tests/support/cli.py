"""The command line as a user has it: processes in a folder of their own, with an environment of their own."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from puntual.engine.clock import SystemClock

#: No single command takes longer, even while others use the machine.
PATIENCE = 30.0


class Answer(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as the one JSON document that it must be."""
        return json.loads(self.out)


class Cli:
    """Runs ``puntual`` in a folder.

    Args:
        folder: its working folder and HOME.
        settings: environment variables without their prefix.
    """

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        self.env |= {f"PUNTUAL_{name}": value for name, value in settings.items()}

    def run(self, *words: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Answer:
        """Runs one command to its end."""
        done = subprocess.run(
            [sys.executable, "-m", "puntual", *words],
            cwd=self.folder,
            env={**self.env, **(env or {})},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def ask(self, *words: str, code: int = 0, stdin: str = "") -> Any:
        """The JSON answer of a command that must end with that code."""
        answer = self.run("--json", *words, stdin=stdin)
        assert answer.code == code, answer
        return answer.json

    @contextmanager
    def process(self, *words: str) -> Iterator[Process]:
        """A command that goes on; it is asked to end, and ended if it does not."""
        child = subprocess.Popen(
            [sys.executable, "-m", "puntual", *words],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        process = Process(child)
        try:
            yield process
        finally:
            process.close()


class Process:
    """A command that goes on."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self.child = child
        self._read = {"out": b"", "err": b""}

    def line(self, stream: str = "out", *, holding: str = "") -> str:
        """The next line of a stream that holds a text; waits for it.

        Raises:
            AssertionError: the stream ended, or it took too long.
        """
        source = self.child.stdout if stream == "out" else self.child.stderr
        assert source is not None
        clock = SystemClock()
        until = clock.steady() + PATIENCE
        while True:
            head, newline, rest = self._read[stream].partition(b"\n")
            if newline:
                self._read[stream] = rest
                if holding in head.decode():
                    return head.decode()
                continue
            ready, _, _ = select.select([source], [], [], max(until - clock.steady(), 0))
            piece = os.read(source.fileno(), 65536) if ready else b""
            assert piece, f"no line with {holding!r}; it ended as {self.child.poll()}: {self._read}"
            self._read[stream] += piece

    def signal(self, number: int = signal.SIGTERM) -> None:
        """Sends a signal."""
        self.child.send_signal(number)

    def ended(self) -> int:
        """Waits for its end and gives its exit code."""
        return self.child.wait(PATIENCE)

    def close(self) -> None:
        """Ends it, whatever it is doing."""
        if self.child.poll() is None:
            self.signal()
            try:
                self.child.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait(PATIENCE)
        for stream in (self.child.stdout, self.child.stderr):
            if stream is not None:
                stream.close()


def eventually(look: Callable[[], Any]) -> Any:
    """What ``look`` gives once it is true; each look is a process, so none is needed between.

    Raises:
        AssertionError: it never was.
    """
    clock = SystemClock()
    until = clock.steady() + PATIENCE
    while clock.steady() < until:
        found = look()
        if found:
            return found
    raise AssertionError("it never came true")
