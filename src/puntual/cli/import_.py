"""``puntual import`` prints what another scheduler does as a manifest, and changes nothing; it needs no database."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from puntual.cli.options import Command, Group
from puntual.cli.session import Session
from puntual.cli.words import clean, plural

if TYPE_CHECKING:
    from puntual.manifest.crontab import Imported, Reading

#: Where a user stands before each command, by the habit of every system that has cron.
_SYSTEM: Final = re.compile(r"/etc/(?:crontab|cron\.d/[^/]+)")
_MOST: Final = (1 << 20) + 1


@click.group("import", cls=Group)
def import_group() -> None:
    """Print what other schedulers do as a manifest; changes nothing."""


@import_group.command(cls=Command)
@click.argument("file", metavar="FILE|-")
@click.option("--queue", metavar="Q", help="The queue of its schedules, such as the host that they are to run on.")
@click.option("--timezone", metavar="ZONE", help="The IANA zone of the machine, on whose clock cron read the times.")
@click.option(
    "--system/--user",
    default=None,
    help="Whether a user stands before each command [default: in /etc/crontab and /etc/cron.d].",
)
@click.pass_obj
def crontab(session: Session, /, file: str, queue: str | None, timezone: str | None, system: bool | None) -> int:  # noqa: FBT001 - click's signature
    """Print the manifest that does what a crontab does; exits 1 if a line cannot be read."""
    import msgspec

    from puntual.manifest.crontab import import_crontab

    reading = msgspec.structs.replace(_reading(file, system), queue=queue, timezone=timezone)
    found = import_crontab(_read(file), reading)
    wrong = any(line.wrong for line in found.left_out)
    if session.as_json:
        session.print_json(msgspec.to_builtins(found))
    else:
        # As it is: a manifest escapes what a terminal would obey.
        click.echo(found.manifest, nl=False)
        _tell(found, reading)
    return 1 if wrong else 0


def _reading(file: str, system: bool | None) -> Reading:  # noqa: FBT001 - None is a third answer
    from puntual.manifest.crontab import Reading

    source = "standard input" if file == "-" else file
    if system is not None:
        return Reading(source=source, system=system, why="--system was said" if system else "--user was said")
    if file != "-" and _SYSTEM.fullmatch(str(Path(file).absolute())):
        return Reading(source=source, system=True, why="for where it lies; --user says otherwise")
    return Reading(source=source, why="--system says otherwise")


def _read(file: str) -> bytes:
    from puntual.model.errors import InvalidManifestError

    if file == "-":
        return sys.stdin.buffer.read(_MOST)
    try:
        with Path(file).open("rb") as stream:
            return stream.read(_MOST)
    except OSError as error:
        raise InvalidManifestError(f"{file} cannot be read: {(error.strerror or str(error)).lower()}") from error


def _tell(found: Imported, reading: Reading) -> None:
    """Says beside the manifest what is in it, and what is not."""
    columns = "a system crontab" if reading.system else "a user's crontab"
    click.echo(f"Read as {columns} ({reading.why}): {plural(len(found.schedules), 'schedule')}.", err=True)
    for warning in found.warnings:
        click.echo(f"Warning: {clean(warning)}", err=True)
    for line in found.left_out:
        kind = "Error" if line.wrong else "Left out"
        click.echo(f"{kind}: line {line.number}: {clean(line.reason, 300)}: {clean(line.text, 100)}", err=True)
