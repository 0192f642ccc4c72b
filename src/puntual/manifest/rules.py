"""The keys that say when a schedule is due become one timetable, and are kept as they were written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import msgspec

from puntual.manifest.closures import BLACKOUTS, CALENDARS, closed, closure_warnings, closures_of
from puntual.manifest.context import ManifestContext
from puntual.manifest.errors import Faults
from puntual.manifest.keys import ANCHOR, CRON_KEYS, LANG, RULES, SIFT_KEYS, TIMES, ZONE_KEYS
from puntual.manifest.kinds import no_duration, read_text, wrong
from puntual.manifest.sections import open_section, read_keys
from puntual.model.errors import InvalidError, InvalidManifestError, InvalidRuleError
from puntual.model.instant import SECOND, Instant, format_instant, parse_instant
from puntual.timing.messages import speaking
from puntual.timing.options import day_start
from puntual.timing.parse import Parsed, RuleOptions, parse_any, parse_interval, parse_once, parse_rule, parse_times
from puntual.timing.rule import IntervalRule, parts_of, read_timetable
from puntual.timing.sift import counted_by_writing
from puntual.timing.wallclock import parse_wall
from puntual.timing.zone import load_zone

_OFFSET: Final = re.compile(r"(?:[zZ]|[+-]\d\d:\d\d)$", re.ASCII)


class ReadRule(msgspec.Struct, frozen=True):
    """A rule understood: the JSON text of its timetable, what was written, what may surprise, and what nobody wrote."""

    timetable: str
    source: dict[str, object]
    warnings: tuple[str, ...]
    defaulted: tuple[str, ...]


class RulePlace(msgspec.Struct, frozen=True):
    """Where a rule stands: the name of its schedule, its dotted path, and what ``defaults`` hands down to it."""

    name: str
    path: str
    shared: Mapping[str, object]

    def field(self, key: str) -> str:
        """The dotted path of a key beside the rule."""
        return f"{self.path}.{key}" if self.path else key


def read_rule(
    written: Mapping[str, object], place: RulePlace, context: ManifestContext, faults: Faults
) -> ReadRule | None:
    """The one rule among the keys of a schedule; None after its faults were gathered.

    Args:
        written: the schedule's keys.
        place: where it stands.
        context: the operator's zone and the moment of writing.
        faults: what takes the faults.
    """
    before = len(faults)
    own = read_keys(ZONE_KEYS, written, place.path, faults)
    sifted = read_keys(SIFT_KEYS, written, place.path, faults)
    cron = read_cron(written["cron"], place.field("cron"), faults) if "cron" in written else None
    if len(faults) > before:
        return None
    zoned = {key.name: place.shared[key.name] for key in ZONE_KEYS if key.name in place.shared} | own
    with faults.gathering():
        key = _one_of(written, place)
        options = _options(written, zoned, place, context)
        options = msgspec.structs.replace(
            options, **{each.attribute: sifted[each.name] for each in SIFT_KEYS if each.name in sifted}
        )
        with blaming(place.field, key), speaking(options.tongue):
            parsed = (
                parse_rule(cron[0], dialect=cron[1], options=options)
                if cron
                else _parse(key, written[key], place, options)
            )
            closures = closures_of(zoned, options, context.calendars)
            timetable = closed(parsed.timetable, closures, context.now)
        elapsed = _check_companions(written, own, parsed, place)
        source = {name: written[name] for name in (key, *sifted, *TIMES) if name in written}
        said = {"dst_gap": not elapsed, "dst_fold": not elapsed, LANG: parsed.spoken or LANG in own}
        said |= {CALENDARS: True, BLACKOUTS: True}
        source |= {name: value for name, value in zoned.items() if said.get(name, False)}
        # A language that nobody wrote is no setting: the rule was read without one.
        unset = {*zoned, LANG, CALENDARS, BLACKOUTS}
        defaulted = tuple(key.name for key in ZONE_KEYS if key.name not in unset)
        warnings = (*parsed.warnings, *closure_warnings(timetable, context.now))
        return ReadRule(msgspec.json.encode(timetable).decode(), source, warnings, defaulted)
    return None


@contextmanager
def blaming(field: Callable[[str], str], key: str) -> Iterator[None]:
    """Gives the faults raised inside the dotted path of ``key``, or of the key beside it that they name."""
    try:
        yield
    except InvalidError as error:
        if error.field is None or not error.field.startswith(field("")):
            error.field = field(error.field or key)
        raise


def _one_of(written: Mapping[str, object], place: RulePlace) -> str:
    found = [key for key in RULES if key in written]
    if len(found) == 1:
        return found[0]
    if not found:
        message = "it does not say when it is due: give it one of when, cron, every, rrule and at"
        raise InvalidManifestError(message, field=place.path or "when", hint="For example `when: every 15 minutes`.")
    raise InvalidManifestError(
        f"{' and '.join(found)} both say when it is due: keep one of them", field=place.field(found[1])
    )


def _options(
    written: Mapping[str, object], zoned: Mapping[str, object], place: RulePlace, context: ManifestContext
) -> RuleOptions:
    timezone = zoned.get("timezone", context.timezone)
    with blaming(place.field, "timezone"):
        load_zone(str(timezone))
    times = {key: _time(written[key], str(timezone), place.field(key)) for key in TIMES if key in written}
    return msgspec.convert(
        {
            **zoned,
            **times,
            "now": context.now,
            "timezone": timezone,
            "zone_given": context.zone_given or "timezone" in zoned,
            "hash_key": place.name,
        },
        RuleOptions,
    )


def _time(value: object, timezone: str, field: str) -> Instant:
    """The instant of a time with an offset, or of a local one: the first where the clocks show it twice.

    A date alone is an anchor's: its local midnight. As a bound it would leave open which end of the day is meant.
    """
    text = read_text(value, field, "a time like 2027-01-01T09:30")
    if field.endswith(ANCHOR) and (midnight := day_start(text, timezone, field=field)) is not None:
        return midnight
    if _OFFSET.search(text):
        return parse_instant(text, field=field)
    return load_zone(timezone).resolve(parse_wall(text, field=field), "boundary", "first")[0] * SECOND


def read_cron(value: object, field: str, faults: Faults) -> tuple[str, str] | None:
    """The expression and the dialect of a ``cron`` mapping; None after its faults were gathered."""
    if not isinstance(value, dict):
        faults.add(wrong(value, "a mapping {expr, dialect}; five fields can stand in `when`", field))
        return None
    section = open_section(value, field, faults, known=[key.name for key in CRON_KEYS])
    read = read_keys(CRON_KEYS, section, field, faults)
    if "expr" not in section:
        faults.refuse("it has no expression: write {expr: '0 2 * * *', dialect: unix}", field)
    return str(read.get("expr")), str(read.get("dialect", "unix"))


def _parse(key: str, value: object, place: RulePlace, options: RuleOptions) -> Parsed:
    """The timetable of ``when``, ``every`` or ``at``."""
    field = place.field(key)
    match key:
        case "when" if isinstance(value, list):
            return parse_any(
                [read_text(item, f"{field}[{place}]") for place, item in enumerate(value)], options=options
            )
        case "when":
            return parse_rule(
                read_text(value, field, "a rule like 'every 15 minutes', or a list of rules"), options=options
            )
        case "rrule":
            text = read_text(value, field, "a recurrence rule like FREQ=WEEKLY;BYDAY=MO;BYHOUR=9;BYMINUTE=0")
            return parse_rule(text, dialect="rrule", options=options)
        case "every":
            if not isinstance(value, str):
                raise no_duration(value, field)
            return parse_interval(value, options=options)
        case "at" if isinstance(value, list):
            texts = [
                read_text(item, f"{field}[{place}]", "a time like 2027-01-01T09:30") for place, item in enumerate(value)
            ]
            return parse_times(texts, options=options)
        case _:
            return parse_once(read_text(value, field, "a time like 2027-01-01T09:30"), options=options)


def _check_companions(
    written: Mapping[str, object], own: Mapping[str, object], parsed: Parsed, place: RulePlace
) -> bool:
    """Refuses what stands beside a rule and could mean nothing to it; whether the rule is intervals only."""
    intervals = [isinstance(part, IntervalRule) for part in parts_of(parsed.timetable.rule)]
    if "anchor" in written and not parsed.anchored:
        message = "an anchor belongs to an interval, a cycle or an rrule, and this rule has none"
        raise InvalidRuleError(message, field=place.field("anchor"))
    if LANG in own and "when" not in written:
        raise InvalidRuleError("a language belongs to phrases, and only `when` has them", field=place.field(LANG))
    idle = next((key for key in ("dst_gap", "dst_fold") if key in own and all(intervals)), None)
    if idle is not None:
        message = "an interval follows elapsed time, so no clock change concerns it: leave this out"
        raise InvalidRuleError(message, field=place.field(idle))
    return all(intervals)


def start_of(timetable: str) -> dict[str, object]:
    """The key ``start`` for what counts its ticks from its writing on, since elsewhere that was another moment."""
    try:
        since = counted_by_writing(read_timetable(timetable))
    except InvalidRuleError:
        return {}  # What only a newer version can read is passed on as it was written.
    return {} if since is None else {"start": format_instant(since)}


def kept_timetable(new: str, source: object, old: str, old_source: object) -> str | None:
    """The old timetable, with what closes the new one, where both were written alike in one zone; else None.

    So a default anchor stays where it is, and what its calendars mean is what they mean now.
    """
    if source != old_source:
        return None
    try:
        is_, was = read_timetable(new), read_timetable(old)
    except InvalidRuleError:
        return None  # What a newer version has written is written anew.
    if is_.timezone != was.timezone:
        return None
    if is_.closures == was.closures:
        return old
    return msgspec.json.encode(msgspec.structs.replace(was, closures=is_.closures)).decode()
