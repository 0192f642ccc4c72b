"""Calendars as people write them: dates, days of the week, a country, an iCalendar; several of these together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from puntual.manifest.context import Check, ManifestContext
from puntual.manifest.errors import Faults, ManifestErrors, Origin
from puntual.manifest.keys import Key, own_key
from puntual.manifest.kinds import Choice, Duration, JsonSchema, Several, Text, read_text, wrong
from puntual.manifest.sections import fill, open_section, read_keys
from puntual.model.calendar import LONGEST_ICAL, MOST_DAYS, CalendarSpec, asked_url, days_of, is_ical
from puntual.model.errors import InvalidError, InvalidManifestError
from puntual.model.instant import DAY, MINUTE

_WEEKDAYS: Final = {
    "monday": 1,
    "tuesday": 2,
    "wednesday": 3,
    "thursday": 4,
    "friday": 5,
    "saturday": 6,
    "sunday": 0,
}
_PARTS: Final = ("dates", "weekdays", "country", "ical")


class Dates(msgspec.Struct, frozen=True):
    """A date, or a range of them."""

    def read(self, value: object, field: str) -> str:
        """The text as it was written."""
        text = read_text(value, field, "a date like 2026-12-24")
        days_of(text, field=field)
        return text

    def write(self, value: object) -> object:
        """The text."""
        return value

    def schema(self) -> JsonSchema:
        """A string."""
        return {"type": "string", "examples": ["2026-12-24", "2026-12-24..2027-01-02"]}


class Code(msgspec.Struct, frozen=True):
    """A code of ISO 3166, in capitals."""

    pattern: str
    what: str

    def read(self, value: object, field: str) -> str:
        """The code."""
        if isinstance(value, str) and re.fullmatch(self.pattern, value, re.ASCII):
            return value
        raise wrong(value, self.what, field)

    def write(self, value: object) -> object:
        """The code."""
        return value

    def schema(self) -> JsonSchema:
        """A string."""
        return {"type": "string", "pattern": f"^{self.pattern}$"}


class Ical(msgspec.Struct, frozen=True):
    """An iCalendar: its address, its file, or its text."""

    def read(self, value: object, field: str) -> str:
        """The text as it was written; where a file is named, that is not its content yet."""
        text = read_text(value, field, "an address, a file or the text of an iCalendar")
        if is_ical(text):
            if len(text.encode("utf-8", "surrogatepass")) > LONGEST_ICAL:
                raise InvalidManifestError(f"it is longer than {LONGEST_ICAL >> 20} MB", field=field)
            return text
        return Text(most=2_000).read(text, field)

    def write(self, value: object) -> object:
        """The text."""
        return value

    def schema(self) -> JsonSchema:
        """A string."""
        return {"type": "string", "examples": ["https://example.com/fair.ics", "fair.ics"]}


CALENDAR_KEYS: Final[Sequence[Key]] = (
    own_key("dates", Several(Dates(), most=MOST_DAYS), "Single dates, and ranges: 2026-12-24..2027-01-02.", []),
    own_key("weekdays", Several(Choice(_WEEKDAYS)), "Days of the week, like [saturday, sunday].", []),
    own_key(
        "country",
        Code("[A-Z]{2,3}", "the code of a country in capitals, like CO"),
        "The public holidays of this country (ISO 3166-1).",
    ),
    own_key(
        "subdivision",
        Code("[A-Za-z0-9-]{1,8}", "the code of a part of the country, like BY"),
        "Those of a part of the country (ISO 3166-2).",
    ),
    own_key("ical", Ical(), "The days of the events of an iCalendar: its address, its file, or its text."),
    msgspec.structs.replace(
        own_key("refresh", Duration(least_us=5 * MINUTE, most_us=30 * DAY), "How often an address is asked.", "24h"),
        attribute="refresh_us",
    ),
)


class Along(msgspec.Struct, frozen=True):
    """What a definition may refer to: who checks addresses, and the texts of the files that came along with it."""

    http: Check
    files: Mapping[str, str] = {}


def read_calendar(value: object, path: str, along: Along, faults: Faults) -> CalendarSpec | None:
    """The calendar at a dotted path; None after its faults were gathered."""
    before = len(faults)
    written = open_section(value, path, faults, known=[key.name for key in CALENDAR_KEYS])
    read = read_keys(CALENDAR_KEYS, written, path, faults)
    if len(faults) > before:
        return None
    with faults.gathering():
        return _spec(read, f"{path}." if path else "", along)
    return None


def calendar_of(body: Mapping[str, object], context: ManifestContext) -> CalendarSpec:
    """The calendar of one mapping, as requests and flags bring it.

    Raises:
        InvalidError: the one fault that it has; ``field`` is relative to the mapping.
        ManifestErrors: it has several.
    """
    faults = Faults(Origin())
    spec = read_calendar(dict(body), "", Along(context.checks.http), faults)
    if len(faults.errors) == 1:
        raise faults.errors[0]
    if spec is None:
        raise ManifestErrors(faults.errors)
    return spec


def calendar_mapping(spec: CalendarSpec) -> dict[str, object]:
    """The keys and values of a calendar as a manifest holds them; `read_calendar` takes them back to the same."""
    values = ((key, getattr(spec, key.attribute)) for key in CALENDAR_KEYS)
    return {key.name: key.kind.write(value) for key, value in values if value != key.default_for(None)}


def _spec(read: Mapping[str, object], prefix: str, along: Along) -> CalendarSpec:
    if not any(name in read for name in _PARTS):
        raise InvalidManifestError(
            f"it has no days: give it one or more of {', '.join(_PARTS)}", field=prefix.rstrip(".") or None
        )
    spec = msgspec.convert(fill(CALENDAR_KEYS, read, "", None).values, CalendarSpec)
    if spec.subdivision is not None and spec.country is None:
        raise InvalidManifestError("a subdivision is part of a country: name that too", field=f"{prefix}subdivision")
    feed = spec.feed
    if feed is not None and "://" in feed:
        _check_address(asked_url(feed), f"{prefix}ical", along)
    elif feed is not None:
        spec = msgspec.structs.replace(spec, ical=_file(feed, f"{prefix}ical", along))
    if "refresh" in read and spec.feed is None:
        raise InvalidManifestError("only what has an address is asked anew: leave this out", field=f"{prefix}refresh")
    return spec


def _check_address(url: str, field: str, along: Along) -> None:
    try:
        along.http({"url": url}, field=field)
    except InvalidError as error:
        error.field = field
        raise


def _file(name: str, field: str, along: Along) -> str:
    """The text of a file that came along; files are read by whoever sends a manifest, and never where it is applied."""
    if name not in along.files:
        raise InvalidManifestError(
            f"{name!r} is no address, and no file that came along: puntual apply sends the files that a manifest names",
            field=field,
            hint="Elsewhere write the text of the iCalendar itself.",
        )
    text = Ical().read(along.files[name], field)
    if not is_ical(text):
        raise InvalidManifestError(f"the file {name} is no iCalendar: it begins with BEGIN:VCALENDAR", field=field)
    return text
