from __future__ import annotations

import pytest

from puntual.manifest.names import check_name
from puntual.model.errors import InvalidManifestError


@pytest.mark.parametrize(
    "name", ["a", "nightly-report", "billing.eu:2@x+y", "_hidden", "2fast", "informe-añual", "報告", "दिन", "x" * 200]
)
def test_names_that_stand_anywhere_are_taken(name: str) -> None:
    """Letters and digits of any script and a few signs need no quotes in a URL, a shell or a log."""
    assert check_name(name, field="name") == name


@pytest.mark.parametrize(
    ("name", "because"),
    [
        ("", "is empty"),
        ("x" * 201, "201 characters"),
        ("a b", "' '"),
        ("a/b", "'/'"),
        ("../etc", "'/'"),
        ("..", "starts with '.'"),
        ("-rf", "starts with '-'"),
        ("a\nb", r"'\n'"),
        ("a\x1b[31m", r"'\x1b'"),
        ("a\u202eb", r"'\u202e'"),
        ("a\u200bb", r"'\u200b'"),
        ("\u3164", "holds"),
        ("a?b", "'?'"),
        ("a%2Fb", "'%'"),
        ("a,b", "','"),
        ("a'b", '"\'"'),
        ("<b>", "'<'"),
        ("😀", "holds"),
        ("cafe\u0301", "composed"),
    ],
)
def test_hostile_names_are_refused_with_what_is_in_the_way(name: str, because: str) -> None:
    """What breaks a path, a shell or a terminal, or looks like another name, is refused in one sentence."""
    with pytest.raises(InvalidManifestError) as caught:
        check_name(name, field="schedules.x")
    assert because in caught.value.message
    assert caught.value.field == "schedules.x"
    assert caught.value.message.isprintable()
