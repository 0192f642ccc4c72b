"""Feeds: fetched from vetted addresses only, followed a few times, and never longer or later than is borne."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator

import pytest

from puntual.calendars import feed as feeds
from puntual.calendars.feed import Feeds, FeedSettings
from puntual.model.errors import CalendarError, InvalidError
from tests.support.fault_server import FaultServer, answer
from tests.support.http import LOOPBACK, KnownNames, StillClock, untrusted_tls

TEXT = "BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n"
OPEN = FeedSettings(allow_private=(LOOPBACK,), version="1.2.3")


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    """A server on 127.0.0.1 with a feed at /fair.ics."""
    async with FaultServer() as running:
        running.answers["/fair.ics"] = answer(body=TEXT.encode(), content_type="text/calendar")
        yield running


async def fetch(url: str, settings: FeedSettings = OPEN, names: KnownNames | None = None) -> str:
    """What is behind an address."""
    return await Feeds(settings, StillClock().steady, names).fetch(url)


def leading(place: str) -> bytes:
    """An answer that leads elsewhere."""
    return answer("302 Found", location=place)


async def test_a_feed_is_fetched(server: FaultServer) -> None:
    """By name and version, for nobody's run, and asking for a calendar."""
    assert await fetch(server.url("/fair.ics?key=1")) == TEXT
    (request,) = server.requests
    assert (request.method, request.target) == ("GET", "/fair.ics?key=1")
    assert request.headers["user-agent"] == "puntual/1.2.3"
    assert request.headers["accept"].startswith("text/calendar")
    assert "idempotency-key" not in request.headers


async def test_a_packed_feed_is_unpacked(server: FaultServer) -> None:
    """Large calendars come packed."""
    server.answers["/fair.ics"] = answer(body=gzip.compress(TEXT.encode()), content_encoding="gzip")
    assert await fetch(server.url("/fair.ics")) == TEXT


async def test_a_feed_that_leads_elsewhere_is_followed(server: FaultServer) -> None:
    """Also to a place that is said relative to it."""
    server.answers |= {"/old": leading("/older"), "/older": leading(server.url("/fair.ics"))}
    assert await fetch(server.url("/old")) == TEXT


async def test_a_feed_that_leads_in_circles_is_left(server: FaultServer) -> None:
    """After a few steps."""
    server.answers["/round"] = leading("/round")
    with pytest.raises(CalendarError, match="more than 5 times"):
        await fetch(server.url("/round"))
    assert len(server.requests) == 6


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1:9/fair.ics", "127.0.0.1, a loopback address"),
        ("http://169.254.169.254/latest", "metadata"),
        ("webcal://127.0.0.1/fair.ics", "a loopback address"),
        ("ftp://example.com/fair.ics", "absolute"),
        ("http://user:secret@example.com/", "no user or password"),
    ],
)
async def test_an_address_that_may_not_be_asked_is_refused(url: str, said: str) -> None:
    """Before anything is sent."""
    with pytest.raises(InvalidError, match=said) as caught:
        await fetch(url, FeedSettings())
    assert "secret" not in caught.value.message


async def test_a_name_that_leads_to_a_private_address_is_refused(server: FaultServer) -> None:
    """Where the socket is opened; nothing is sent."""
    names = KnownNames({"calendar.example": ["127.0.0.1"]})
    with pytest.raises(CalendarError, match=r"leads to 127\.0\.0\.1, a loopback address, so nothing was sent"):
        await fetch(server.url("/fair.ics", "calendar.example"), FeedSettings(), names)
    assert server.requests == []


@pytest.mark.parametrize("place", ["http://10.0.0.1/x", "http://[::1]/x", "file:///etc/passwd", "http://bad host/"])
async def test_a_feed_may_not_lead_to_what_may_not_be_asked(server: FaultServer, place: str) -> None:
    """A redirect is no way around the guard."""
    server.answers["/old"] = leading(place)
    with pytest.raises(CalendarError, match="where it leads cannot be used"):
        await fetch(server.url("/old"))


@pytest.mark.parametrize("place", ["http://[::1", "http://[x]/"])
async def test_a_place_that_is_no_address_is_said_to_be_none(server: FaultServer, place: str) -> None:
    """However strange it is, it is the feed's fault and no crash."""
    server.answers["/old"] = leading(place)
    with pytest.raises(CalendarError, match="where it leads"):
        await fetch(server.url("/old"))


async def test_a_safe_feed_may_not_lead_to_an_unsafe_one() -> None:
    """From https to http, nobody could tell who answers."""
    with pytest.raises(CalendarError, match="from https to an address that is not"):
        Feeds(OPEN, StillClock().steady)._next("https://example.com/a", "http://example.com/b")


async def test_a_certificate_that_nobody_signed_is_refused() -> None:
    """And webcal is asked over TLS."""
    async with FaultServer(untrusted_tls()) as server:
        with pytest.raises(CalendarError, match="No safe connection"):
            await fetch(server.url("/fair.ics").replace("https:", "webcal:"))


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/gone", "it answered 404"),
        ("/empty", "it answered 204"),
        ("/farewell", "no readable answer came"),
        ("/reset", "no readable answer came"),
        ("/short", "its answer broke off"),
        ("/endless", "longer than 4 MB"),
    ],
)
async def test_a_bad_answer_is_trouble(server: FaultServer, path: str, said: str) -> None:
    """One sentence that names the host, and never the whole address, which may be its only key."""
    server.answers |= {"/gone": answer("404 Not Found"), "/empty": answer("204 No Content")}
    with pytest.raises(CalendarError, match=said) as caught:
        await fetch(server.url(f"{path}?key=secret"))
    assert "secret" not in caught.value.message
    assert caught.value.field == "ical"


async def test_a_feed_that_says_nothing_is_left_in_time(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it would go on."""
    monkeypatch.setattr(feeds, "PATIENCE", 0.05)
    with pytest.raises(CalendarError, match="did not answer within"):
        await fetch(server.url("/silence"))
    async with asyncio.timeout(5):
        await server.left.wait()
