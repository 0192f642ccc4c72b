"""The reply of ``puntual next``: the next ticks of a rule, in words and warnings, or an error; for one rule or many."""

from __future__ import annotations

import difflib
from typing import Annotated, Final, TypeAlias

import msgspec

from puntual.model.errors import InvalidError, InvalidRuleError
from puntual.model.instant import Instant, format_instant, parse_instant
from puntual.timing import rule as rules
from puntual.timing.describe import LANGUAGES, sentences
from puntual.timing.parse import Dialect, Parsed, RuleOptions, parse_rule
from puntual.timing.zone import Fold, Gap

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=1_000)]
Reply: TypeAlias = dict[str, object]

_LONGEST_BATCH: Final = 100_000


class PreviewRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``puntual next``; ``after`` and ``anchor`` are RFC 3339 with an offset."""

    expr: str
    dialect: Dialect | None = None
    timezone: str | None = None
    after: str | None = None
    count: Count = 5
    lang: str | None = None
    anchor: str | None = None
    dst_gap: Gap | None = None
    dst_fold: Fold | None = None


def preview(request: PreviewRequest, *, now: Instant, default_timezone: str = "UTC", language: str = "en") -> Reply:
    """``{"fires", "description", "sentence", "rule", "warnings"}`` of a request.

    Args:
        request: what was asked.
        now: the moment of asking: where ``after`` is not given, and what default anchors refer to.
        default_timezone: the zone of a request that names none.
        language: of the description, where the request names none; the sentence is in every language.

    Raises:
        InvalidError: the rule, the zone or an instant is refused.
    """
    parsed, fires = _answer(request, now, default_timezone)
    sentence = sentences(parsed.timetable)
    return {
        "fires": fires,
        "description": sentence[request.lang or language],
        "sentence": sentence,
        "rule": {**msgspec.to_builtins(parsed.timetable.rule), "timezone": parsed.timetable.timezone},
        "warnings": parsed.warnings,
    }


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
    known = [*PreviewRequest.__struct_fields__, "id"]
    for key in item:
        # Other keys are the sender's own notes; one that nearly is an option would be lost without a word.
        if isinstance(key, str) and key not in known and (near := difflib.get_close_matches(key, known, 1, 0.75)):
            raise InvalidError(f"{key} is no option: did you mean {near[0]}?", field=key)
    try:
        return msgspec.convert(item, PreviewRequest)
    except msgspec.ValidationError as error:
        raise InvalidError(f"the item is wrong: {error}") from error


def _answer(request: PreviewRequest, now: Instant, default_timezone: str) -> tuple[Parsed, list[str]]:
    if request.lang is not None and request.lang not in LANGUAGES:
        raise InvalidRuleError(f"the language {request.lang[:20]!r} is not known: use en or es", field="lang")
    after = now if request.after is None else parse_instant(request.after, field="after")
    options = RuleOptions(
        now=now,
        warn_from=after,
        timezone=request.timezone if request.timezone is not None else default_timezone,
        zone_given=request.timezone is not None,
        anchor=None if request.anchor is None else parse_instant(request.anchor, field="anchor"),
        dst_gap=request.dst_gap,
        dst_fold=request.dst_fold,
        lang=request.lang,
    )
    parsed = parse_rule(request.expr, dialect=request.dialect, options=options)
    compiled = rules.compile(parsed.timetable)
    fires: list[str] = []
    tick = compiled.next(after)
    while tick is not None and len(fires) < request.count:
        fires.append(format_instant(tick))
        tick = compiled.next(tick)
    return parsed, fires
