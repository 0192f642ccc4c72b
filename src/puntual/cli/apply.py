"""``puntual apply``: manifests become schedules and queues, all or nothing; a dry run says what would change."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from puntual.cli.failure import WOULD_CHANGE
from puntual.cli.options import Command, yes
from puntual.cli.session import Session
from puntual.cli.words import clean, listed, plural, when

if TYPE_CHECKING:
    from puntual.operations.contract import Operations

_MARKS = {"created": ("+", "green"), "changed": ("~", "yellow"), "removed": ("-", "red")}
_SHOWN = 50


@click.command(cls=Command)
@click.argument("files", nargs=-1, required=True, metavar="FILE|FOLDER|-...")
@click.option("--dry-run", is_flag=True, help="Only say what would change.")
@click.option("--exit-code", is_flag=True, help="With --dry-run: exit 3 if something would change.")
@click.option("--prune", is_flag=True, help="Remove schedules of the same owner that the manifests no longer have.")
@click.option("--take", is_flag=True, help="Take over schedules of another owner.")
@yes
@click.pass_obj
def apply(session: Session, /, files: tuple[str, ...], **how: bool) -> int | None:
    """Create and change schedules and queues as manifests say."""
    if how["exit_code"] and not how["dry_run"]:
        raise click.UsageError("--exit-code needs --dry-run.", click.get_current_context())
    texts = texts_of(files)

    async def work(operations: Operations) -> dict[str, Any]:
        if how["prune"] and not how["dry_run"] and not how["yes"]:
            plan = await operations.apply(texts, dry_run=True, prune=True, take=how["take"])
            if plan["removed"]:
                session.confirm(
                    f"Remove {plural(len(plan['removed']), 'schedule')} ({listed(plan['removed'])})?", yes=False
                )
        return await operations.apply(texts, dry_run=how["dry_run"], prune=how["prune"], take=how["take"])

    reply = _rehearsed(session, work) if how["dry_run"] else session.work(work, tasks=True, creates=True)
    session.give(reply, lambda _console: _show(session, reply, dry=how["dry_run"]))
    changes = any(reply.get(what) for what in (*_MARKS, "queues", "calendars"))
    return WOULD_CHANGE if how["exit_code"] and changes else None


def _rehearsed(session: Session, work: Callable[[Operations], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
    """A dry run leaves nothing behind, not even an empty database: without one it looks at one that is thrown away."""
    settings = session.settings
    if settings.server is not None or settings.on_postgres or Path(settings.database_path).exists():
        return session.work(work, tasks=True)
    import tempfile

    with tempfile.TemporaryDirectory(prefix="puntual-") as folder:
        session.settings = session.settings_with({"DATABASE_URL": f"sqlite:///{quote(folder)}/puntual.db"})
        return session.work(work, tasks=True, creates=True)


def texts_of(files: Sequence[str]) -> list[dict[str, Any]]:
    """The manifests of files, folders and standard input (``-``), as ``apply`` takes them, with the files they name.

    Raises:
        InvalidManifestError: one cannot be read or is not UTF-8.
    """
    from puntual.manifest import gather_texts
    from puntual.model.errors import InvalidManifestError

    texts: list[dict[str, Any]] = []
    for file in files:
        if file == "-":
            read: list[tuple[str, str | bytes]] = [("standard input", sys.stdin.buffer.read())]
        else:
            read = [(text.source or file, text.text) for text in gather_texts([file])]
        for source, text in read:
            try:
                decoded = text if isinstance(text, str) else text.decode()
            except UnicodeDecodeError as error:
                raise InvalidManifestError(f"{source} is not UTF-8: save it in that encoding.") from error
            along = _files_of(decoded, Path() if file == "-" else Path(source).parent)
            texts.append({"text": decoded, "source": source, **({"files": along} if along else {})})
    return texts


def _files_of(text: str, folder: Path) -> dict[str, str]:
    """The texts of the iCalendar files that a manifest names, by those names, which are relative to its folder."""
    # A megabyte of YAML takes seconds to read, and few manifests name such a file.
    if "ical" not in text:
        return {}
    from puntual.cli.calendar import ical_of
    from puntual.manifest import files_named

    return {name: ical_of(name, folder) for name in files_named(text)}


def _show(session: Session, reply: dict[str, Any], *, dry: bool) -> None:
    for change in reply.get("changes", [])[:_SHOWN]:
        mark, colour = _MARKS.get(change["what"], (" ", None))
        fields = f" ({listed(change['fields'], 6)})" if change.get("fields") else ""
        click.secho(f"{mark} {clean(change['name'], 80)}{fields}{_coming(session, change)}", fg=colour)
    if len(reply.get("changes", [])) > _SHOWN:
        click.echo(f"... and {len(reply['changes']) - _SHOWN:,} more")
    session.warn(reply)
    counts = [f"{len(reply[what]):,} {what}" for what in (*_MARKS, "unchanged") if reply.get(what)]
    if reply.get("calendars"):
        words = [f"{item['name']} {item['what']}" for item in reply["calendars"]]
        counts.append(f"{plural(len(words), 'calendar')} ({listed(words)})")
    if reply.get("queues"):
        counts.append(f"limits of {plural(len(reply['queues']), 'queue')} set ({listed(reply['queues'])})")
    click.echo(f"{'Nothing was written. It would be: ' if dry else ''}{', '.join(counts) or 'nothing to do'}.")
    for request in reply.get("requests", [])[:_SHOWN] if dry else []:
        asked = f"{request.get('method', 'GET')} {request.get('url', '')}"
        click.echo(f"First request of {clean(request['schedule'], 80)}: {clean(asked, 200)}")


def _coming(session: Session, change: dict[str, Any]) -> str:
    """When a schedule is due next, and when it was to be before, where that is another time."""
    first, before = (next(iter(change.get(key) or ()), None) for key in ("next", "next_before"))
    coming = "" if first is None else f"  next {when(first, session.now)}"
    if change["what"] != "changed" or before in (None, first):
        return coming
    return f"{coming or '  not due any more'}, was {when(before, session.now)}"
