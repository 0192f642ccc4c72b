"""The words of Spanish phrases, folded: in small letters and without accents."""

from __future__ import annotations

from typing import Final

from puntual.model.instant import HOUR, MICROSECOND, MILLISECOND, MINUTE, SECOND
from puntual.timing.phrase.kinds import Kind
from puntual.timing.phrase.lexicon import HOLIDAYS, ONCE, TIMES_SAID, Entries, Lexicon, Part

_PARTS: Final = (
    Part("am", 0, 11, clock=True),
    Part("pm", 12, 23, clock=True),
    Part("la mañana", 1, 11, every="todas las mañanas"),
    Part("la tarde", 13, 20, every="todas las tardes"),
    Part("la noche", 18, 23, every="todas las noches"),
    Part("la madrugada", 1, 6, every="todas las madrugadas"),
    Part("mediodía", 12, 15),
)

_REFUSED: Final = {
    "quincenal|quincenalmente|cada quincena|quincena": (
        "cada 2 semanas",
        "cada 2 semanas los lunes",
        "los días 1 y 15 del mes",
    ),
    "bisemanal|bisemanalmente": ("cada 2 semanas los lunes", "los lunes y jueves"),
    "bimensual|bimensualmente": ("los días 1 y 15 del mes", "cada 2 meses el día 1"),
    "bimestral|bimestralmente": ("cada 2 meses el día 1",),
    "trimestral|trimestralmente|cada trimestre|trimestre": ("cada 3 meses el día 1",),
    "semestral|semestralmente|cada semestre|semestre": ("cada 6 meses el día 1",),
    "una vez al dia|vez al dia": ("todos los días",),
    "dos veces al dia|2 veces al dia|dos veces por dia": ("todos los días a las 9:00 y 18:00", "cada 12 horas"),
    "de vez en cuando|a veces|siempre|nunca|a menudo": ("todos los días",),
    "fin de mes|a fin de mes|fin del mes|final de mes|fines de mes": ("el último día del mes",),
    "principio de mes|principios de mes|inicio de mes|comienzo de mes|a principio de mes|a principios de mes": (
        "el día 1 del mes",
    ),
    "cada otra semana": ("cada 2 semanas", "cada 2 semanas los lunes"),
    "cada otro dia": ("cada 2 días",),
    "otro|cada otro": ("cada 2 semanas los",),
    "otra|cada otra": (),
    "mar": ("martes", "marzo"),
}
_ELSEWHERE: Final = {
    "vez|una vez|hoy|esta noche|proximo|proxima|pasado manana|este|esta": ONCE,
    "festivo|festivos|feriado|feriados": HOLIDAYS,
    "veces": TIMES_SAID,
}


_WORDS: Final = (
    (Kind.EVERY, "cada|en cada|todos|todas|todo|toda|todos los|todas las|todo los"),
    (Kind.AND, "y|e|&|asi como"),
    (Kind.TO, "a|al|hasta|hasta el|-"),
    (Kind.FROM, "de|del|desde|desde el"),
    (Kind.BETWEEN, "entre"),
    (Kind.AT, "a|al"),
    (Kind.ON, "en|al"),
    (Kind.IN, "en|durante"),
    (Kind.OF, "de|del|en|durante"),
    (Kind.THE, "el|la|los|las"),
    (Kind.EXCEPT, "excepto|salvo|menos|excepto en|salvo en"),
    (Kind.SINCE, "a partir de|a partir del|empezando|empezando el"),
    (Kind.BEFORE, "antes"),
    (Kind.NEAREST, "mas cercano|mas cercano al|mas proximo|mas proximo al"),
    (Kind.HALF, "media|medio"),
    (Kind.QUARTER, "cuarto|un cuarto"),
    (Kind.LACKING, "menos"),
    (Kind.OCLOCK, "en punto|h|hs|hrs|horas"),
    (Kind.WORKDAY, "dia laborable|dias laborables|dia laboral|dias laborales|dia habil|dias habiles|entre semana"),
    (Kind.WORKDAY, "laborable|laborables"),
    (Kind.WEEKEND, "fin de semana|fines de semana"),
    (Kind.DAY, "dia|dias"),
    (Kind.WEEK, "semana|semanas"),
    (Kind.MONTH, "mes|meses"),
    (Kind.YEAR, "ano|anos"),
)
_VALUED: Final = (
    (Kind.DAY, "d|dia exacto|dias exactos", 1),
    (Kind.SINCE, "contando desde|contados desde|contado desde|contada desde", 1),
    (Kind.UNIT, "ms|milisegundo|milisegundos", MILLISECOND),
    (Kind.UNIT, "us|microsegundo|microsegundos", MICROSECOND),
    (Kind.UNIT, "segundo|segundos|seg|s", SECOND),
    (Kind.UNIT, "minuto|minutos|min|m", MINUTE),
    (Kind.UNIT, "hora|horas|h", HOUR),
    (Kind.FIXED, "mediodia|12 del mediodia|doce del mediodia", 12 * 3_600),
    (Kind.FIXED, "medianoche", 0),
)
_ROWS: Final = (
    (
        Kind.ADVERB,
        "por hora;diariamente|a diario|diario|diaria;semanalmente|semanal;mensualmente|mensual;anualmente|anual",
        0,
    ),
    (Kind.WEEKDAY, "domingo|domingos|dom;lunes|lun;martes;miercoles|mie;jueves|jue;viernes|vie;sabado|sabados|sab", 0),
    (
        Kind.MONTH_NAME,
        (
            "enero|ene;febrero|feb;marzo;abril|abr;mayo|may;junio|jun;julio|jul;agosto|ago;"
            "septiembre|setiembre|sep|sept;octubre|oct;noviembre|nov;diciembre|dic"
        ),
        1,
    ),
    (
        Kind.PART,
        (
            "am|a m;pm|p m;manana|mananas|de la manana|por la manana|en la manana;tarde|tardes|de la tarde|"
            "por la tarde|en la tarde;noche|noches|de la noche|por la noche|en la noche;madrugada|madrugadas|"
            "de la madrugada|por la madrugada|en la madrugada;del mediodia"
        ),
        0,
    ),
    (
        Kind.ORDINAL,
        (
            "primer|primero|primera;segundo|segunda;tercer|tercero|tercera;cuarto|cuarta;quinto|quinta;sexto;septimo;"
            "octavo;noveno;decimo;undecimo;duodecimo"
        ),
        1,
    ),
    (Kind.LAST, "ultimo|ultima|ultimos|ultimas;penultimo|penultima", 1),
)
_EXAMPLES: Final = {
    "time": "todos los días a las 9:00",
    "nth": "el {ordinal} {noun} del mes",
    "cycle": "cada {count} semanas los {noun}",
    "days": "cada {count} días",
    "exact": "cada {count} días exactos",
    "daily": "todos los días {clause}",
    "at": "a las {times}",
    "and": " y ",
    "weekly": "cada semana los lunes",
    "weeks": "cada {count} semanas los lunes",
    "monthly": "el día {day} del mes",
    "months": "cada {count} meses el día 1",
    "yearly": "cada año el {day} de marzo",
    "unit": "minutos",
    "of": "de",
    "between": "de {first} a {last}",
}


def _lexicon() -> Lexicon:
    entries = Entries()
    for kind, texts in _WORDS:
        entries.add(kind, texts)
    for kind, texts, value in _VALUED:
        entries.add(kind, texts, value)
    for kind, rows, first in _ROWS:
        entries.add_row(kind, rows, first)
    entries.add_numbers(
        "un|uno|una;dos;tres;cuatro;cinco;seis;siete;ocho;nueve;diez;once;doce;trece;catorce;quince;dieciseis;"
        "diecisiete;dieciocho;diecinueve",
        "veinte;treinta;cuarenta;cincuenta;sesenta;setenta;ochenta;noventa",
        " y ",
    )
    ones = ("uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve")
    for one, word in enumerate(ones, 21):
        entries.add(Kind.NUMBER, f"veinti{word}", one)
    refused = {text: shown for texts, shown in _REFUSED.items() for text in texts.split("|")}
    elsewhere = {text: said for texts, said in _ELSEWHERE.items() for text in texts.split("|")}
    return Lexicon(
        lang="es",
        words=entries.words,
        refused=refused,
        elsewhere=elsewhere,
        parts=_PARTS,
        suffixes=frozenset({"er", "ro", "ra", "do", "da", "to", "ta", "mo", "vo", "no", "o", "a"}),
        examples=_EXAMPLES,
        longest=max(len(text.split()) for text in (*entries.words, *refused, *elsewhere)),
        fortnights={8: ("cada semana", "cada semana los lunes"), 15: ("cada 2 semanas", "cada 2 semanas los lunes")},
        minutes_after=True,
    )


SPANISH: Final = _lexicon()
