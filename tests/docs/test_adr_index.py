from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import docs

FOLDER = docs.ROOT / "docs" / "adr"
RECORDS = sorted(FOLDER.glob("[0-9]*.md"))
ROW = re.compile(r"^\| \[(\d{4})\]\(([^)]+)\) \| (.+?) \| (.+?) \|$", re.MULTILINE)


def row(record: Path) -> tuple[str, str, str, str]:
    """The line of the index that a record asks for."""
    text = record.read_text(encoding="utf-8")
    title = re.match(r"# (\d{4}) (.+)", text)
    status = re.search(r"^## Status\n\n(.+)$", text, re.MULTILINE)
    assert title is not None, "a record begins with its number and title"
    assert status is not None, "a record has a status"
    return title[1], record.name, title[2], status[1]


def test_the_index_lists_every_record_with_its_title_and_status() -> None:
    """The index and the records say the same, in the same order."""
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert ROW.findall(index) == [row(record) for record in RECORDS]


def test_records_are_numbered_without_holes() -> None:
    """A number is never left out nor used twice."""
    numbers = [int(record.name[:4]) for record in RECORDS]
    assert numbers == list(range(1, len(RECORDS) + 1))


@pytest.mark.parametrize("record", RECORDS, ids=docs.name)
def test_a_record_has_its_four_sections_in_order(record: Path) -> None:
    """Status, Context, Decision, Consequences, and nothing else at that level."""
    sections = re.findall(r"^## (.+)$", record.read_text(encoding="utf-8"), re.MULTILINE)
    assert sections == ["Status", "Context", "Decision", "Consequences"]
