"""A schedule given as flags becomes the mapping that a manifest would hold, and goes through the same reader."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from puntual.manifest.context import ManifestContext
from puntual.manifest.document import plain_scalar, read_documents
from puntual.manifest.schedules import ManifestSchedule, read_schedule
from puntual.model.errors import InvalidManifestError
from puntual.model.payload import decode


class ScheduleFlags(msgspec.Struct, frozen=True, kw_only=True):
    """What ``puntual schedule add`` was given, as text; ``sets`` are ``KEY.PATH=VALUE`` and go over the rest."""

    when: str | None = None
    timezone: str | None = None
    lang: str | None = None
    anchor: str | None = None
    url: str | None = None
    method: str | None = None
    headers: Sequence[str] = ()
    json_body: str | None = None
    task: str | None = None
    args: str | None = None
    command: Sequence[str] = ()
    sets: Sequence[str] = ()


def schedule_from_flags(name: str, flags: ScheduleFlags, context: ManifestContext) -> ManifestSchedule:
    """The schedule that flags describe.

    Raises:
        InvalidError: the one fault that it has; ``field`` is the flag, or the key as a manifest has it.
        ManifestErrors: it has several.
    """
    return read_schedule(name, mapping_of_flags(flags), context)


def mapping_of_flags(flags: ScheduleFlags) -> dict[str, object]:
    """The keys and values that a manifest would hold.

    Raises:
        InvalidManifestError: a flag cannot be read.
    """
    written: dict[str, object] = {}
    for key in ("when", "timezone", "lang", "anchor", "task"):
        value = getattr(flags, key)
        if value is not None:
            written[key] = value
    if flags.args is not None:
        written["args"] = decode(flags.args, field="--args")
    if flags.command:
        written["command"] = [*flags.command]
    request = _request(flags)
    if request:
        written["http"] = request
    for text in flags.sets:
        _set(written, text)
    return written


def _request(flags: ScheduleFlags) -> dict[str, object]:
    request: dict[str, object] = {}
    if flags.url is not None:
        request["url"] = flags.url
    if flags.method is not None:
        request["method"] = flags.method
    if flags.headers:
        request["headers"] = _headers(flags.headers)
    if flags.json_body is not None:
        request["json"] = decode(flags.json_body, field="--json-body")
    return request


def _headers(lines: Sequence[str]) -> dict[str, object]:
    headers: dict[str, object] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            # The line may carry a credential, so it is not repeated.
            raise InvalidManifestError("a header is written 'Name: value'", field="--header")
        if name.strip() in headers:
            raise InvalidManifestError(f"the header {name.strip()} is given twice", field="--header")
        headers[name.strip()] = value.strip()
    return headers


def _set(written: dict[str, object], text: str) -> None:
    path, equals, value = text.partition("=")
    keys = path.split(".")
    if not equals or not all(keys):
        raise InvalidManifestError(f"{text[:60]!r} is not KEY.PATH=VALUE, like retry.max_attempts=3", field="--set")
    into = written
    for place, key in enumerate(keys[:-1]):
        inner = into.setdefault(key, {})
        if not isinstance(inner, dict):
            taken = ".".join(keys[: place + 1])
            raise InvalidManifestError(f"{taken} is a value already, so {path} cannot be set inside it", field="--set")
        into = inner
    into[keys[-1]] = _value(value)


def _value(text: str) -> object:
    """A list, a mapping or a text in quotes as YAML has them; all else as a plain scalar, whatever it begins with."""
    if text[:1] in ("[", "{", "'", '"'):
        documents = read_documents(text, "--set")
        return documents[0].value if documents else None
    return plain_scalar(text) if text else ""
