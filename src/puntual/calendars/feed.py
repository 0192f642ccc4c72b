"""An iCalendar is fetched as every request is sent: to vetted addresses only, within a deadline, and up to a size."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

import msgspec

from puntual.model.calendar import LONGEST_FEED, asked_url
from puntual.model.errors import CalendarError, InvalidError
from puntual.targets.http.exchange import Exchange
from puntual.targets.http.guard import Networks
from puntual.targets.http.request import check_http, read_request

if TYPE_CHECKING:
    from aiohttp.abc import AbstractResolver

    from puntual.targets.http.answer import Answer
    from puntual.targets.http.sender import Sender

#: Seconds, redirects included.
PATIENCE: Final = 30.0
_MOST_REDIRECTS: Final = 5
_HEADERS: Final = {"Accept": "text/calendar, */*;q=0.1", "Accept-Encoding": "gzip"}


class FeedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator decided for requests, and the version of puntual that they name."""

    allow_private: Networks = ()
    version: str = "0"


class Feeds:
    """Fetches feeds, each over a connection of its own: they are rare.

    Args:
        settings: what the operator decided.
        steady: seconds that only grow.
        resolver: looks names up instead of the operating system.
    """

    def __init__(
        self, settings: FeedSettings, steady: Callable[[], float], resolver: AbstractResolver | None = None
    ) -> None:
        self._settings = settings
        self._steady = steady
        self._resolver = resolver

    async def fetch(self, url: str) -> str:
        """The text behind an address.

        Raises:
            InvalidError: the address cannot be used.
            CalendarError: it does not answer, answers with something else, or leads where we do not go.
        """
        from puntual.targets.http.sender import Sender, SenderOptions  # noqa: PLC0415 - 150 ms that only feeds pay

        options = SenderOptions(self._settings.allow_private, LONGEST_FEED, f"puntual/{self._settings.version}")
        sender = Sender(options, self._resolver)
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await self._follow(sender, self._checked(asked_url(url)))
        except TimeoutError:
            raise _trouble(url, f"it did not answer within {PATIENCE:.0f} seconds") from None
        finally:
            await sender.close()
        if answer.truncated:
            raise _trouble(url, f"it is longer than {LONGEST_FEED >> 20} MB")
        return answer.body.decode("utf-8", errors="replace")

    async def _follow(self, sender: Sender, url: str) -> Answer:
        for _ in range(_MOST_REDIRECTS + 1):
            answer = await self._ask(sender, url)
            location = answer.header("location")
            if answer.status // 100 != 3 or not location:
                return _good(url, answer)
            url = self._next(url, location)
        raise _trouble(url, f"it leads on more than {_MOST_REDIRECTS} times")

    def _next(self, url: str, location: str) -> str:
        try:
            found = urljoin(url, location).partition("#")[0]
            scheme = urlsplit(found).scheme
        except ValueError:
            raise _trouble(url, "where it leads is no address") from None
        if urlsplit(url).scheme == "https" and scheme != "https":
            raise _trouble(url, "it leads from https to an address that is not")
        try:
            return self._checked(found)
        except InvalidError as error:
            raise _trouble(url, f"where it leads cannot be used: {error.message}") from None

    def _checked(self, url: str) -> str:
        check_http({"url": url}, field="ical", guard=self._settings.allow_private)
        return url

    async def _ask(self, sender: Sender, url: str) -> Answer:
        from puntual.targets.http.failure import failure_of  # noqa: PLC0415 - as in fetch

        request = read_request(msgspec.json.encode({"url": url, "headers": _HEADERS}), field="ical")
        exchange = Exchange(self._steady)
        try:
            return await sender.send(request, None, exchange)
        except Exception as error:
            host = urlsplit(url).hostname or ""
            failure = failure_of(error, exchange, host, self._settings.allow_private).error
            raise CalendarError(failure.message if failure else str(error), field="ical") from error


def _good(url: str, answer: Answer) -> Answer:
    if answer.status != 200:
        raise _trouble(url, f"it answered {answer.status}")
    if answer.broken:
        raise _trouble(url, "its answer broke off")
    return answer


def _trouble(url: str, why: str) -> CalendarError:
    # Never the whole address: many a feed has its only key in there.
    return CalendarError(f"The iCalendar of {urlsplit(url).hostname} was not fetched: {why}.", field="ical")
