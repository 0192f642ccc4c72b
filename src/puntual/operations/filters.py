"""Filters as people write them become the filters of the store, or one sentence that names the field.

Instants are RFC 3339 with an offset, durations (``24h`` is that long ago), or ``now``, ``today`` and ``yesterday`` in
the operator's time zone. A cursor is opaque: base64url of the key of the last item seen.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from enum import Enum
from typing import Final, TypeVar

import msgspec

from puntual.model.duration import parse_duration
from puntual.model.errors import InvalidDurationError, InvalidError, InvalidInstantError
from puntual.model.ids import check_run_id
from puntual.model.instant import DAY, SECOND, Instant, parse_instant
from puntual.model.run import Origin, RunState
from puntual.model.schedule import Fate
from puntual.store.requests import Page, RunFilter, TickFilter
from puntual.timing.zone import load_zone

LIMIT: Final = 100
MOST: Final = 1_000
#: How many runs of a queue may be let go at once.
MOST_AT_ONCE: Final = 1_000_000
#: How many runs one request may name.
MOST_IDS: Final = 10_000

PAGE_KEYS: Final = ("limit", "cursor")
RUN_KEYS: Final = ("state", "queue", "schedule", "task", "tag", "origin", "since", "until", "ids", "all")
TICK_KEYS: Final = ("schedule", "fate", "since", "until")
SCHEDULE_KEYS: Final = ("owner", "tag")

Filter = Mapping[str, object]
EnumT = TypeVar("EnumT", bound=Enum)


class Moment(msgspec.Struct, frozen=True):
    """What words like ``today`` refer to: the store's time, and the operator's zone."""

    now: Instant
    timezone: str


def run_filter(where: Filter, moment: Moment, *, discarded: bool = True) -> RunFilter:
    """The filter of a list of runs; ``discarded`` says whether discarded ones are in it.

    Raises:
        InvalidError: a key is unknown or a value cannot be used.
    """
    check_keys(where, (*RUN_KEYS, *PAGE_KEYS))
    ids = texts(where, "ids")
    if len(ids) > MOST_IDS:
        raise InvalidError(f"ids has {len(ids):,} items; at most {MOST_IDS:,} are taken at once.", field="ids")
    return RunFilter(
        ids=tuple(check_run_id(run_id, field="ids") for run_id in ids),
        states=_words(where, "state", RunState),
        queues=texts(where, "queue"),
        schedules=texts(where, "schedule"),
        tasks=texts(where, "task"),
        tags=texts(where, "tag"),
        origins=_words(where, "origin", Origin),
        since=_when(where, "since", moment),
        until=_when(where, "until", moment),
        discarded=discarded,
    )


def changing_filter(where: Filter, moment: Moment) -> RunFilter:
    """The filter of something that changes runs: it names something, or says ``all``.

    Raises:
        InvalidError: as `run_filter`, or it says nothing.
    """
    found = run_filter(where, moment, discarded=False)
    everything = where.get("all", False)
    if not isinstance(everything, bool):
        raise InvalidError(f"all is {everything!r}; it must be true or false.", field="all")
    named = any(where.get(key) not in (None, [], ()) for key in RUN_KEYS if key != "all")
    if named == everything:
        both = "and names runs too; say one of them" if named else "must be true where nothing else says which runs"
        raise InvalidError(f"all is {str(everything).lower()} {both}.", field="all")
    return found


def tick_filter(where: Filter, moment: Moment) -> TickFilter:
    """The filter of the tick record.

    Raises:
        InvalidError: a key is unknown or a value cannot be used.
    """
    check_keys(where, (*TICK_KEYS, *PAGE_KEYS))
    return TickFilter(
        schedule=one_text(where, "schedule"),
        fates=_words(where, "fate", Fate),
        since=_when(where, "since", moment),
        until=_when(where, "until", moment),
    )


def page(where: Filter) -> Page:
    """How many, and after which.

    Raises:
        InvalidError: ``limit`` is not from 1 to 1000, or ``cursor`` is none of ours.
    """
    given = where.get("limit")
    limit = LIMIT if given is None else whole(given, "limit", most=MOST)
    cursor = one_text(where, "cursor")
    return Page(limit=limit, after=None if cursor is None else read_cursor(cursor))


def whole(value: object, field: str, *, most: int) -> int:
    """A number from 1 to ``most``, also as text: the one reader of numbers that people write.

    Raises:
        InvalidError: it is none.
    """
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise InvalidError(f"{field} is {str(value)[:60]!r}; it must be a number from 1 to {most}.", field=field)
    return value


def cursor(key: str) -> str:
    """The key of the last item seen, as a cursor."""
    return base64.urlsafe_b64encode(key.encode()).decode().rstrip("=")


def read_cursor(text: str) -> str:
    """The key in a cursor.

    Raises:
        InvalidError: it is none of ours.
    """
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).decode()
        if key and key.isprintable():
            return key
    except (binascii.Error, ValueError):
        pass
    raise InvalidError("cursor is none that a list gave; take next_cursor of the page before.", field="cursor")


def when(text: str, field: str, moment: Moment) -> Instant:
    """The instant that a text names, looking back.

    Raises:
        InvalidInstantError: it names none.
    """
    word = text.strip().lower()
    if word == "now":
        return moment.now
    if word in ("today", "yesterday"):
        return _midnight(moment, back=0 if word == "today" else 1)
    try:
        return moment.now - parse_duration(text, field=field)
    except InvalidDurationError:
        pass
    return _instant(text, field, "a duration like 24h that long ago, today or yesterday")


def later(text: str, field: str, moment: Moment, *, start: str | None = None) -> Instant:
    """The instant that a text names, looking ahead: RFC 3339, or a duration from now. It lies after now.

    ``start`` names the field that ``moment`` was taken from, where that is not now.

    Raises:
        InvalidInstantError: it names none, or one that has passed.
    """
    try:
        instant = moment.now + parse_duration(text, field=field)
    except InvalidDurationError:
        instant = _instant(text, field, "a duration from now like 2h")
    if instant <= moment.now:
        wrong = "which has passed; it must be later" if start is None else f"which is not after {start}"
        raise InvalidInstantError(f"{field} is {text[:60]!r}, {wrong}.", field=field)
    return instant


def check_keys(where: Filter, known: Iterable[str]) -> None:
    """Refuses a key that would be lost without a word.

    Raises:
        InvalidError: there is one; the nearest known one is named.
    """
    names = tuple(known)
    for key in where:
        if key not in names:
            near = get_close_matches(key, names, 1)
            way_out = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(names)}."
            raise InvalidError(f"There is no filter {key[:60]!r}: {way_out}", field=key[:60])


def texts(where: Filter, key: str) -> tuple[str, ...]:
    """The values of a key, which may be one text or a list of them.

    Raises:
        InvalidError: it is something else.
    """
    value = where.get(key)
    values = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(values, list | tuple) or not all(isinstance(item, str) and item.isprintable() for item in values):
        raise InvalidError(f"{key} must be a list of texts.", field=key)
    return tuple(values)


def one_text(where: Filter, key: str) -> str | None:
    """The one value of a key, None where it is not given.

    Raises:
        InvalidError: there are several, or it is no text.
    """
    found = texts(where, key)
    if len(found) > 1:
        raise InvalidError(f"{key} is given {len(found)} times; it is taken once.", field=key)
    return found[0] if found else None


def _words(where: Filter, key: str, kind: type[EnumT]) -> tuple[EnumT, ...]:
    known = {str(member.value): member for member in kind}
    found = texts(where, key)
    for word in found:
        if word not in known:
            raise InvalidError(f"{key} is {word[:60]!r}; it must be one of {', '.join(known)}.", field=key)
    return tuple(known[word] for word in found)


def _when(where: Filter, key: str, moment: Moment) -> Instant | None:
    text = one_text(where, key)
    return None if text is None else when(text, key, moment)


def _instant(text: str, field: str, otherwise: str) -> Instant:
    try:
        return parse_instant(text, field=field)
    except InvalidInstantError as error:
        raise InvalidInstantError(f"{field}: {error.message}, or {otherwise}.", field=field) from None


def _midnight(moment: Moment, *, back: int) -> Instant:
    zone = load_zone(moment.timezone)
    day = (moment.now // SECOND + zone.offset(moment.now)) // (DAY // SECOND) - back
    return zone.resolve(day * (DAY // SECOND), "boundary", "first")[0] * SECOND
