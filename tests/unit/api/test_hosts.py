"""Which Host and which Origin is meant for us."""

from __future__ import annotations

import msgspec
import pytest

from puntual.api.hosts import allowed_names, is_ours, same_origin
from puntual.settings import Settings

SETTINGS = msgspec.structs.replace(Settings(), host="Jobs.lan", public_url="https://puntual.example.com:8443/base")


def test_the_names_are_loopback_host_and_public_url() -> None:
    """In lower case, without ports."""
    assert allowed_names(SETTINGS) == {"localhost", "jobs.lan", "puntual.example.com"}


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:8787",
        "jobs.lan",
        "puntual.example.com:1",
        "127.0.0.1:8787",
        "[::1]:8787",
        "10.1.2.3",
        "jobs.lan.",
    ],
)
def test_addresses_and_own_names_are_ours(host: str) -> None:
    """With any port: a rebound name is what is dangerous, and an address is none."""
    assert is_ours(host, allowed_names(SETTINGS))


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example",
        "localhost.evil",
        "evil.localhost",
        "127.0.0.1.evil",
        "0x7f.1",
        "1.1.1",
        "a b",
        "a/b",
        "jobs.lan:x",
        "::1",
        "[evil]",
    ],
)
def test_everything_else_is_not(host: str | None) -> None:
    """Other names, and what is no host at all."""
    assert not is_ours(host, allowed_names(SETTINGS))


@pytest.mark.parametrize(
    ("origin", "same"),
    [
        ("http://localhost:8787", True),
        ("https://LOCALHOST:8787", True),
        ("https://puntual.example.com:8443", True),
        ("http://puntual.example.com:8443", False),
        ("http://localhost", False),
        ("http://localhost:8788", False),
        ("null", False),
        ("", False),
        ("localhost:8787", False),
    ],
)
def test_an_origin_is_ours_by_the_host_asked_for_or_by_the_public_url(origin: str, same: bool) -> None:  # noqa: FBT001 - a column of the table
    """Port included; behind a proxy that speaks https too."""
    assert same_origin(origin, "localhost:8787", SETTINGS.public_url) is same
