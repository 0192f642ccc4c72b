"""A crontab's lines become one manifest in their order; each schedule in it is one that the manifest's reader takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import indent
from typing import Final

import msgspec

from puntual.manifest.context import ManifestContext, TargetChecks
from puntual.manifest.crontab.lines import Entry, Remark, Unread, Variable, read_lines
from puntual.manifest.crontab.names import name_entries
from puntual.manifest.crontab.state import State
from puntual.manifest.document import LONGEST
from puntual.manifest.dump import dump_documents
from puntual.manifest.errors import ManifestErrors
from puntual.manifest.names import check_name
from puntual.manifest.schedules import read_schedule
from puntual.model.command import check_command
from puntual.model.errors import InvalidManifestError, PuntualError
from puntual.timing.cron.fields import FIELDS
from puntual.timing.cron.grammar import parse_cron
from puntual.timing.warn import surprises_of
from puntual.timing.zone import load_zone

LONGEST_CRONTAB: Final = 1 << 20
_LONGEST_COMMENT: Final = 1_000
_RANDOM: Final = re.compile(r"(\d*)~(\d*)", re.ASCII)


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """How a crontab is to be read.

    Args:
        source: what it is called in the manifest's first line.
        system: whether a user stands before each command, as in /etc/crontab and /etc/cron.d.
        why: how that is known, for the first line.
        queue: the queue of its schedules, and what tells them from those of other machines.
        timezone: the zone of the machine, in which cron read the times; None where it is not known here.
    """

    source: str = "standard input"
    system: bool = False
    why: str = "--system says otherwise"
    queue: str | None = None
    timezone: str | None = None


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """The manifest, the names of its schedules, the lines that do not carry over, and what to look at again."""

    manifest: str
    schedules: tuple[str, ...]
    left_out: tuple[Unread, ...]
    warnings: tuple[str, ...]


def import_crontab(data: bytes, reading: Reading) -> Imported:
    """The manifest that does what a crontab does.

    Args:
        data: the crontab as it stands in its file.
        reading: how it is to be read.

    Raises:
        InvalidManifestError: it is longer than 1 MB, or its manifest would be longer than one may be; or no queue can
            have that name.
        InvalidZoneError: there is no such zone.
    """
    if len(data) > LONGEST_CRONTAB:
        raise InvalidManifestError(f"the crontab is longer than {LONGEST_CRONTAB >> 20} MB")
    if reading.queue is not None:
        check_name(reading.queue, field="--queue", what="queue")
    if reading.timezone is not None:
        load_zone(reading.timezone)
    return _Writer(data, reading).imported()


class _Writer:
    """Writes line by line what `State` holds at each."""

    def __init__(self, data: bytes, reading: Reading) -> None:
        self._reading = reading
        self._crlf = b"\r\n" in data
        state = State()
        self._lines: list[tuple[Remark | Variable | Entry | Unread, State]] = []
        for line in read_lines(data, system=reading.system):
            if isinstance(line, Variable):
                state = state.set(line)
            self._lines.append((line, state))
        entries = {line: state.kept for line, state in self._lines if isinstance(line, Entry)}
        self._names = name_entries(entries, reading.queue)
        self._left_out: list[Unread] = []
        self._schedules: list[str] = []
        self._seen: set[tuple[object, ...]] = set()

    def imported(self) -> Imported:
        """All of it."""
        written = []
        length = 0
        for line, state in self._lines:
            part = "".join(self._written(line, state))
            length += len(part.encode())
            if length > LONGEST - (1 << 16):
                raise InvalidManifestError(
                    f"the manifest would be longer than {LONGEST >> 20} MB: import the crontab in parts"
                )
            written.append(part)
        body = "".join(written)
        schedules = f"schedules:\n{body}" if self._schedules else f"schedules: {{}}\n{body}"
        return Imported(
            manifest="".join(self._head()) + schedules,
            schedules=tuple(self._schedules),
            left_out=tuple(self._left_out),
            warnings=tuple(self._doubts()),
        )

    def _head(self) -> Iterator[str]:
        reading = self._reading
        columns = "a system crontab: a user stands before each command" if reading.system else "a user's crontab"
        yield _comment(f"Made from {_shown(reading.source)}, read as {columns} ({reading.why}).")
        if self._left_out:
            yield _comment(f"{len(self._left_out)} of its lines did not carry over: look for 'Left out' below.")
        if self._crlf:
            yield _comment("Its lines end as those of Windows do, which cron takes for a part of each command.")
        yield _HEAD
        yield dump_documents([{"owner": f"crontab:{reading.queue}" if reading.queue else "crontab"}])
        yield "defaults:\n"
        if reading.queue:
            yield indent(dump_documents([{"queue": reading.queue}]), "  ")
        if reading.timezone:
            yield indent(dump_documents([{"timezone": reading.timezone}]), "  ")
        else:
            yield _NO_ZONE
        yield _DEFAULTS

    def _doubts(self) -> Iterator[str]:
        if self._reading.system:
            return
        suspects = [line for line, _ in self._lines if isinstance(line, Entry) and line.command.startswith("root ")]
        if suspects:
            yield (
                f"Line {suspects[0].number} would run a command named root: if a user stands before each command, "
                "say --system."
            )

    def _written(self, line: Remark | Variable | Entry | Unread, state: State) -> Iterator[str]:
        match line:
            case Remark(text=text):
                text = text.strip(" \t")
                yield f"  #{_shown(text[1:])}\n" if text else "\n"
            case Variable():
                remark = state.remark(line)
                if remark is not None:
                    yield _comment(f"{_shown(line.text)}: {remark}.", "  ")
            case Unread():
                yield from self._leave_out(line)
            case Entry():
                yield from self._entry(line, state)

    def _entry(self, entry: Entry, state: State) -> Iterator[str]:
        name = self._names[entry]
        try:
            when, notes = _rule(entry.when, name)
            written = state.schedule(when, entry)
            read_schedule(name, written, _CONTEXT)
        except (PuntualError, ManifestErrors) as error:
            yield from self._leave_out(Unread(number=entry.number, text=entry.text, reason=_reason(error)))
            return
        if entry.user is not None:
            yield _comment(f"cron ran it as {_shown(entry.user)}.", "  ")
        same = (entry.when, entry.user, entry.command, entry.stdin, *state.kept)
        if same in self._seen:
            yield _comment("This entry stands more than once in the crontab, and cron runs it as often.", "  ")
        self._seen.add(same)
        self._schedules.append(name)
        yield from (_comment(note, "  ") for note in notes)
        yield indent(dump_documents([{name: written}]), "  ")

    def _leave_out(self, line: Unread) -> Iterator[str]:
        self._left_out.append(line)
        yield _comment(f"Left out, because {_shown(line.reason)}:", "  ")
        yield _comment(f"  {_shown(line.text)}", "  ")


def _rule(when: str, name: str) -> tuple[str, list[str]]:
    """The rule as ``when`` takes it, and what is to be said of it."""
    notes = []
    if "~" in when and not when.startswith("@"):
        when = " ".join(_spread(field, low, high) for field, (low, high) in zip(when.split(" "), _RANGES, strict=True))
        notes.append("cron drew the value of ~ by lot at each start of its own; H is fixed by the schedule's name.")
    spec = parse_cron(when, "unix", name)
    return when, [*notes, *(f"Warning: {surprise}." for surprise in surprises_of(spec))]


def _spread(field: str, low: int, high: int) -> str:
    """``~`` of cronie and OpenBSD, a value between two that is drawn by lot, as our ``H``."""
    return ",".join(
        f"H({found[1] or low}-{found[2] or high})" if (found := _RANDOM.fullmatch(item)) else item
        for item in field.split(",")
    )


def _reason(error: PuntualError | ManifestErrors) -> str:
    errors = error.errors if isinstance(error, ManifestErrors) else [error]
    return "; ".join(fault.message.rstrip(".") for fault in errors)


def _comment(text: str, before: str = "") -> str:
    return f"{before}# {text}\n"


def _shown(text: str) -> str:
    """The text on one line, with what a reader of YAML or a terminal would obey written out, cut when it is long."""
    short = text if len(text) <= _LONGEST_COMMENT else f"{text[: _LONGEST_COMMENT - 1]}…"
    if short.isprintable():
        return short
    return "".join(letter if letter.isprintable() or letter == "\t" else repr(letter)[1:-1] for letter in short)


def _no_request(args: object, /, *, field: str) -> str:
    raise InvalidManifestError(f"{args!r} is no command", field=field)


def _command(args: object, /, *, field: str) -> str:
    return check_command(args, field=field, max_bytes=256 << 10)


_CONTEXT: Final = ManifestContext(now=0, checks=TargetChecks(http=_no_request, command=_command), zone_given=True)
_RANGES: Final = tuple((field.low, 6 if field.name == "weekday" else field.high) for field in FIELDS["unix"])

_HEAD: Final = """\
# Commands run on workers that are started with PUNTUAL_ALLOW_COMMANDS=true; as the user of the worker and in its
# directory, where cron ran them as the crontab's user and in that user's home.
# What they print is kept with each run, where cron mailed it; one that ends with another code than 0 has failed.
"""
_NO_ZONE: Final = """\
  # cron read times on the clock of its machine, which this file does not name. Without a line like the next one they
  # are read on that of the setting TIMEZONE.
  # timezone: Europe/Madrid
"""
_DEFAULTS: Final = """\
  # cron starts a command whatever is still running of it. Here a run waits while its worker is away, so that
  # allow_all would start all that have gathered when it is back.
  overlap: skip
  # As cron does it: what falls into a time when nothing is up is not made good (fire_once would, by one run), and
  # nothing is ended however long it takes (1h would be usual). A run that hangs keeps the next one from starting.
  misfire_policy: skip
  timeout: none
"""
