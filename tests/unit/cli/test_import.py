"""``puntual import crontab``: how a file is read is said, and what is wrong goes beside the manifest."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from puntual.cli import import_
from puntual.cli.root import run


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings are the defaults, and whatever is written shows."""
    monkeypatch.chdir(tmp_path)


def imported(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> tuple[str, str]:
    """What goes to standard output and to standard error."""
    assert run(["import", "crontab", *words]) == code
    said = capsys.readouterr()
    return said.out, said.err


def test_a_manifest_goes_to_standard_output_and_nothing_is_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """All else is said on standard error, and no database is made."""
    (tmp_path / "jobs").write_text("@daily x\n")
    out, err = imported(capsys, "jobs", "--queue", "web1", "--timezone", "Europe/Madrid")
    assert out.startswith("# Made from jobs, read as a user's crontab")
    assert "queue: web1" in out
    assert "timezone: Europe/Madrid" in out
    assert err == "Read as a user's crontab (--system says otherwise): 1 schedule.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["jobs"]


def test_what_cannot_be_read_ends_with_1_and_the_rest_is_printed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Each such line is an error with its number; one that has no place here is none."""
    (tmp_path / "jobs").write_text("@reboot a\n61 * * * * b\n@daily root c\n")
    out, err = imported(capsys, "jobs", code=1)
    assert "shell: root c" in out
    assert [line.split(":")[0] for line in err.splitlines()[1:]] == ["Warning", "Left out", "Error"]
    (tmp_path / "jobs").write_text("@reboot a\n")
    imported(capsys, "jobs")


def test_standard_input_is_read(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """As a user's crontab, unless it is said that it is the system's."""
    for words, line in (((), b"@daily x\n"), (("--system",), b"@daily root x\n")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line)))
        out, err = imported(capsys, "-", *words)
        assert "shell: x\n" in out
        assert ("a system crontab" in err) == bool(words)


@pytest.mark.parametrize(
    ("path", "system"),
    [
        ("/etc/crontab", True),
        ("/etc/cron.d/php", True),
        ("/var/spool/cron/crontabs/ana", False),
        ("crontab", False),
        ("/etc/crontab.old", False),
    ],
)
def test_where_a_file_lies_says_whether_it_has_users(path: str, *, system: bool) -> None:
    """By its full path, and said in the manifest; an option overrides it."""
    reading = import_._reading(path, None)
    assert reading.system is system
    assert ("where it lies" in reading.why) is system
    assert import_._reading(path, not system).system is not system


def test_the_json_answer_has_all_of_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """In one document, whatever was wrong."""
    (tmp_path / "jobs").write_text("nonsense\n@daily x\n")
    assert run(["--json", "import", "crontab", "jobs"]) == 1
    reply = json.loads(capsys.readouterr().out)
    assert list(reply) == ["manifest", "schedules", "left_out", "warnings"]
    assert len(reply["schedules"]) == 1
    assert reply["left_out"][0]["number"] == 1


@pytest.mark.parametrize("words", [("none",), ("jobs", "--timezone", "X/Y"), ("jobs", "--queue", "a b"), (".",)])
def test_a_wrong_request_ends_with_2(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: tuple[str, ...]
) -> None:
    """A file that is not there, a zone or a queue that is none: nothing is printed."""
    (tmp_path / "jobs").write_text("@daily x\n")
    out, err = imported(capsys, *words, code=2)
    assert out == ""
    assert err.startswith("Error: ")
