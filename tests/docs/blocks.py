"""The fenced examples of the pages, and somebody in an empty folder who does what they say."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.support import docs
from tests.support.served import Served

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"# ([\w./-]+\.(?:py|yaml|toml))\n")
ADDRESS = "127.0.0.1:8787"
#: The pages of the reference; the others have no examples to run.
PAGES = (
    *("schedules", "time", "phrases", "rules", "calendars", "from-cron"),
    *("settings", "python", "rest", "cli", "operations", "simulation"),
)
PATIENCE = 60


class Block(NamedTuple):
    """An example: its language, its text, its place for messages, and what its commands are to print."""

    kind: str
    text: str
    place: str
    output: str | None = None

    @property
    def file(self) -> str | None:
        """The file that its first line names."""
        found = FILE_NAME.match(self.text)
        return found[1] if found else None


def page(name: str) -> str:
    """The text of a page."""
    return (docs.ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def blocks(name: str) -> list[Block]:
    """The examples of a page in order; a ``text`` block right after commands is what they print."""
    text = page(name)
    found: list[Block] = []
    ended = -1
    for match in FENCE.finditer(text):
        place = f"docs/{name}.md:{text.count(chr(10), 0, match.start()) + 1}"
        if match[1] == "text" and found and not text[ended : match.start()].strip():
            found[-1] = found[-1]._replace(output=match[2])
        else:
            found.append(Block(match[1], match[2], place))
        ended = match.end()
    return found


def all_blocks(kind: str) -> list[Block]:
    """The examples in a language, of every page."""
    return [block for name in PAGES for block in blocks(name) if block.kind == kind]


class Reader:
    """Saves the files that a page names, types its commands, and starts the server where it says so."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = Served(folder)
        tools = folder / ".bin"
        tools.mkdir()
        if shutil.which("curl") is None:
            (tools / "curl").write_text(f"#!{sys.executable}\n{Path(__file__).with_name('curl.py').read_text()}")
            (tools / "curl").chmod(0o755)
        path = f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.environment = {"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
        self.address = ADDRESS

    def run(self, *command: str) -> str:
        """What a command prints.

        Raises:
            AssertionError: it failed.
        """
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, f"{command[-1]}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def do(self, block: Block) -> None:
        """Does what one example says."""
        if block.file is not None:
            (self.folder / block.file).write_text(block.text, encoding="utf-8")
        if block.kind == "sh":
            said = self.run("bash", "-euo", "pipefail", "-c", block.text.replace(ADDRESS, self.address))
            if block.output is not None:
                assert_printed(said, block)
        elif block.kind == "console" and block.text == "$ puntual serve\n":
            self.serve()
        elif block.kind == "console" and "\nError: " in block.text:
            self.fail(block)

    def fail(self, block: Block) -> None:
        """Types a command that the page shows to be refused; the page may leave out the end of the sentence."""
        command, error = block.text.removeprefix("$ ").rstrip("\n").split("\n", 1)
        said = self.run("bash", "-c", f"{command} 2>&1 >/dev/null || test $? = 2")
        assert said.startswith(error.removesuffix("...")), f"{block.place}\n{said}"

    def serve(self) -> None:
        """Starts a server on a free port."""
        self.server.start()
        self.server.wait_for_log("serve.started")
        lines = self.server.log.read_text(encoding="utf-8").splitlines()
        started = next(json.loads(line) for line in lines if "serve.started" in line)
        self.address = started["api"].removeprefix("http://")


def assert_printed(said: str, block: Block) -> None:
    """Each line of the page begins the line that was printed: what follows tells how far away a time is."""
    assert block.output is not None
    wanted, lines = block.output.splitlines(), said.splitlines()
    assert len(lines) == len(wanted), f"{block.place}\n{said}"
    for line, begin in zip(lines, wanted, strict=True):
        exact = line if not re.match(r"  \d{4}-", line) else line[: len(begin)]
        assert exact == begin, f"{block.place}\n{said}"
