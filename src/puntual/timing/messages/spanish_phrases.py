"""What is said of phrases, in Spanish, by the English template; each names the same parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: What a sentence is made of.
_PARTS: Final = {
    "{one} or {other}": "{one} o {other}",
    "'{offer}'": "«{offer}»",
    "{fault}: write {offers}": "{fault}: escriba {offers}",
    "anchor: {instant}": "anchor: {instant}",
    "minute": "minuto",
    "hour": "hora",
    "second": "segundo",
    "day": "día",
    "week": "semana",
    "month": "mes",
    "weekday": "día de la semana",
    "year": "año",
    "days": "días",
    "weeks": "semanas",
    "months": "meses",
    "years": "años",
    "the first time": "la primera vez",
    "the second time": "la segunda vez",
    "both times": "las dos veces",
    "it fires at {instant}": "dispara a las {instant}",
    "it does not fire": "no dispara",
    "It can be read with lang: en.": "Se puede leer con lang: en.",
    "It can be read with lang: es.": "Se puede leer con lang: es.",
}

#: What was expected.
_EXPECTED: Final = {
    "the phrase ends where {what} is expected": "la frase acaba donde se espera {what}",
    "{word!r} stands where {what} is expected": "está {word!r} donde se espera {what}",
    "a weekday": "un día de la semana",
    "the weekday that the range ends with": "el día de la semana en que acaba el intervalo",
    "a month": "un mes",
    "the day of the month": "el día del mes",
    "'nearest to' and a day": "«más cercano al» y un día",
    "the number of the day": "el número del día",
    "a day of the month": "un día del mes",
    "'day' or a weekday": "«día» o un día de la semana",
    "which one, as in 'first' or 'last'": "cuál, como «primer» o «último»",
    "'the last'": "«el último»",
    "a date like 2027-01-31": "una fecha como 2027-01-31",
    "a time, a weekday or a month": "una hora, un día de la semana o un mes",
    "'every hour' or hours": "«cada hora» u horas",
    "the number of the {unit}": "el número de {unit}",
    "a day": "un día",
    "'at' and a time, or days": "«a las» y una hora, o días",
    "a time like 9:30": "una hora como las 9:30",
    "a time like 9:30, 9pm or noon": "una hora como 9:30, 9 pm o mediodía",
    "what is repeated, as in {example!r}": "lo que se repite, como en {example!r}",
    "a unit or a weekday": "una unidad o un día de la semana",
    "a unit like {example!r}": "una unidad como {example!r}",
    "the end of the stretch, as in {example!r}": "el final del tramo, como en {example!r}",
    "'past' and an hour": "«y» y una hora",
}

#: What was said twice, or is part of a refusal.
_TWICE: Final = {
    "the phrase says {what} twice": "la frase dice dos veces {what}",
    "the month": "el mes",
    "the months": "los meses",
    "where to count from": "desde cuándo se cuenta",
    "which days are left out": "qué días se excluyen",
    "how often": "cada cuánto",
    "the stretch of the day": "el tramo del día",
    "the minutes": "los minutos",
    "the days": "los días",
    "the time": "la hora",
    "the part of the day": "la parte del día",
    "the weekdays": "los días de la semana",
}

_PHRASES: Final = {
    "the phrase is empty": "la frase está vacía",
    "{word!r} is no word of a phrase: did you mean {near!r}?": "{word!r} no se usa en frases: ¿quiso decir {near!r}?",
    "{word!r} is no word of a phrase; write it like {example!r}": (
        "{word!r} no se usa en frases; escríbalo como {example!r}"
    ),
    "{words!r} is no part of a phrase: {why}": "{words!r} no forma parte de una frase: {why}",
    "{words!r} is no part of a phrase": "{words!r} no forma parte de una frase",
    "{words!r} could mean different things": "{words!r} puede significar cosas distintas",
    "{letter!r} is no part of a phrase: words, numbers and times like 9:30 are": (
        "{letter!r} no forma parte de una frase: lo hacen palabras, números y horas como 9:30"
    ),
    "{lang!r} is no language of phrases: use en or es": "{lang!r} no es un idioma de las frases: use en o es",
    "the phrase means one thing in English and another in Spanish: declare lang: en or es": (
        "la frase significa una cosa en inglés y otra en español: declare lang: en o es"
    ),
    "a phrase has at most {most} characters, this one has {n}": (
        "una frase tiene como máximo {most} caracteres, y esta tiene {n}"
    ),
    "{number} is too large for a phrase": "{number} es demasiado grande para una frase",
    "one time has a key of its own, at: with a date and a time": (
        "lo que ocurre una sola vez tiene su propia clave, at: con fecha y hora"
    ),
    "holidays stand beside the rule, in the key calendars": "los festivos van junto a la regla, en la clave calendars",
    "say on which days, at which times": "diga en qué días y a qué horas",
    "one phrase has one rule: write a list of two": "una frase tiene una sola regla: escriba una lista de dos",
    "the phrase names the zone {zone}, but its zone is {own}: say it with timezone": (
        "la frase nombra la zona {zone}, pero la suya es {own}: dígala con timezone"
    ),
    "a phrase names no zone, so {zone!r} is no part of it: say the zone with timezone: or --timezone": (
        "una frase no nombra zonas, así que {zone!r} sobra: diga la zona con timezone: o --timezone"
    ),
}

_TIMES: Final = {
    "{time} is no time of day: 00:00 to 23:59 are; midnight is 00:00": (
        "{time} no es una hora del día: van de 00:00 a 23:59; la medianoche es 00:00"
    ),
    "{time} is no time of day: 00:00 to 23:59 are": "{time} no es una hora del día: van de 00:00 a 23:59",
    "{hour} is no hour of the day: 0 to 23 are; midnight is 00:00": (
        "{hour} no es una hora del día: van de 0 a 23; la medianoche es 00:00"
    ),
    "{hour} is no hour of the day: 0 to 23 are": "{hour} no es una hora del día: van de 0 a 23",
    "{minute} is no minute of an hour: 0 to 59 are": "{minute} no es un minuto de una hora: van de 0 a 59",
    "{first} to {last} is no {unit}: 0 to {most} are": "{first} a {last} no vale como {unit}: van de 0 a {most}",
    "a time has a colon": "una hora lleva dos puntos",
    "this could be one time or two": "esto puede ser una hora o dos",
    "{part} stands with the hours 1 to 12, not {hour}; write {time}": (
        "{part} acompaña a las horas de 1 a 12, no a {hour}; escriba {time}"
    ),
    "{time} is not clear with {part!r}, whose hours are {low} to {high}": (
        "{time} no está claro con {part!r}, cuyas horas van de {low} a {high}"
    ),
    "{time} does not go together with {part!r}, whose hours are {low} to {high}": (
        "{time} no concuerda con {part!r}, cuyas horas van de {low} a {high}"
    ),
    "{time} stands beside a time with a part of the day, so it could be either": (
        "{time} está junto a una hora con parte del día, así que puede ser cualquiera de las dos"
    ),
    "from {first} to {last} runs backwards; a stretch over midnight is two rules, one up to 23:59 and one from 00:00": (
        "de {first} a {last} va hacia atrás; un tramo que pasa de medianoche son dos reglas, una hasta 23:59 y otra "
        "desde 00:00"
    ),
    "a part of the day is no day ({once})": "una parte del día no es un día ({once})",
    "a part of the day is no time: say the hour": "una parte del día no es una hora: diga la hora",
    "it is not said at what time": "no se dice a qué hora",
    "a time of day and a repetition within the day do not go together": (
        "una hora del día y una repetición dentro del día no van juntas"
    ),
    "minutes stand with every hour or with hours": "los minutos van con cada hora o con horas",
    "it is not said of which hours these minutes are": "no se dice de qué horas son estos minutos",
    "minutes stand with whole hours": "los minutos van con horas enteras",
    "on such days, minutes of hours are said as times, like 9:20 and 10:20": (
        "en días así, los minutos se dicen como horas, por ejemplo 9:20 y 10:20"
    ),
    "on such days, a repetition needs its stretch of the day": "en días así, una repetición necesita su tramo del día",
}

_DAYS: Final = {
    "it is not said on which days": "no se dice en qué días",
    "it is not said on which day": "no se dice en qué día",
    "it is not said on which day of the week": "no se dice en qué día de la semana",
    "it is not said which day of the month": "no se dice qué día del mes",
    "it is not said which of what this is": "no se dice cuál de qué es",
    "it is not said whether each of these days is meant every other time": (
        "no se dice si cada uno de estos días es una vez sí y otra no"
    ),
    "it is not said of which days these are left out": "no se dice de qué días se excluyen estos",
    "only weekdays can be left out of weekdays": "de los días de la semana solo se excluyen días de la semana",
    "no day is left": "no queda ningún día",
    "weekdays and days of the month do not go together: write a list of two rules": (
        "los días de la semana y los del mes no van juntos: escriba una lista de dos reglas"
    ),
    "every day and some days do not go together": "todos los días y algunos días no van juntos",
    "a rule by the year names its month, every year": "una regla anual nombra su mes",
    "days of one month and of each month are two rules: write a list of them, one for each": (
        "los días de un mes y los de cada mes son dos reglas: escriba una lista, una para cada una"
    ),
    "dates in several months are several rules: write a list of them, one for each date": (
        "las fechas de varios meses son varias reglas: escriba una lista, una por fecha"
    ),
    "{days!r} could be of that month too, or of each month, which makes two rules to be written as a list": (
        "{days!r} puede ser también de ese mes, o de cada mes, y entonces son dos reglas que se escriben como lista"
    ),
    "days, weekdays and working days of the month are rules of their own: write a list of them": (
        "los días, los días de la semana y los días hábiles del mes son reglas distintas: escriba una lista"
    ),
    "days {first} to {last} run backwards": "los días {first} a {last} van hacia atrás",
    "{day} is no day of a month: 1 to 31 are": "{day} no es un día del mes: van de 1 a 31",
    "a month has a weekday 1 to 5 times, and the last one": (
        "un mes tiene un día de la semana de 1 a 5 veces, y el último"
    ),
    "nobody knows whether the ordinal counts this weekday too: name it for each": (
        "no se sabe si el ordinal cuenta también este día: nómbrelo para cada uno"
    ),
    "a month has at most {most} working days": "un mes tiene como máximo {most} días hábiles",
    "{first} to {last} could be hours or days of the month": "{first} a {last} pueden ser horas o días del mes",
}

_PERIODS: Final = {
    "a period is more than nothing": "un período es más que nada",
    "days, weeks, months and years are counted in whole numbers": (
        "los días, semanas, meses y años se cuentan en números enteros"
    ),
    "{count} {noun} is no period": "{count} {noun} no es un período",
    "{count} {noun} could be an idiom for weeks": "{count} {noun} puede ser una manera de decir semanas",
    "a period is not finer than a microsecond": "un período no es más fino que un microsegundo",
    "name each unit once, from large to small": "nombre cada unidad una vez, de mayor a menor",
    "within days, a period is whole seconds": "dentro de los días, un período son segundos enteros",
    "on days, a period has to divide the next larger unit: {n} does not divide {size}": (
        "en días, un período tiene que dividir la unidad siguiente: {n} no divide {size}"
    ),
    "the period {period} is too short: at least 1s": "el período {period} es demasiado corto: al menos 1s",
    "the period is longer than a hundred years": "el período dura más de cien años",
    "'every {period}' does not divide a day, so say when it starts: anchor: {now} (from now) or anchor: {midnight} "
    "(from local midnight)": (
        "«cada {period}» no divide un día, así que diga cuándo empieza: anchor: {now} (desde ahora) o anchor: "
        "{midnight} (desde la medianoche local)"
    ),
    "a cycle of days, weeks or months and months do not go together": (
        "un ciclo de días, semanas o meses no va junto con meses"
    ),
    "a cycle has at most {most} days": "un ciclo tiene como máximo {most} días",
    "every {n} months does not come out even in a year: 2, 3, 4, 6 and 12 do": (
        "cada {n} meses no sale justo en un año: sí 2, 3, 4, 6 y 12"
    ),
    "a cycle begins in the years 1 to 9999: say an anchor within them": (
        "un ciclo empieza en los años 1 a 9999: diga un anchor entre ellos"
    ),
    "a cycle needs an anchor: say from when on it counts": "un ciclo necesita un anchor: diga desde cuándo cuenta",
    "it is not said from when on every {n} {units} are counted, so add {anchors}": (
        "no se dice desde cuándo se cuentan cada {n} {units}, así que añada {anchors}"
    ),
    "nothing counts from {date}: only a period or a cycle does, such as 'every 2 weeks on monday at 9:00'": (
        "nada cuenta desde {date}: solo lo hace un período o un ciclo, como «cada 2 semanas los lunes a las 9:00»"
    ),
    "the phrase counts from another time than anchor says: keep one of them": (
        "la frase cuenta desde otro momento que anchor: deje uno de los dos"
    ),
    "{date} lies ahead, and a rule counts from a date in both directions: say 'counted from' ('contando desde') for "
    "that, or start: for when it begins": (
        "{date} está por venir, y una regla cuenta desde una fecha en las dos direcciones: diga «contando desde» para "
        "eso, o start: para cuándo empieza"
    ),
    "{text!r} is no date: {why}": "{text!r} no es una fecha: {why}",
}

#: All that is said of phrases.
PHRASES: Final[Mapping[str, str]] = {
    **_PARTS,
    **_EXPECTED,
    **_TWICE,
    **_PHRASES,
    **_TIMES,
    **_DAYS,
    **_PERIODS,
}
