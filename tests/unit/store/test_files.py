"""A finished file gets its name and takes it from nobody, with hard links and without."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from puntual.store.files import give_name


@pytest.fixture(params=["links", "no links"])
def part(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished file, on a file system of each kind."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    if request.param == "no links":
        monkeypatch.setattr(os, "link", refuse)
    file = tmp_path / "file.part"
    file.write_text("whole")
    file.chmod(0o600)
    return file


def test_it_has_its_name_and_no_other(part: Path) -> None:
    """Text and mode are as they were."""
    give_name(part, part.with_name("file"))
    assert [file.name for file in part.parent.iterdir()] == ["file"]
    assert part.with_name("file").read_text() == "whole"
    assert part.with_name("file").stat().st_mode & 0o777 == 0o600


def test_a_name_that_is_taken_stays_whose_it_is(part: Path) -> None:
    """Both files stay as they are."""
    part.with_name("file").write_text("precious")
    with pytest.raises(FileExistsError):
        give_name(part, part.with_name("file"))
    assert (part.with_name("file").read_text(), part.read_text()) == ("precious", "whole")


def test_a_dangling_link_is_taken_too(part: Path) -> None:
    """Nothing is written to where it points."""
    part.with_name("file").symlink_to("elsewhere")
    with pytest.raises(FileExistsError):
        give_name(part, part.with_name("file"))
    assert not part.with_name("elsewhere").exists()


def test_what_fails_leaves_the_name_free(part: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The empty file that kept the name goes again."""

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "link", fail)
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="Input/output"):
        give_name(part, part.with_name("file"))
    assert not part.with_name("file").exists()
