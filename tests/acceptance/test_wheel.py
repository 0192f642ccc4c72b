"""The wheel alone, in a bare environment: installed, started in an empty folder, asked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.served import Served

ROOT = Path(__file__).resolve().parents[2]


class Installed(Served):
    """A server from an environment that has nothing but the wheel and what it asks for."""

    def __init__(self, folder: Path, environment: Path) -> None:
        super().__init__(folder)
        self.puntual = environment / "bin" / "puntual"

    def command(self, *arguments: str) -> list[str]:
        """The installed program."""
        return [str(self.puntual), *arguments]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder / "dist"), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    pip = [str(folder / "venv" / "bin" / "python"), "-m", "pip", "install", "--quiet", str(wheel)]
    subprocess.run(pip, check=True, capture_output=True)
    return folder / "venv"


@pytest.mark.timeout(400)
def test_the_wheel_starts_in_an_empty_folder_and_says_where_things_are(environment: Path, tmp_path: Path) -> None:
    """`pip install dist/*.whl && puntual serve`: data, token and address are in what it prints."""
    with Installed(tmp_path, environment) as served:
        served.settings["LOG_FORMAT"] = "console"
        served.start()
        served.wait_for_log("is running")
        said = served.log.read_text()
        assert str(tmp_path / "puntual.db") in said
        assert str(tmp_path / "puntual.token") in said
        assert "http://127.0.0.1:" in said
        assert (tmp_path / "puntual.token").stat().st_mode & 0o777 == 0o600
        assert served.run("schedule", "list", "--json").returncode == 0
        assert served.stop() == 0
