"""A calendar's definition becomes its days: what was written, a country's holidays and an iCalendar, taken together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from puntual.calendars.country import public_holidays
from puntual.calendars.feed import Feeds, FeedSettings
from puntual.calendars.ical import ical_days
from puntual.calendars.window import Window, window
from puntual.model.calendar import MOST_DAYS, CalendarSpec, days_of
from puntual.model.errors import InvalidError
from puntual.model.instant import Instant
from puntual.timing.calendar import CalendarDays

if TYPE_CHECKING:
    from aiohttp.abc import AbstractResolver


class CalendarResolver:
    """Finds out what calendars mean.

    Args:
        settings: what the operator decided for requests.
        steady: seconds that only grow.
        resolver: looks names up instead of the operating system.
    """

    def __init__(
        self, settings: FeedSettings, steady: Callable[[], float], *, resolver: AbstractResolver | None = None
    ) -> None:
        self._feeds = Feeds(settings, steady, resolver)

    async def __call__(self, name: str, spec: CalendarSpec, now: Instant) -> CalendarDays:
        """The days of a calendar as they are known now, with version 0: it is the store's affair.

        Days that were written are all of them; of holidays and repeated events, those of last year up to ten years on.

        Raises:
            InvalidError: the definition cannot be used: an unknown country, a text that is no iCalendar.
            CalendarError: its days cannot be found out now: a feed does not answer, a library is not installed.
        """
        text = spec.ical if spec.feed is None else await self._feeds.fetch(spec.feed)
        # Reading holidays and events takes up to seconds of processor time, and heartbeats must go on.
        return await asyncio.to_thread(_days, name, spec, text, window(now))


def _days(name: str, spec: CalendarSpec, ical: str | None, within: Window) -> CalendarDays:
    dates = {day for text in spec.dates for day in days_of(text)}
    until = None
    if ical is not None:
        dates |= ical_days(ical, within)
        until = within.last
    if spec.country is not None:
        holidays, until = public_holidays(spec.country, spec.subdivision, within)
        dates |= holidays
    if len(dates) > MOST_DAYS:
        raise InvalidError(f"It has {len(dates):,} days, and {MOST_DAYS:,} are the most.", field="dates")
    return CalendarDays(name=name, version=0, dates=tuple(sorted(dates)), weekdays=spec.weekdays, until=until)
