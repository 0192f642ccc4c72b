"""The public holidays of a country, or of a part of one, from the library ``holidays``, imported when needed."""

from __future__ import annotations

from puntual.calendars.window import Window
from puntual.model.calendar import date_of, day_of
from puntual.model.errors import CalendarError, InvalidError


def public_holidays(country: str, subdivision: str | None, within: Window) -> tuple[set[int], int]:
    """The holidays within a window, and the last day that the library knows of. The first call takes longer.

    Args:
        country: its code, as ISO 3166-1 has it.
        subdivision: of which part.
        within: the days that matter.

    Raises:
        CalendarError: the library is not installed.
        InvalidError: it does not know the country or the part.
    """
    try:
        import holidays  # noqa: PLC0415 - 40 ms and an extra, for those who ask for a country
    except ModuleNotFoundError as error:
        raise CalendarError(
            "The holidays of countries come from a library that is not installed: pip install 'puntual[calendars]'",
            field="country",
        ) from error
    known = holidays.list_supported_countries()
    if country not in known:
        raise InvalidError(
            f"There are no holidays of a country {country!r}: write its code of ISO 3166-1, like CO.", field="country"
        )
    if subdivision is not None and subdivision not in known[country]:
        parts = ", ".join(known[country]) or "none"
        raise InvalidError(
            f"{country} has no subdivision {subdivision!r} with holidays of its own; it has {parts}.",
            field="subdivision",
        )
    found = holidays.country_holidays(country, subdiv=subdivision, years=within.years, expand=False)
    last = min(within.last, day_of(date_of(within.last).replace(year=min(found.end_year, date_of(within.last).year))))
    return {day for each in found if within.first <= (day := day_of(each)) <= within.last}, last
