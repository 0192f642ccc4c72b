"""The keys that keep a schedule from running: ``calendars`` and ``blackouts``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final, get_args

import msgspec

from puntual.manifest.errors import nearest, shown
from puntual.manifest.kinds import Duration, JsonSchema, Name, Several, Text, plain_words, wrong
from puntual.model.duration import parse_duration
from puntual.model.errors import InvalidManifestError, InvalidRuleError
from puntual.model.instant import DAY, SECOND, Instant
from puntual.timing import rule as rules
from puntual.timing.calendar import CalendarDays, Otherwise
from puntual.timing.clock import ClockRule
from puntual.timing.options import alone
from puntual.timing.parse import RuleOptions, parse_rule
from puntual.timing.rule import Blackout, Closures, Timetable

CALENDARS: Final = "calendars"
BLACKOUTS: Final = "blackouts"

_EPOCH: Final = date(1970, 1, 1).toordinal()
#: Whoever reads of it has time to do something.
_SOON_US: Final = 60 * DAY
#: How often all blackouts of a schedule together may begin in a year, which has 8,784 hours.
_MOST_BEGINNINGS: Final = 10_000


def _part(value: object, known: Sequence[str], what: str, field: str) -> dict[str, object]:
    """The entries of a small mapping whose keys are known."""
    if not isinstance(value, dict):
        raise wrong(value, what, field)
    for key in value:
        if key not in known:
            meant = nearest(str(key), known)
            way_out = f"did you mean {meant}?" if meant else f"the keys here are {', '.join(known)}"
            raise InvalidManifestError(f"there is no key {shown(key)} here: {way_out}", field=f"{field}.{key}")
    return value


class CalendarUse(msgspec.Struct, frozen=True):
    """Which calendars a day must be in, or must not be in, and where a tick on another day goes."""

    _NAMES = Several(Name("calendar"))
    _OTHERWISE = plain_words(*get_args(Otherwise))
    _KEYS = ("include", "exclude", "otherwise")

    def read(self, value: object, field: str) -> dict[str, object]:
        """What was written, checked."""
        section = _part(value, self._KEYS, "a mapping {include, exclude, otherwise}", field)
        read: dict[str, object] = {}
        for key, item in section.items():
            place = f"{field}.{key}"
            if key == "otherwise":
                read[key] = self._OTHERWISE.read(item, place)
            else:
                # One name may stand alone, as one exception may.
                read[key] = [*self._NAMES.read([item] if isinstance(item, str) else item, place)]
        if not read.get("include") and not read.get("exclude"):
            raise InvalidManifestError("it names no calendar: write include: or exclude: with names", field=field)
        return read

    def write(self, value: object) -> object:
        """The mapping."""
        return value

    def schema(self) -> JsonSchema:
        """An object of two lists and a word."""
        names: JsonSchema = {"anyOf": [{"type": "string"}, self._NAMES.schema()]}
        otherwise = self._OTHERWISE.schema()
        return {
            "type": "object",
            "properties": {"include": names, "exclude": names, "otherwise": otherwise},
            "additionalProperties": False,
        }


class Blackouts(msgspec.Struct, frozen=True):
    """Times in which nothing runs: a list of {when, for}."""

    _WHEN = Text()
    _FOR = Duration(least_us=SECOND, most_us=366 * DAY)
    _MOST = 50

    def read(self, value: object, field: str) -> list[dict[str, object]]:
        """What was written, checked as far as it can be without the schedule's zone."""
        if not isinstance(value, list):
            raise wrong(value, "a list, like [{when: 'saturday at 22:00', for: 4h}]", field)
        if len(value) > self._MOST:
            raise InvalidManifestError(f"it has {len(value)} items, and {self._MOST} are the most", field=field)
        return [self._one(item, f"{field}[{place}]") for place, item in enumerate(value)]

    def write(self, value: object) -> object:
        """The list."""
        return value

    def schema(self) -> JsonSchema:
        """An array of objects."""
        properties = {"when": self._WHEN.schema(), "for": self._FOR.schema()}
        item = {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
        return {"type": "array", "items": item, "maxItems": self._MOST}

    def _one(self, value: object, field: str) -> dict[str, object]:
        section = _part(
            value, ("when", "for"), "a mapping {when, for}, like {when: 'saturday at 22:00', for: 4h}", field
        )
        if len(section) < 2:
            missing = "for" if "when" in section else "when"
            raise InvalidManifestError(f"it does not say {missing}: write {{when: ..., for: ...}}", field=field)
        self._FOR.read(section["for"], f"{field}.for")
        return {"when": self._WHEN.read(section["when"], f"{field}.when"), "for": section["for"]}


def closures_of(read: Mapping[str, object], options: RuleOptions, known: Mapping[str, CalendarDays]) -> Closures | None:
    """What the keys mean; None where neither was written.

    Args:
        read: the values of both keys, as their kinds give them.
        options: zone and moment of writing.
        known: what each calendar means.

    Raises:
        InvalidRuleError: a calendar is not known, or the rule of a blackout is refused; ``field`` is relative.
    """
    use, blackouts = read.get(CALENDARS), read.get(BLACKOUTS)
    if not use and not blackouts:
        return None
    written = msgspec.convert({**use, "calendars": []} if isinstance(use, dict) else {}, Closures)
    names = dict.fromkeys((*written.include, *written.exclude))
    for name in names:
        if name not in known:
            meant = nearest(name, [*known])
            listed = f"there are {', '.join(sorted(known)[:10])}" if known else "there is none yet"
            way_out = f"did you mean {meant}?" if meant else f"{listed}; write it under calendars: of a manifest"
            raise InvalidRuleError(f"there is no calendar {shown(name)}: {way_out}", field=CALENDARS)
    return msgspec.structs.replace(
        written,
        calendars=tuple(known[name] for name in names),
        blackouts=_few(
            tuple(
                _blackout(item, options, place)
                for place, item in enumerate(blackouts if isinstance(blackouts, list | tuple) else ())
            ),
            options,
        ),
    )


def closed(timetable: Timetable, closures: Closures | None, now: Instant) -> Timetable:
    """The timetable with its closures.

    Raises:
        InvalidRuleError: its ticks cannot move, or all of them are closed; ``field`` is relative.
    """
    if closures is None:
        return timetable
    whole = msgspec.structs.replace(timetable, closures=closures)
    if any(not each.version for each in closures.calendars):
        # One of them has not been found out yet: what it closes cannot be said.
        return whole
    if rules.compile(whole).open_next(now) is None and rules.compile(timetable).next(now) is not None:
        key = CALENDARS if closures.calendars else BLACKOUTS
        raise InvalidRuleError("this never runs: each of its ticks is closed, as far as one can see", field=key)
    return whole


def closure_warnings(timetable: Timetable, now: Instant) -> list[str]:
    """What may surprise about the calendars of a schedule."""
    if timetable.closures is None:
        return []
    known = timetable.closures.calendars
    found = [
        f"the calendar {each.name} knows nothing of the days after {date.fromordinal(each.until + _EPOCH)}: "
        "from then on it closes nothing more"
        for each in known
        if each.until is not None and each.until * DAY < now + _SOON_US
    ]
    if known and any(isinstance(part, ClockRule) and part.working_days for part in rules.parts_of(timetable.rule)):
        found.append("its business days are counted from Monday to Friday, whatever day a calendar closes")
    return found


def _few(blackouts: tuple[Blackout, ...], options: RuleOptions) -> tuple[Blackout, ...]:
    """The blackouts, unless they begin so often that an answer about years would take long."""
    begun = 0
    for each in blackouts:
        rule = rules.compile(Timetable(rule=each.rule, timezone=options.timezone))
        begun += rule.count(options.now, options.now + 366 * DAY, _MOST_BEGINNINGS + 1)
    if begun > _MOST_BEGINNINGS:
        raise InvalidRuleError(
            f"the blackouts begin more than {_MOST_BEGINNINGS:,} times a year: write a few that last longer",
            field=BLACKOUTS,
        )
    return blackouts


def _blackout(item: Mapping[str, str], options: RuleOptions, place: int) -> Blackout:
    own = alone(options)
    try:
        parsed = parse_rule(item["when"], options=own)
    except InvalidRuleError as error:
        error.field = f"{BLACKOUTS}[{place}].when"
        raise
    return Blackout(rule=parsed.timetable.rule, for_us=parse_duration(item["for"]))
