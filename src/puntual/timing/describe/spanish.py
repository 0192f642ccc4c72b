"""The words of Spanish sentences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from puntual.timing.describe.words import RecurrenceWords, Run, Words, listed

_WEEKDAYS: Final = ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo")
_PLURALS: Final = (*_WEEKDAYS[:5], "sábados", "domingos")
_MONTHS: Final = (
    *("", "enero", "febrero", "marzo", "abril", "mayo", "junio"),
    *("julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"),
)
_ORDINALS: Final = ("", "primer", "segundo", "tercer", "cuarto", "quinto")


def ordinal(number: int) -> str:
    """``primer`` to ``quinto``, then ``6.º``."""
    return _ORDINALS[number] if number < len(_ORDINALS) else f"{number}.º"


def _at(times: Sequence[str]) -> str:
    article = "la" if times[0].startswith("01:") else "las"
    return f"a {article} {listed(times, 'y')}"


def _weekdays(runs: Sequence[Run]) -> str:
    """``los lunes y jueves``, ``de lunes a viernes``, ``los lunes y de viernes a domingo``."""
    articled = [True, *(before[0] != before[1] for before, _ in pairwise(runs))]
    return listed(
        [
            f"de {_WEEKDAYS[a]} a {_WEEKDAYS[b]}" if a != b else ("los " if article else "") + _PLURALS[a]
            for (a, b), article in zip(runs, articled, strict=True)
        ],
        "y",
    )


def _bare_weekdays(runs: Sequence[Run]) -> str:
    return listed([f"en {_WEEKDAYS[a]}" if a == b else f"de {_WEEKDAYS[a]} a {_WEEKDAYS[b]}" for a, b in runs], "o")


def _months(runs: Sequence[Run]) -> str:
    """``en marzo``, ``de enero a marzo``, ``en enero y de junio a agosto``."""
    names = [_MONTHS[a] if a == b else f"de {_MONTHS[a]} a {_MONTHS[b]}" for a, b in runs]
    return (", en " if runs[0][0] == runs[0][1] else ", ") + listed(names, "y")


_UNITS: Final = {
    "second": ("segundo", "segundos"),
    "minute": ("minuto", "minutos"),
    "hour": ("hora", "horas"),
    "day": ("día", "días"),
    "exact day": ("día", "días exactos"),
    "week": ("semana", "semanas"),
}


def _nth(which: int, noun: str, period: str) -> str:
    """``el primer lunes del mes``, ``el último día del año``, ``el segundo viernes desde el final del mes``."""
    if which > 0:
        return f"el {ordinal(which)} {noun} del {period}"
    return (
        f"el último {noun} del {period}" if which == -1 else f"el {ordinal(-which)} {noun} desde el final del {period}"
    )


def _which(number: int) -> str:
    if number > 0:
        return f"el {number}.º"
    return "el último" if number == -1 else f"el {-number}.º desde el final"


_RECURRENCE: Final = RecurrenceWords(
    units={
        "SECONDLY": ("segundo", "segundos"),
        "MINUTELY": ("minuto", "minutos"),
        "HOURLY": ("hora", "horas"),
        "DAILY": ("día", "días"),
        "WEEKLY": ("semana", "semanas"),
        "MONTHLY": ("mes", "meses"),
        "YEARLY": ("año", "años"),
    },
    nth=_nth,
    which=_which,
    times=lambda count: ", una vez" if count == 1 else f", {count} veces",
    of_year="{} del año",
    weeks=(", en la semana {} del año", ", en las semanas {} del año"),
    chosen=", solo {} de ellos en cada {}",
    only=", solo {}",
    week_starts=", con semanas que empiezan en {}",
)

SPANISH: Final = Words(
    units=_UNITS,
    idioms=frozenset({8, 15}),
    numbered={
        "second": ("el segundo", "los segundos"),
        "minute": ("el minuto", "los minutos"),
        "hour": ("la hora", "las horas"),
    },
    at=_at,
    weekdays=_weekdays,
    bare_weekdays=_bare_weekdays,
    weekday_names=_WEEKDAYS,
    months=_months,
    ordinal=ordinal,
    every="cada {}",
    and_="y",
    to="{} a {}",
    of=" de ",
    within="en ",
    every_day=" todos los días",
    any_day="cualquier día",
    any_weekday="cualquier día de la semana",
    day="el día {}",
    days="los días {}",
    last_day="el último día",
    day_before_last="el {} día antes del último",
    near="el día hábil más cercano a {}",
    last_workday="el último día hábil",
    workday="el {} día hábil",
    workday_before_last="el {} día hábil antes del último",
    nth_weekday="el {} {} del mes",
    last_weekday="el último {} del mes",
    of_month="{} del mes",
    on=" {}",
    either=" {} o {}",
    both=" {} si cae {}",
    years=", en los años {}",
    window="{} de las {} a las {}",
    cycle=" {}",
    counted="{}, contando desde {}",
    once="una vez, el {}",
    without=" salvo {}",
    date="el {}",
    dates="del {} al {}",
    nth=", una de cada {} de estas veces",
    most=", como mucho {} veces",
    once_at_most=", como mucho una vez",
    any_of="; o bien ",
    recurrence=_RECURRENCE,
    start=", desde {}",
    end=", hasta {}",
    include=", solo en días de {}",
    exclude=", no en días de {}",
    otherwise={"skip": "", "next": ", si no el siguiente día hábil", "previous": ", si no el día hábil anterior"},
    blackout="; nunca en el intervalo de {} que empieza {}",
)
