from __future__ import annotations

import aiohttp
import pytest

from puntual.targets.http.exchange import Exchange
from puntual.targets.http.failure import failure_of


class Broken(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize("connected", [True, False])
@pytest.mark.parametrize(
    ("error", "says"),
    [
        (Broken(), "<Broken whose text cannot be shown: ValueError>"),
        (ValueError("a\0b\ud800"), "a\\x00b\\ud800"),
        (OSError(-2, "a\0b"), "a\\x00b"),
        (aiohttp.http_exceptions.BadHttpMessage("x\0y"), "x\\x00y"),
    ],
)
def test_whatever_the_client_raises_becomes_text_that_every_store_takes(
    error: Exception,
    says: str,
    connected: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """Also an error that fails when it is asked what it is."""
    exchange = Exchange(lambda: 0.0)
    exchange.connected = connected
    outcome = failure_of(error, exchange, "example.com", ())
    assert outcome.error is not None
    assert says in outcome.error.message
