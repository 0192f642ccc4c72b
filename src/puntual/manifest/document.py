"""A text becomes plain JSON values with the line of each, or one clear error: no type is guessed and no key lost.

YAML is read by its events alone. A plain scalar is null, true, false or a number exactly where JSON would read one (and
``~``, ``True`` and their like); all else is text. So ``on:`` is a key, ``12:30`` and ``2027-01-01T00:00`` are texts,
and NO is a country. Length, depth and what aliases unfold to are bounded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final, NoReturn

import msgspec
import yaml

from puntual.manifest.errors import ManifestErrors, Origin, located
from puntual.model.errors import InvalidManifestError, InvalidPayloadError
from puntual.model.profile import MAX_DEPTH, refuse

#: A manifest of 10,000 schedules is 3 MB.
LONGEST: Final = 16 << 20
#: Aliases repeat what they name, so what they would unfold to is bounded too, in characters and values.
_UNFOLDED: Final = 32 << 20

_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?", re.ASCII)
_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_TEXT_TAGS: Final = frozenset({"!", "tag:yaml.org,2002:str"})

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Document(msgspec.Struct, frozen=True):
    """One document of a text: its value, and where it came from."""

    value: object
    origin: Origin


def read_documents(text: str | bytes, source: str | None = None) -> tuple[Document, ...]:
    """The documents of a YAML or JSON text, in order, without empty ones.

    Args:
        text: UTF-8 where it is bytes.
        source: its name in errors, for example a path.

    Raises:
        ManifestErrors: it is no such text, a key stands twice, or it is too long or too deep.
    """
    decoded = _decoded(text, source)
    value = _read_json(decoded, source) if decoded.lstrip()[:1] in ("{", "[") else None
    documents = (Document(value, Origin(source)),) if value is not None else tuple(_read_yaml(decoded, source))
    for document in documents:
        _check_profile(document)
    return documents


def plain_scalar(text: str) -> object:
    """What a plain scalar means: None, a boolean, a number, or the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    number = _NUMBER.fullmatch(text)
    if number is None or len(text) > 1_000:
        return text
    return float(text) if number[1] or number[2] else int(text)


def _check_profile(document: Document) -> None:
    """Holds a document to the JSON profile."""
    value = document.value
    try:
        for key, item in value.items() if isinstance(value, dict) else [("it", value)]:
            refuse(item, key, 1)
    except InvalidPayloadError as error:
        raise ManifestErrors([located(error, document.origin)]) from None


def _decoded(text: str | bytes, source: str | None) -> str:
    if len(text) > LONGEST:
        _refuse(Origin(source), f"it is longer than {LONGEST >> 20} MB: split it into several files")
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            _refuse(Origin(source, {"": line}), "it is not UTF-8: save it in that encoding")
    return text.removeprefix("\ufeff")


def _read_json(text: str, source: str | None) -> object | None:
    """The value of a JSON text, or None where it may still be YAML that begins like one."""

    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(items)
        if len(found) < len(items):
            names = [name for name, _ in items]
            twice = next(name for name in names if names.count(name) > 1)
            _refuse(Origin(source), f"the key {twice!r} stands twice in one object")
        return found

    try:
        value: object = json.loads(text, object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return None
    return value


def _read_yaml(text: str, source: str | None) -> Iterator[Document]:
    builder = _Builder(source)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            if builder.take(event) and builder.value is not None:
                yield Document(builder.value, Origin(source, builder.lines))
    except yaml.YAMLError as error:
        raise _syntax_error(error, text, source) from None


class _Frame:
    """A mapping or list that is still open."""

    def __init__(self, into: dict[str, object] | list[object], path: str, anchor: str | None) -> None:
        self.into = into
        self.path = path
        self.anchor = anchor
        self.key: str | None = None
        self.weight = 1


class _Builder:
    """Builds the value of one document after the other from the parser's events, with a stack of its own."""

    def __init__(self, source: str | None) -> None:
        self._source = source
        self._start()

    def _start(self) -> None:
        self.value: object = None
        self.lines: dict[str, int] = {}
        self._stack: list[_Frame] = []
        self._anchors: dict[str, tuple[object, int]] = {}

    def take(self, event: yaml.Event) -> bool:
        """Takes the next event; True when a document is complete."""
        match event:
            case yaml.DocumentStartEvent():
                self._start()
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._open(event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                frame = self._stack.pop()
                self._put(frame.into, frame.weight, frame.anchor)
            case yaml.ScalarEvent() if self._wants_key():
                self._take_key(event)
            case yaml.ScalarEvent():
                self._path(event)
                self._put(self._scalar(event), len(event.value) + 1, event.anchor)
            case yaml.AliasEvent():
                self._take_alias(event)
            case yaml.DocumentEndEvent():
                return True
        return False

    def _wants_key(self) -> bool:
        return bool(self._stack) and isinstance(self._stack[-1].into, dict) and self._stack[-1].key is None

    def _path(self, event: yaml.Event) -> str:
        """The dotted path of the value that begins here; the line of a mapping's value is that of its key."""
        path = ""
        if self._stack:
            frame = self._stack[-1]
            path = f"{frame.path}[{len(frame.into)}]" if frame.key is None else _joined(frame.path, frame.key)
        self.lines.setdefault(path, _line(event))
        return path

    def _open(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        if self._wants_key():
            self._fail(
                "a key must be a text, not a list or a mapping; a text that begins with { or [ needs quotes", event
            )
        if event.tag is not None:
            self._fail(f"the tag {event.tag} is not read here", event)
        if len(self._stack) >= MAX_DEPTH:
            _refuse(Origin(self._source, {"": _line(event)}), f"it is nested deeper than {MAX_DEPTH} levels")
        path = self._path(event)
        into: dict[str, object] | list[object] = {} if isinstance(event, yaml.MappingStartEvent) else []
        self._stack.append(_Frame(into, path, event.anchor))

    def _take_key(self, event: yaml.ScalarEvent) -> None:
        frame = self._stack[-1]
        key = event.value
        if key == "<<" and event.implicit[0]:
            self._fail("the merge key << is not read here: put what schedules share under `defaults:`", event)
        if key in frame.into:
            first = self.lines[_joined(frame.path, key)]
            self._fail(f"the key {key!r} stands twice: it is already on line {first}", event)
        frame.key = key
        self.lines[_joined(frame.path, key)] = _line(event)

    def _scalar(self, event: yaml.ScalarEvent) -> object:
        plain = event.implicit[0]
        if not plain and event.tag is not None and event.tag not in _TEXT_TAGS:
            self._fail(f"the tag {event.tag} is not read here: a text in quotes needs none", event)
        return plain_scalar(event.value) if plain else event.value

    def _take_alias(self, event: yaml.AliasEvent) -> None:
        if self._wants_key():
            self._fail("a key must be a text, not an alias", event)
        if event.anchor not in self._anchors:
            self._fail(
                f"there is no &{event.anchor} before *{event.anchor}; a text that begins with * needs quotes", event
            )
        self._path(event)
        value, weight = self._anchors[event.anchor]
        self._put(value, weight, None)

    def _put(self, value: object, weight: int, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = (value, weight)
        if not self._stack:
            self.value = value
            return
        frame = self._stack[-1]
        frame.weight += weight
        if frame.weight > _UNFOLDED:
            _refuse(Origin(self._source, self.lines), "its aliases repeat more than fits in 32 MB", frame.path)
        if isinstance(frame.into, list):
            frame.into.append(value)
        elif frame.key is not None:
            frame.into[frame.key] = value
            frame.key = None

    def _fail(self, message: str, event: yaml.Event) -> NoReturn:
        path = self._stack[-1].path if self._stack else ""
        line = _line(event)
        _refuse(Origin(self._source, {path: line}), message, path)


#: What the parser says, and the way out, for the slips that a schedule's rule invites.
_SLIPS: Final[Sequence[tuple[re.Pattern[str], str]]] = (
    (
        re.compile(r"[:\-,\[]\s+[*&@%!`]"),
        "A text that begins with *, &, @, %, ! or ` needs quotes: when: '*/5 * * * *'.",
    ),
    (re.compile(r"^\s*\t"), "Indent with spaces: YAML allows no tabs there."),
    (re.compile(r":\s+[^'\"]*:\s"), "A text that holds a colon and a space needs quotes."),
)


def _syntax_error(error: yaml.YAMLError, text: str, source: str | None) -> ManifestErrors:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
    if mark is None:
        place = getattr(error, "position", 0)
        return _error(Origin(source, {"": text.count("\n", 0, place) + 1}), f"it is no YAML: {problem}")
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    hint = next((way_out for slip, way_out in _SLIPS if slip.search(line)), None)
    return _error(Origin(source, {"": mark.line + 1}), f"it is no YAML: {problem}", hint=hint)


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _error(origin: Origin, message: str, field: str = "", *, hint: str | None = None) -> ManifestErrors:
    error = InvalidManifestError(message, field=field or None, hint=hint)
    return ManifestErrors([located(error, origin)])


def _refuse(origin: Origin, message: str, field: str = "") -> NoReturn:
    raise _error(origin, message, field)
