"""The holidays of countries, and what is said where there are none."""

from __future__ import annotations

import sys
from datetime import date

import pytest

from puntual.calendars.country import public_holidays
from puntual.calendars.window import window
from puntual.model.calendar import date_of, day_of
from puntual.model.errors import CalendarError, InvalidError
from puntual.model.instant import parse_instant

WITHIN = window(parse_instant("2026-05-28T20:26:40Z"))


def test_a_window_goes_from_last_year_to_ten_years_on() -> None:
    """Whole years, whatever the day."""
    assert (date_of(WITHIN.first), date_of(WITHIN.last)) == (date(2025, 1, 1), date(2036, 12, 31))
    assert window(parse_instant("2026-12-31T23:59:59Z")) == WITHIN
    assert [*WITHIN.years] == [*range(2025, 2037)]


def test_holidays_are_those_of_the_country() -> None:
    """Colombia moves many of its holidays to a Monday."""
    found, until = public_holidays("CO", None, WITHIN)
    assert {day_of(date(2026, 6, 8)), day_of(date(2026, 6, 15)), day_of(date(2026, 12, 8))} < found
    assert day_of(date(2026, 12, 24)) not in found
    assert all(WITHIN.first <= day <= WITHIN.last for day in found)
    assert until == WITHIN.last


def test_a_part_of_a_country_has_its_own() -> None:
    """Epiphany is a holiday in Bavaria, and not in Berlin."""
    epiphany = day_of(date(2026, 1, 6))
    assert epiphany in public_holidays("DE", "BY", WITHIN)[0]
    assert epiphany not in public_holidays("DE", "BE", WITHIN)[0]


@pytest.mark.parametrize(
    ("country", "subdivision", "field", "said"),
    [
        ("XX", None, "country", "a country 'XX': write its code"),
        ("DE", "BX", "subdivision", "'BX' .* it has .*, BY, "),
        ("MC", "99", "subdivision", "'99' .* it has none"),
    ],
)
def test_an_unknown_place_is_refused(country: str, subdivision: str | None, field: str, said: str) -> None:
    """With what there is."""
    with pytest.raises(InvalidError, match=said) as caught:
        public_holidays(country, subdivision, WITHIN)
    assert caught.value.field == field


def test_without_the_library_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has to guess what to install."""
    monkeypatch.setitem(sys.modules, "holidays", None)
    with pytest.raises(CalendarError, match=r"pip install 'puntual\[calendars\]'"):
        public_holidays("CO", None, WITHIN)
