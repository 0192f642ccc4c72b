"""The READMEs are programs: every command and every file in them is run, in order, as a newcomer would.

Blocks of ``text`` are not: they need a server of PostgreSQL somewhere else.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.served import Served

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Newcomer:
    """Somebody in an empty folder who does what the page says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = Served(folder, ALLOW_COMMANDS="/bin/echo")
        bin_folder = str(Path(sys.executable).parent)
        self.environment = {"PATH": f"{bin_folder}:{os.environ['PATH']}", "HOME": str(folder), "LANG": "C.UTF-8"}
        self.commands = 0

    def shell(self, script: str) -> None:
        """Types the lines."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        self.commands += len(script.strip().splitlines())

    def do(self, kind: str, text: str) -> None:
        """Does what a block says: types it, starts the server, or saves it as the file that the page names."""
        if kind == "sh":
            self.shell(text)
        elif kind == "console" and "puntual serve" in text:
            self.server.start()
            self.server.wait_for_log("serve.started")
        elif kind == "yaml":
            (self.folder / "jobs.yaml").write_text(text)
        elif kind == "python":
            name = "test_shop.py" if "def test_" in text else "shop.py"
            (self.folder / name).write_text(text)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("page", ["README.md", "README.es.md"])
def test_a_newcomer_gets_through_the_page(page: str, tmp_path: Path) -> None:
    """Nothing in it fails, from the first command to the last."""
    newcomer = Newcomer(tmp_path)
    with newcomer.server:
        for kind, text in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
            newcomer.do(kind, text)
        assert newcomer.server.stop() == 0
    newcomer.shell(f"{sys.executable} shop.py")
    newcomer.shell(f"{sys.executable} -m pytest -q -p no:cacheprovider -o asyncio_mode=auto test_shop.py")
    assert newcomer.commands > 10


def test_both_pages_have_the_same_commands() -> None:
    """The translation drifts in no command and no file but for the words in them."""

    def commands(page: str) -> list[str]:
        blocks = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
        return [re.sub(r"by hand|a mano|#.*", "", text) for kind, text in blocks if kind in ("sh", "console", "text")]

    assert commands("README.md") == commands("README.es.md")
