"""What is said of rules, in Spanish, by the English template; each names the same parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from puntual.timing.messages.spanish_phrases import PHRASES

_CRON: Final = {
    "{first}..{last} is longer than ten years: say with start or end where the rule ends": (
        "{first}..{last} dura más de diez años: diga con start o end dónde acaba la regla"
    ),
    "{field}: {fault}": "{field}: {fault}",
    "within {low}-{high}": "entre {low} y {high}",
    "within {low}-{high} or {names}": "entre {low} y {high} o {names}",
    "{item} is not {range}": "{item} no está {range}",
    "{item} is not understood: write numbers {range}, *, ranges like 1-5, lists like 1,3 or steps like */5": (
        "{item} no se entiende: escriba números {range}, *, intervalos como 1-5, listas como 1,3 o pasos como */5"
    ),
    "{item} counts back further than a month is long: at most L-30": (
        "{item} cuenta hacia atrás más de lo que dura un mes: como máximo L-30"
    ),
    "{item}: a month has a weekday 1 to 5 times, so # takes 1 to 5": (
        "{item}: un mes tiene un día de la semana de 1 a 5 veces, así que # admite de 1 a 5"
    ),
    "{item} has no end: write a range, like {right}": "{item} no tiene final: escriba un intervalo, como {right}",
    "{item} runs backwards: write {right} if that is meant": "{item} va hacia atrás: escriba {right} si es eso",
    "{item} runs backwards: write {right}": "{item} va hacia atrás: escriba {right}",
    "the step /{step} is outside 1-{most}": "el paso /{step} no está entre 1 y {most}",
    "? stands only in quartz, for the day or the weekday": ("? solo va en quartz, en el día o en el día de la semana"),
    "H is not part of quartz: declare the dialect unix or seconds": (
        "H no forma parte de quartz: declare el dialecto unix o seconds"
    ),
    "quartz needs ? in exactly one of day and weekday: the one that does not matter": (
        "quartz necesita ? en uno solo de los dos, día y día de la semana: en el que no importa"
    ),
    "a cron expression has at most {most} characters, this one has {n}": (
        "una expresión cron tiene como máximo {most} caracteres, y esta tiene {n}"
    ),
    "{letter!r} is no part of a cron expression": "{letter!r} no forma parte de una expresión cron",
    "a {dialect} cron expression has the fields {fields!r}, but {expr} has {n} of them": (
        "una expresión cron {dialect} tiene los campos {fields!r}, pero {expr} tiene {n}"
    ),
    "{name} is no name puntual knows: use {known}": "puntual no conoce {name}: use {known}",
    "@reboot is no time: puntual's schedules do not start with the machine": (
        "@reboot no es una hora: las planificaciones de puntual no arrancan con la máquina"
    ),
}

_RULES: Final = {
    "{expr} never fires: no date has the day {day} in the month {month}{of_years}": (
        "{expr} nunca dispara: ninguna fecha tiene el día {day} en el mes {month}{of_years}"
    ),
    " of {years}": " de {years}",
    "rule {place} of the list: {fault}": "regla {place} de la lista: {fault}",
    "this never fires: {why}": "nunca dispara: {why}",
    "it has no tick between its start and its end": "no hay ningún tick entre start y end",
    "the clocks skip that time (dst_gap: skip)": "los relojes saltan esa hora (dst_gap: skip)",
    "end ({end}) lies before start ({start})": "end ({end}) está antes que start ({start})",
    "a rule that is no cron has at most {most} characters, this one has {n}": (
        "una regla que no es cron tiene como máximo {most} caracteres, y esta tiene {n}"
    ),
    "the rule is empty: {how}": "la regla está vacía: {how}",
}

_WARNINGS: Final = {
    "no time zone is given, so its hours are those of {zone}": "no se da zona horaria: sus horas son las de {zone}",
    "its last tick was {instant}: it will not fire again": "su último tick fue {instant}: no disparará más",
    "it fires {n} times in each minute that matches": "dispara {n} veces en cada minuto que coincide",
    "H is spread by the schedule's name, and none is known here: the times will be others under a name": (
        "H se reparte según el nombre de la planificación, y aquí no hay ninguno: con un nombre las horas serán otras"
    ),
    "day {day} and weekday {weekday} are both set, so it fires on days that match either (as crontab has it)": (
        "se dan el día {day} y el día de la semana {weekday}, así que dispara en días que cumplan cualquiera de los "
        "dos (como en crontab)"
    ),
    "day {day} and weekday {weekday} must both match, since one of them begins with * (as crontab has it)": (
        "tienen que cumplirse el día {day} y el día de la semana {weekday}, porque uno empieza con * (como en crontab)"
    ),
    "{field} {item} begins anew with each {whole}, so the last gap is not {step} days": (
        "{field} {item} empieza de nuevo con cada {whole}, así que el último hueco no es de {step} días"
    ),
    "{field} {item} is uneven: {step} does not divide {size}, so the last gap is shorter": (
        "{field} {item} no sale justo: {step} no divide {size}, así que el último hueco es más corto"
    ),
    "{field} {item} is read as every {step} from {base} on, which not every cron does": (
        "{field} {item} se lee como cada {step} desde {base}, lo que no hace todo cron"
    ),
    "months without a day {day} are skipped; L is the last day of each month": (
        "se saltan los meses sin día {day}; L es el último día de cada mes"
    ),
    "months without a day {day} are skipped; BYMONTHDAY=-1 is the last day of each month": (
        "se saltan los meses sin día {day}; BYMONTHDAY=-1 es el último día de cada mes"
    ),
    "BYMONTHDAY without BYMONTH comes in each month of the year, as FREQ=MONTHLY does": (
        "BYMONTHDAY sin BYMONTH llega en cada mes del año, como FREQ=MONTHLY"
    ),
    "DTSTART ({start}) is no time of the rule itself": "DTSTART ({start}) no es un tick de la propia regla",
    "DTSTART ({start}) is no time of the rule itself: its first one is {first}": (
        "DTSTART ({start}) no es un tick de la propia regla: el primero es {first}"
    ),
    "29 February comes only in leap years, every 4 years and at times after 8": (
        "el 29 de febrero solo llega en años bisiestos, cada 4 años y a veces tras 8"
    ),
    "W stays within its month: near its ends it moves up to two days the other way": (
        "W se queda en su mes: cerca de sus extremos se mueve hasta dos días hacia el otro lado"
    ),
    "{time} does not exist in {zone}: {at} (dst_gap: {gap})": "{time} no existe en {zone}: {at} (dst_gap: {gap})",
    "{time} comes twice in {zone}: it fires {times} (dst_fold: {fold})": (
        "{time} llega dos veces en {zone}: dispara {times} (dst_fold: {fold})"
    ),
    "anchor says nothing here: only an interval, a cycle or a recurrence rule has one": (
        "anchor no dice nada aquí: solo lo tienen un intervalo, un ciclo o una regla de recurrencia"
    ),
    "dst_gap and dst_fold say nothing here: an interval counts elapsed time": (
        "dst_gap y dst_fold no dicen nada aquí: un intervalo cuenta el tiempo transcurrido"
    ),
}

#: What rules leave out and count.
_SIFTED: Final = {
    "{field} is a whole number from 1 to {most}": "{field} es un número entero de 1 a {most}",
    "a rule has at most {most} exceptions": "una regla tiene como mucho {most} excepciones",
    "a list of times has 1 to {most} of them": "una lista de horas tiene de 1 a {most}",
    "time {place} of the list: {why}": "hora {place} de la lista: {why}",
    "{last} lies before {first}": "{last} está antes de {first}",
    "{text!r} is no date like 2027-01-31": "{text!r} no es una fecha como 2027-01-31",
    "it means no days": "no significa ningún día",
    "an exception says itself from when it counts: 'every other friday counted from 2027-01-01'": (
        "una excepción dice ella misma desde cuándo cuenta: «cada 2 semanas los viernes contando desde 2027-01-01»"
    ),
    "this never fires: what it leaves out is all that it has": (
        "nunca dispara: lo que deja fuera es todo lo que tiene"
    ),
    "it has no tick from now on": "no tiene ningún tick desde ahora",
    "no start is given, so its ticks are counted from when the rule was written or changed last": (
        "no se da start, así que sus ticks se cuentan desde que la regla se escribió o cambió por última vez"
    ),
    "except {time} takes nothing away: the rule has no tick then": (
        "la excepción {time} no quita nada: la regla no tiene ningún tick entonces"
    ),
    "rules of such different kinds have too many ticks to be counted: write intervals as times of the day, or leave "
    "every_nth and max_ticks out": (
        "reglas de clases tan distintas tienen demasiados ticks para contarlos: escriba los intervalos como horas "
        "del día, o deje fuera every_nth y max_ticks"
    ),
    "a rule with more than a tick a minute has no exceptions that come as often: take whole days away, or write both "
    "as times of the day": (
        "una regla con más de un tick por minuto no tiene excepciones tan frecuentes: quite días enteros, o "
        "escriba ambas como horas del día"
    ),
}

SPANISH: Final[Mapping[str, str]] = {**PHRASES, **_CRON, **_RULES, **_SIFTED, **_WARNINGS}
