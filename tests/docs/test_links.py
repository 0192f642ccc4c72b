from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support import docs


def broken(page: Path, link: str) -> str | None:
    """Why a link leads nowhere, or None when it leads somewhere; links to the outside are not followed."""
    parts = urlsplit(link)
    if parts.scheme:
        return None
    target = (page.parent / parts.path).resolve() if parts.path else page
    if not target.exists():
        return f"{link}: no such file"
    if not target.is_relative_to(docs.ROOT):
        return f"{link}: outside the repository"
    if parts.fragment and target.suffix == ".md" and parts.fragment not in docs.anchors(target):
        return f"{link}: no such heading"
    return None


@pytest.mark.parametrize("page", docs.pages(), ids=docs.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    """Links between pages, to headings and to source files all resolve."""
    assert [reason for link in docs.links(page) if (reason := broken(page, link))] == []


def test_every_page_is_reached_from_the_index() -> None:
    """No page under docs/ is an orphan: the index, or the index of decisions, links to it."""
    indexes = [docs.ROOT / "docs" / "README.md", docs.ROOT / "docs" / "adr" / "README.md"]
    linked = {(index.parent / link).resolve() for index in indexes for link in docs.links(index)}
    written = {page for page in docs.pages() if page.is_relative_to(docs.ROOT / "docs")}
    assert sorted(written - linked - {indexes[0]}) == []


def test_a_link_that_leads_nowhere_is_found() -> None:
    """The check bites: a missing file and a missing heading are both named."""
    page = docs.ROOT / "docs" / "README.md"
    assert broken(page, "no-such-page.md") == "no-such-page.md: no such file"
    assert broken(page, "../CONTRIBUTING.md#no-such-heading") == "../CONTRIBUTING.md#no-such-heading: no such heading"
