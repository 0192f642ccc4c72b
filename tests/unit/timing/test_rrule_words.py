"""The sentence of a recurrence rule says all of it, in both languages; calendars move its days as those of any rule."""

from __future__ import annotations

import pytest

from puntual.model.instant import LATEST, format_instant, parse_instant
from puntual.timing import rule as rules
from puntual.timing.calendar import CalendarDays
from puntual.timing.describe import sentences
from puntual.timing.recurrence.rule import RruleRule
from puntual.timing.rule import Closures, Timetable

NINE = "BYHOUR=9;BYMINUTE=0"
START = "2026-02-27T17:00:00"


@pytest.mark.parametrize(
    ("expr", "english", "spanish"),
    [
        (f"FREQ=DAILY;{NINE}", "At 09:00 every day", "A las 09:00 todos los días"),
        (f"FREQ=DAILY;BYMONTH=1;{NINE}", "At 09:00, in January", "A las 09:00, en enero"),
        (
            f"FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;{NINE}",
            "At 09:00 on Monday to Friday",
            "A las 09:00 de lunes a viernes",
        ),
        (
            f"FREQ=MONTHLY;BYMONTHDAY=1,15,-1,-3;{NINE}",
            "At 09:00 on days 1 and 15, the last day and the 2nd day before the last of the month",
            "A las 09:00 los días 1 y 15, el último día y el segundo día antes del último del mes",
        ),
        (
            f"FREQ=MONTHLY;BYDAY=TU,1MO,-1FR;{NINE}",
            "At 09:00 on Tuesday, the 1st Monday of the month and the last Friday of the month",
            "A las 09:00 los martes, el primer lunes del mes y el último viernes del mes",
        ),
        (
            f"FREQ=MONTHLY;BYDAY=-2SU;{NINE}",
            "At 09:00 on the 2nd Sunday from the end of the month",
            "A las 09:00 el segundo domingo desde el final del mes",
        ),
        (
            f"FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13;{NINE}",
            "At 09:00 on day 13 of the month if it is Friday",
            "A las 09:00 el día 13 del mes si cae en viernes",
        ),
        (
            f"FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1,2,3,-1;{NINE}",
            "At 09:00 on Monday to Friday, only the 1st to the 3rd and the last of these in each month",
            "A las 09:00 de lunes a viernes, solo el 1.º al 3.º y el último de ellos en cada mes",
        ),
        (
            f"FREQ=YEARLY;BYDAY=20MO;{NINE}",
            "At 09:00 on the 20th Monday of the year",
            "A las 09:00 el 20.º lunes del año",
        ),
        (
            f"FREQ=YEARLY;BYYEARDAY=100,-1;{NINE}",
            "At 09:00 on day 100 of the year and the last day of the year",
            "A las 09:00 el día 100 del año y el último día del año",
        ),
        (
            f"FREQ=YEARLY;BYWEEKNO=1,-1;BYDAY=MO;WKST=SU;{NINE}",
            "At 09:00 on Monday, in weeks 1 and -1 of the year, weeks beginning on Sunday",
            "A las 09:00 los lunes, en las semanas 1 y -1 del año, con semanas que empiezan en domingo",
        ),
        (
            "FREQ=DAILY;BYHOUR=8,9,10,11,12,13,14;BYMINUTE=0",
            "At minute 0 of hours 8 to 14 every day",
            "En el minuto 0 de las horas 8 a 14 todos los días",
        ),
        ("FREQ=MINUTELY", "Every minute", "Cada minuto"),
        (
            "FREQ=HOURLY;BYMINUTE=0,30;BYHOUR=9,10,11;BYDAY=MO",
            "Every hour at minutes 0 and 30, only at hours 9 to 11 on Monday",
            "Cada hora en los minutos 0 y 30, solo en las horas 9 a 11 los lunes",
        ),
        (
            "FREQ=MINUTELY;BYMINUTE=1;BYSECOND=10",
            "Every minute at second 10, only at minute 1",
            "Cada minuto en el segundo 10, solo en el minuto 1",
        ),
        (
            "FREQ=SECONDLY;BYSECOND=1,2",
            "Every second, only at seconds 1 and 2",
            "Cada segundo, solo en los segundos 1 y 2",
        ),
        (
            f"FREQ=DAILY;{NINE};UNTIL=20270101T000000Z",
            "At 09:00 every day, until 2027-01-01T00:00:00Z",
            "A las 09:00 todos los días, hasta 2027-01-01T00:00:00Z",
        ),
    ],
)
def test_a_rule_without_a_start_is_described(expr: str, english: str, spanish: str) -> None:
    """Each part has its words."""
    found = sentences(Timetable(rule=RruleRule(expr=expr)))
    assert found == {"en": f"{english} (UTC)", "es": f"{spanish} (UTC)"}


@pytest.mark.parametrize(
    ("expr", "english", "spanish"),
    [
        ("FREQ=DAILY", "At 17:00 every day, from {}", "A las 17:00 todos los días, desde {}"),
        (
            "FREQ=DAILY;INTERVAL=3;COUNT=1",
            "At 17:00 every 3 days, counted from {}, once",
            "A las 17:00 cada 3 días, contando desde {}, una vez",
        ),
        (
            "FREQ=WEEKLY;INTERVAL=2;COUNT=9",
            "At 17:00 every 2 weeks on Friday, counted from {}, 9 times",
            "A las 17:00 cada 2 semanas los viernes, contando desde {}, 9 veces",
        ),
        (
            "FREQ=MONTHLY;INTERVAL=3",
            "At 17:00 every 3 months on day 27 of the month, counted from {}",
            "A las 17:00 cada 3 meses el día 27 del mes, contando desde {}",
        ),
        (
            "FREQ=YEARLY;INTERVAL=2;UNTIL=20300101T120000",
            "At 17:00 every 2 years on day 27 of the month, in February, counted from {}, until 2030-01-01T12:00:00",
            "A las 17:00 cada 2 años el día 27 del mes, en febrero, contando desde {}, hasta 2030-01-01T12:00:00",
        ),
        (
            "FREQ=HOURLY;INTERVAL=5",
            "Every 5 hours at minute 0, counted from {}",
            "Cada 5 horas en el minuto 0, contando desde {}",
        ),
    ],
)
def test_a_rule_with_a_start_says_what_it_takes_from_there(expr: str, english: str, spanish: str) -> None:
    """And whether it only begins there or counts from there."""
    found = sentences(Timetable(rule=RruleRule(expr=expr, dtstart=START)))
    assert found == {"en": f"{english.format(START)} (UTC)", "es": f"{spanish.format(START)} (UTC)"}


def test_its_days_move_off_closed_ones() -> None:
    """A date of its own, not a tick, is what moves: 1 May 2026 is a Friday and a holiday."""
    closed = CalendarDays(name="holidays", version=1, dates=(parse_instant("2026-05-01T00:00:00Z") // 86_400_000_000,))
    closures = Closures(exclude=("holidays",), otherwise="next", calendars=(closed,))
    timetable = Timetable(rule=RruleRule(expr=f"FREQ=MONTHLY;BYMONTHDAY=1;{NINE}"), closures=closures)
    found = rules.compile(timetable).between(parse_instant("2026-04-15T00:00:00Z"), LATEST, 2)
    assert [format_instant(tick) for tick in found] == ["2026-05-04T09:00:00Z", "2026-06-01T09:00:00Z"]
