"""A manifest is read as a whole: every fault of every file is found before anything is applied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from puntual.manifest.calendars import Along, read_calendar
from puntual.manifest.context import ManifestContext
from puntual.manifest.document import LONGEST, Document, read_documents
from puntual.manifest.errors import Faults, ManifestErrors, Origin, located, shown
from puntual.manifest.keys import LATER_QUEUE, LATER_SCHEDULE, LATER_TOP, QUEUE_KEYS, RETRY, SHARED_KEYS
from puntual.manifest.names import check_name
from puntual.manifest.schedules import Around, ManifestSchedule, read_one
from puntual.manifest.sections import fill, open_section, read_keys, read_retry
from puntual.model.calendar import CalendarSpec, is_ical
from puntual.model.errors import InvalidManifestError, PuntualError

SUFFIXES = (".yaml", ".yml", ".json")
TOP_KEYS = ("owner", "defaults", "calendars", "queues", "schedules")


class QueueSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a manifest says of a queue. ``concurrency`` None means no limit."""

    name: str
    concurrency: int | None = None


class ManifestCalendar(msgspec.Struct, frozen=True):
    """A calendar, and what it is called."""

    name: str
    spec: CalendarSpec


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What one owner wrote, in all documents read together. ``owner`` None marks nothing: it is never pruned."""

    owner: str | None = None
    calendars: tuple[ManifestCalendar, ...] = ()
    schedules: tuple[ManifestSchedule, ...] = ()
    queues: tuple[QueueSettings, ...] = ()


class Text(msgspec.Struct, frozen=True):
    """A text to read, its name in errors, and the texts of the files that it names, by the names it has for them."""

    text: str | bytes
    source: str | None = None
    files: Mapping[str, str] = {}


class Opened(msgspec.Struct, frozen=True):
    """Texts taken apart into documents, each with the files that came along, and the faults of those that are none."""

    documents: tuple[tuple[Document, Mapping[str, str]], ...]
    errors: tuple[PuntualError, ...]


def read_manifest(text: str | bytes, *, source: str | None = None, context: ManifestContext) -> Manifest:
    """The manifest of one text, which has one owner.

    Args:
        text: YAML or JSON, of one document or several.
        source: its name in errors, for example a path.
        context: what it is read against.

    Raises:
        ManifestErrors: every fault of the text.
    """
    manifests = read_manifests([Text(text, source)], context)
    if len(manifests) > 1:
        owners = " and ".join(repr(manifest.owner or "nobody") for manifest in manifests)
        error = InvalidManifestError(f"it holds schedules of {owners}: one manifest has one owner", field="owner")
        raise ManifestErrors([located(error, Origin(source))])
    return manifests[0] if manifests else Manifest(owner=context.code_owner)


def open_texts(texts: Iterable[Text]) -> Opened:
    """The documents of texts; what is wrong with one is told by `read_manifests`."""
    errors: list[PuntualError] = []
    documents: list[tuple[Document, Mapping[str, str]]] = []
    for text in texts:
        try:
            documents += [(document, text.files) for document in read_documents(text.text, text.source)]
        except ManifestErrors as error:
            errors.extend(error.errors)
    return Opened(tuple(documents), tuple(errors))


def files_named(text: str) -> list[str]:
    """The files that a manifest's calendars name, whose texts are to be sent along; what is no manifest has none."""
    found: list[str] = []
    for document, _ in open_texts([Text(text)]).documents:
        named = document.value.get("calendars") if isinstance(document.value, dict) else None
        for calendar in named.values() if isinstance(named, dict) else ():
            ical = calendar.get("ical") if isinstance(calendar, dict) else None
            if isinstance(ical, str) and ical.strip() and "://" not in ical and not is_ical(ical):
                found.append(ical)
    return list(dict.fromkeys(found))


def declared_calendars(opened: Opened, context: ManifestContext) -> dict[str, tuple[CalendarSpec | None, Origin]]:
    """The calendars that documents define, with where; None stands for one that has a fault.

    Schedules can be read when it is known what these mean. Their faults are told by `read_manifests`.
    """
    found: dict[str, tuple[CalendarSpec | None, Origin]] = {}
    for document, files in opened.documents:
        named = document.value.get("calendars") if isinstance(document.value, dict) else None
        for name, value in named.items() if isinstance(named, dict) else ():
            unheard = Faults(document.origin)
            spec = read_calendar(value, f"calendars.{name}", Along(context.checks.http, files), unheard)
            found[name] = (spec, document.origin)
    return found


def read_manifests(texts: Iterable[Text] | Opened, context: ManifestContext) -> tuple[Manifest, ...]:
    """One manifest for each owner that the texts name, in the order of their first document.

    What the calendars mean that schedules name stands in the context, of those too that the texts define themselves.

    Raises:
        ManifestErrors: every fault of every text; a name that stands twice is told with both places.
    """
    opened = texts if isinstance(texts, Opened) else open_texts(texts)
    errors = list(opened.errors)
    gathered = _Gathered()
    for document, files in opened.documents:
        faults = Faults(document.origin)
        _read_document(document, gathered, faults, context, Along(context.checks.http, files))
        errors.extend(faults.errors)
    if errors:
        raise ManifestErrors(errors)
    return tuple(gathered.manifests.values())


def gather_texts(paths: Iterable[str | Path]) -> list[Text]:
    """The texts of files, and of the ``.yaml``, ``.yml`` and ``.json`` files in and below folders, by their paths.

    Raises:
        InvalidManifestError: a path does not exist, cannot be read, or is a folder without such files.
    """
    texts = []
    for path in map(Path, paths):
        files = [path]
        if path.is_dir():
            files = sorted(
                found
                for found in path.rglob("*")
                if found.suffix in SUFFIXES and found.is_file() and not _hidden(found, path)
            )
            if not files:
                raise InvalidManifestError(f"{path} holds no manifest: there is no .yaml, .yml or .json file in it")
        for file in files:
            try:
                with file.open("rb") as stream:
                    # A byte more than may be read: the reader refuses it, and a device without end is left.
                    texts.append(Text(stream.read(LONGEST + 1), str(file)))
            except OSError as error:
                raise InvalidManifestError(
                    f"{file} cannot be read: {(error.strerror or str(error)).lower()}"
                ) from error
    return texts


def _hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


class _Gathered:
    """What was read so far, by owner; and where each name was first seen."""

    def __init__(self) -> None:
        self.manifests: dict[str | None, Manifest] = {}
        self._seen: dict[str, str] = {}

    def first(self, path: str, origin: Origin) -> str | None:
        """Notes a name at its place; where it was before, if it was."""
        place = origin.place(path) or "another document"
        earlier = self._seen.setdefault(path, place)
        return None if earlier is place else earlier

    def add(self, found: Manifest) -> None:
        """Joins a document to the manifest of its owner."""
        known = self.manifests.get(found.owner, Manifest(owner=found.owner))
        self.manifests[found.owner] = Manifest(
            owner=found.owner,
            calendars=(*known.calendars, *found.calendars),
            schedules=(*known.schedules, *found.schedules),
            queues=(*known.queues, *found.queues),
        )


def _read_document(
    document: Document, gathered: _Gathered, faults: Faults, context: ManifestContext, along: Along
) -> None:
    if not isinstance(document.value, dict):
        faults.refuse(f"a manifest is a mapping with the key schedules, not {shown(document.value)}", "")
        return
    top = open_section(document.value, "", faults, known=TOP_KEYS, later=LATER_TOP)
    owner = context.code_owner
    if "owner" in top:
        with faults.gathering():
            owner = _owner(top["owner"])
    around = Around(owner, _read_defaults(top.get("defaults"), faults), faults)
    calendars = [
        ManifestCalendar(name, spec)
        for name, value in _named(top.get("calendars"), "calendars", gathered, faults).items()
        if (spec := read_calendar(value, f"calendars.{name}", along, faults)) is not None
    ]
    queues = _read_queues(_named(top.get("queues"), "queues", gathered, faults), faults)
    schedules = [
        schedule
        for name, value in _named(top.get("schedules"), "schedules", gathered, faults).items()
        if (schedule := read_one(name, value, f"schedules.{name}", around, context)) is not None
    ]
    gathered.add(Manifest(owner=owner, calendars=tuple(calendars), schedules=tuple(schedules), queues=tuple(queues)))


def _owner(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidManifestError(f"{shown(value)} is no name for an owner", field="owner")
    return check_name(value, field="owner")


def _read_defaults(value: object, faults: Faults) -> Mapping[str, object]:
    """The typed values of ``defaults``, by key; of ``retry`` one by one, so that a schedule may differ in one."""
    section = open_section(value, "defaults", faults, known=[*SHARED_KEYS, RETRY], later=LATER_SCHEDULE)
    read = read_keys([*SHARED_KEYS.values()], section, "defaults", faults)
    return read | (read_retry(section[RETRY], f"defaults.{RETRY}", faults) if RETRY in section else {})


def _read_queues(named: Mapping[str, object], faults: Faults) -> list[QueueSettings]:
    queues = []
    for name, value in named.items():
        path = f"queues.{name}"
        section = open_section(value, path, faults, known=[key.name for key in QUEUE_KEYS], later=LATER_QUEUE)
        read = fill(QUEUE_KEYS, read_keys(QUEUE_KEYS, section, path, faults), "", None)
        queues.append(msgspec.convert({"name": name, **read.values}, QueueSettings))
    return queues


def _named(value: object, path: str, gathered: _Gathered, faults: Faults) -> dict[str, object]:
    """The entries of a mapping of names; a name that is hostile or was seen before becomes a fault."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        faults.refuse(f"it must be a mapping of names, not {shown(value)}", path)
        return {}
    for name in value:
        field = f"{path}.{name}"
        with faults.gathering():
            check_name(name, field=field)
        earlier = gathered.first(field, faults.origin)
        if earlier is not None:
            faults.refuse(f"the name {name!r} stands twice: it is already at {earlier}", field)
    return value
