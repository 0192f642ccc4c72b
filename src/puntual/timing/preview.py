"""The reply of ``puntual next``: the next ticks of a rule, in words and warnings, or an error; for one rule or many."""

from __future__ import annotations

import difflib
from datetime import date
from typing import Annotated, Final, TypeAlias

import msgspec

from puntual.model.errors import InvalidError, InvalidRuleError
from puntual.model.instant import SECOND, Instant, format_instant, parse_instant
from puntual.timing import rule as rules
from puntual.timing.describe import LANGUAGES, sentences
from puntual.timing.messages import speaking
from puntual.timing.options import day_start
from puntual.timing.parse import Dialect, Parsed, RuleOptions, parse_rule
from puntual.timing.zone import Fold, Gap, Zone, load_zone

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=1_000)]
Reply: TypeAlias = dict[str, object]

_LONGEST_BATCH: Final = 100_000
_MOST_A_DAY: Final = 1_000
_DAY_SECONDS: Final = 86_400
_EPOCH: Final = date(1970, 1, 1).toordinal()


class PreviewRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``puntual next``; times are RFC 3339 with an offset, and ``anchor`` may be a date."""

    expr: str
    dialect: Dialect | None = None
    timezone: str | None = None
    after: str | None = None
    count: Count = 5
    lang: str | None = None
    anchor: str | None = None
    dst_gap: Gap | None = None
    dst_fold: Fold | None = None
    without: str | list[str] = msgspec.field(name="except", default_factory=list)
    every_nth: int = 1
    max_ticks: int | None = None
    start: str | None = None
    end: str | None = None


def preview(request: PreviewRequest, *, now: Instant, default_timezone: str = "UTC", language: str = "en") -> Reply:
    """``{"fires", "description", "sentence", "rule", "warnings"}`` of a request.

    Args:
        request: what was asked.
        now: the moment of asking: where ``after`` is not given, and what default anchors refer to.
        default_timezone: the zone of a request that names none.
        language: of description, warnings and refusals, where the request names none; the sentence is in every one.

    Raises:
        InvalidError: the rule, the zone or an instant is refused.
    """
    parsed, fires = _answer(request, now, default_timezone, language)
    sentence = sentences(parsed.timetable)
    return {
        "fires": fires,
        "description": sentence[request.lang or language],
        "sentence": sentence,
        "rule": {**msgspec.to_builtins(parsed.timetable.rule), "timezone": parsed.timetable.timezone},
        "warnings": parsed.warnings,
    }


def fires_by_day(
    request: PreviewRequest, *, now: Instant, default_timezone: str = "UTC", months: int = 3
) -> dict[date, int]:
    """How often a rule fires on each day of its zone, in the month of its next fire and those that follow.

    A day with more than a thousand fires has a thousand.

    Raises:
        InvalidError: as by `preview`.
    """
    parsed, fires = _answer(msgspec.structs.replace(request, count=1), now, default_timezone)
    if not fires:
        return {}
    compiled, zone = rules.compile(parsed.timetable), load_zone(parsed.timetable.timezone)
    tick: Instant | None = parse_instant(fires[0])
    found: dict[date, int] = {}
    first = _day(zone, parse_instant(fires[0]))
    last = first.year * 12 + first.month + months - 1
    while tick is not None and (day := _day(zone, tick)).year * 12 + day.month <= last:
        # The first midnight of the next day, whatever a clock change does to it.
        end = zone.resolve((day.toordinal() + 1 - _EPOCH) * _DAY_SECONDS, "boundary", "first")[0] * SECOND
        found[day] = compiled.count(tick - 1, end - 1, _MOST_A_DAY)
        tick = compiled.next(end - 1)
    return found


def _day(zone: Zone, tick: Instant) -> date:
    return date.fromordinal((tick // SECOND + zone.offset(tick)) // _DAY_SECONDS + _EPOCH)


def preview_batch(items: object, *, now: Instant, default_timezone: str = "UTC") -> list[Reply]:
    """For each item ``{"id", "fires"}``, or ``{"id", "error"}``: a bad item never spoils the others.

    Raises:
        InvalidError: ``items`` is no list.
    """
    if not isinstance(items, list):
        raise InvalidError("a batch is a JSON list of objects with id and expr")
    return [_batched(item, now, default_timezone) for item in items]


def _batched(item: object, now: Instant, default_timezone: str) -> Reply:
    name = item.get("id") if isinstance(item, dict) else None
    try:
        _, fires = _answer(_request(item), now, default_timezone)
    except InvalidError as error:
        return {"id": name, "error": error.as_dict()}
    return {"id": name, "fires": fires}


def _request(item: object) -> PreviewRequest:
    if not isinstance(item, dict):
        raise InvalidError("an item of a batch is an object with id and expr")
    known = [*PreviewRequest.__struct_encode_fields__, "id"]
    for key in item:
        # Other keys are the sender's own notes; one that nearly is an option would be lost without a word.
        if isinstance(key, str) and key not in known and (near := difflib.get_close_matches(key, known, 1, 0.75)):
            raise InvalidError(f"{key} is no option: did you mean {near[0]}?", field=key)
    try:
        return msgspec.convert(item, PreviewRequest)
    except msgspec.ValidationError as error:
        raise InvalidError(f"the item is wrong: {error}") from error


def _answer(
    request: PreviewRequest, now: Instant, default_timezone: str, language: str = "en"
) -> tuple[Parsed, list[str]]:
    if request.lang is not None and request.lang not in LANGUAGES:
        raise InvalidRuleError(f"the language {request.lang[:20]!r} is not known: use en or es", field="lang")
    after = now if request.after is None else parse_instant(request.after, field="after")
    timezone = request.timezone if request.timezone is not None else default_timezone
    options = RuleOptions(
        now=now,
        warn_from=after,
        timezone=timezone,
        zone_given=request.timezone is not None,
        anchor=None if request.anchor is None else _anchor(request.anchor, timezone),
        dst_gap=request.dst_gap,
        dst_fold=request.dst_fold,
        lang=request.lang,
        language=request.lang or language,
        start=None if request.start is None else parse_instant(request.start, field="start"),
        end=None if request.end is None else parse_instant(request.end, field="end"),
        without=(request.without,) if isinstance(request.without, str) else tuple(request.without),
        every_nth=request.every_nth,
        max_ticks=request.max_ticks,
    )
    with speaking(options.tongue):
        parsed = parse_rule(request.expr, dialect=request.dialect, options=options)
    compiled = rules.compile(parsed.timetable)
    fires: list[str] = []
    tick = compiled.next(after)
    while tick is not None and len(fires) < request.count:
        fires.append(format_instant(tick))
        tick = compiled.next(tick)
    return parsed, fires


def _anchor(text: str, timezone: str) -> Instant:
    midnight = day_start(text, timezone, field="anchor")
    return parse_instant(text, field="anchor") if midnight is None else midnight
