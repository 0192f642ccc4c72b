"""What calendars mean: their days, from what was written, from the holidays of a country, from an iCalendar."""

from __future__ import annotations

from puntual.calendars.feed import FeedSettings
from puntual.calendars.resolve import CalendarResolver

__all__ = ["CalendarResolver", "FeedSettings"]
