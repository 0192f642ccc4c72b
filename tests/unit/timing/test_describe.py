"""The sentence of a rule in Spanish says what the English one says."""

from __future__ import annotations

import pytest

from puntual.model.instant import DAY, MINUTE
from puntual.timing import rule as rules
from puntual.timing.clock import ClockRule
from puntual.timing.cron.fields import CronDialect
from puntual.timing.describe import describe, sentences


@pytest.mark.parametrize(
    ("expr", "dialect", "sentence"),
    [
        ("30 9 * * 1-5", "unix", "A las 09:30 de lunes a viernes (UTC)"),
        ("0 1 * * *", "unix", "A la 01:00 todos los días (UTC)"),
        ("* * * * *", "unix", "Cada minuto (UTC)"),
        ("*/5 * * * *", "unix", "Cada 5 minutos (UTC)"),
        ("*/7 * * * *", "unix", "En los minutos 0, 7, 14, 21, 28, 35, 42, 49 y 56 de cada hora (UTC)"),
        ("0 */2 * * *", "unix", "En el minuto 0 de cada 2 horas (UTC)"),
        ("*/10 9-17 * * *", "unix", "Cada 10 minutos de las horas 9 a 17 (UTC)"),
        ("0,30 9 * * *", "unix", "A las 09:00 y 09:30 todos los días (UTC)"),
        ("0 0 1,15 1-3 *", "unix", "A las 00:00 los días 1 y 15 del mes, de enero a marzo (UTC)"),
        ("0 0 1 1,6-8 *", "unix", "A las 00:00 el día 1 del mes, en enero y de junio a agosto (UTC)"),
        ("0 0 L-2 * *", "unix", "A las 00:00 el segundo día antes del último del mes (UTC)"),
        ("0 0 L-7 * *", "unix", "A las 00:00 el 7.º día antes del último del mes (UTC)"),
        ("0 0 15W * *", "unix", "A las 00:00 el día hábil más cercano al día 15 del mes (UTC)"),
        ("0 0 LW * *", "unix", "A las 00:00 el último día hábil del mes (UTC)"),
        ("0 0 * * SUN#3,5L", "unix", "A las 00:00 el tercer domingo del mes y el último viernes del mes (UTC)"),
        ("0 0 1 * MON", "unix", "A las 00:00 el día 1 del mes o los lunes (UTC)"),
        ("0 0 1-31 * MON", "unix", "A las 00:00 cualquier día o los lunes (UTC)"),
        ("0 0 * * 1,3-5,0", "unix", "A las 00:00 los lunes, de miércoles a viernes y los domingos (UTC)"),
        ("0 0 */16 * MON-FRI", "unix", "A las 00:00 los días 1 y 17 del mes si cae de lunes a viernes (UTC)"),
        ("15 * * * * *", "seconds", "En el segundo 15 de cada minuto (UTC)"),
        ("15 3 * * * *", "seconds", "En el segundo 15 del minuto 3 de cada hora (UTC)"),
        ("0 0 12 ? * 2 2027-2029", "quartz", "A las 12:00 los lunes, en los años 2027 a 2029 (UTC)"),
    ],
)
def test_cron_in_a_spanish_sentence(expr: str, dialect: CronDialect, sentence: str) -> None:
    """Times, days, months and years are all there, and the zone is named."""
    assert describe(rules.Timetable(rule=rules.CronRule(expr=expr, dialect=dialect)), "es") == sentence


@pytest.mark.parametrize(
    ("rule", "english", "spanish"),
    [
        (
            ClockRule(at=("07:40", "21:10"), weekday="SAT,SUN"),
            "At 07:40 and 21:10 on Saturday and Sunday (UTC)",
            "A las 07:40 y 21:10 los sábados y domingos (UTC)",
        ),
        (
            ClockRule(every_us=15 * MINUTE, since="09:00", until="17:00", month="6-8"),
            "Every 15 minutes from 09:00 to 17:00, in June to August (UTC)",
            "Cada 15 minutos de las 09:00 a las 17:00, de junio a agosto (UTC)",
        ),
        (
            ClockRule(at=("12:00",), weekday="FRI", cycle_days=14, anchor="2026-02-27"),
            "At 12:00 every 2 weeks on Friday, counted from 2026-02-27 (UTC)",
            "A las 12:00 cada 2 semanas los viernes, contando desde 2026-02-27 (UTC)",
        ),
        (
            ClockRule(at=("09:00",), cycle_days=3, anchor="2026-01-01"),
            "At 09:00 every 3 days, counted from 2026-01-01 (UTC)",
            "A las 09:00 cada 3 días, contando desde 2026-01-01 (UTC)",
        ),
        (
            ClockRule(at=("09:00",), working_days=(-2, -1, 1, 12)),
            (
                "At 09:00 on the 1st working day before the last, the last working day, the 1st working day and "
                "the 12th working day of the month (UTC)"
            ),
            (
                "A las 09:00 el primer día hábil antes del último, el último día hábil, el primer día hábil y el 12.º "
                "día hábil del mes (UTC)"
            ),
        ),
        (
            rules.IntervalRule(period_us=90 * MINUTE, anchor=0),
            "Every 1h30m, counted from 1970-01-01T00:00:00Z",
            "Cada 1h30m, contando desde 1970-01-01T00:00:00Z",
        ),
        (
            rules.OnceRule(wall="2027-01-01T00:00:00"),
            "Once at 2027-01-01T00:00:00 (UTC)",
            "Una vez, el 2027-01-01T00:00:00 (UTC)",
        ),
    ],
)
def test_other_rules_in_both_languages(rule: rules.Rule, english: str, spanish: str) -> None:
    """Every kind of rule has its sentences."""
    assert sentences(rules.Timetable(rule=rule)) == {"en": english, "es": spanish}


def test_lists_and_bounds_in_spanish() -> None:
    """Parts are joined, and bounds are told."""
    parts = (rules.CronRule(expr="@daily", dialect="unix"), rules.CronRule(expr="0 9 * * 6", dialect="unix"))
    timetable = rules.Timetable(rule=rules.AnyRule(rules=parts), start=0, end=DAY)
    assert describe(timetable, "es") == (
        "A las 00:00 todos los días; o bien a las 09:00 los sábados (UTC), "
        "desde 1970-01-01T00:00:00Z, hasta 1970-01-02T00:00:00Z"
    )
