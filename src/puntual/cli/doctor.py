"""``puntual doctor``: what this installation is made of, where each setting came from, and what is wrong with it."""

from __future__ import annotations

import asyncio
import platform
import shutil
import sqlite3
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import msgspec

from puntual.cli.failure import FAILED
from puntual.cli.options import Command
from puntual.cli.session import Session
from puntual.cli.words import clean, spell

if TYPE_CHECKING:
    from rich.console import Console

    from puntual.settings import Settings

_SAFE_SQLITE: Final = (3, 51, 3)
_LITTLE_SPACE: Final = 200 << 20
_CLOCK_APART_US: Final = 1_000_000
_STYLES: Final = {"ok": "green", "warning": "yellow", "bad": "red"}


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at: ``level`` is ok, warning or bad."""

    name: str
    level: str
    text: str


@click.command(cls=Command)
@click.pass_obj
def doctor(session: Session) -> int | None:
    """Check settings, database and surroundings; exits 1 if something is wrong."""
    from puntual.settings import describe_settings

    settings = session.settings
    findings = [*_machine(), *[Finding("settings", "warning", text) for text in settings.warnings]]
    if settings.server is None:
        findings += [*_files(settings), *asyncio.run(_database(session))]
    else:
        findings += asyncio.run(_health(session))
    rows = describe_settings(settings)
    document = {
        "ok": not any(found.level == "bad" for found in findings),
        "checks": [{**msgspec.to_builtins(found), "ok": found.level != "bad"} for found in findings],
        "settings": [{"name": name, "value": value, "source": source} for name, value, source in rows],
    }
    session.give(document, lambda console: _show(console, findings, rows))
    return None if document["ok"] else FAILED


def _machine() -> list[Finding]:
    from puntual.app import VERSION
    from puntual.timing.zone import tz_version

    found = [
        Finding("puntual", "ok", f"puntual {VERSION} on Python {platform.python_version()}, {platform.platform()}.")
    ]
    found.append(Finding("time zones", "ok", f"The time zones are of tzdata {tz_version()}."))
    if sqlite3.sqlite_version_info < _SAFE_SQLITE:
        text = f"SQLite {sqlite3.sqlite_version} is older than 3.51.3, whose checkpoints are safe even when several coincide."
        found.append(
            Finding("sqlite", "warning", f"{text} puntual does one at a time; a newer Python brings a newer one.")
        )
    return found


def _files(settings: Settings) -> list[Finding]:
    path = Path(settings.database_path).absolute()
    found = []
    free = shutil.disk_usage(path.parent).free if path.parent.is_dir() else None
    if free is not None and free < _LITTLE_SPACE:
        found.append(
            Finding("disk", "warning", f"{path.parent} has only {free >> 20} MB left; claims stop when it is full.")
        )
    for file in (path, path.with_name("puntual.token")):
        if not file.exists():
            continue
        mode = stat.S_IMODE(file.stat().st_mode)
        secret = file.name == "puntual.token"
        if secret and mode & 0o077:
            found.append(
                Finding("permissions", "bad", f"{file} may be read by others (mode {mode:o}): chmod 600 {file}.")
            )
        elif mode & 0o022:
            found.append(Finding("permissions", "warning", f"{file} may be written by others (mode {mode:o})."))
        else:
            found.append(Finding("permissions", "ok", f"{file} has mode {mode:o}."))
    return found


async def _database(session: Session) -> list[Finding]:
    from puntual.model.errors import StoreError

    try:
        async with session.app() as app:
            found = [Finding(name, "ok" if good else "bad", text) for name, good, text in await app.store.check()]
            apart = abs((await app.store.snapshot()).now - app.clock.now())
        level = "ok" if apart < _CLOCK_APART_US else "warning"
        found.append(Finding("clock", level, f"This machine and the database are {spell(apart)} apart."))
        return found + await _health(session)
    except StoreError as error:
        return [Finding("database", "bad", error.message)]


async def _health(session: Session) -> list[Finding]:
    async with session.operations() as operations:
        checks = (await operations.health())["checks"]
    return [Finding(item["name"], "ok" if item["ok"] else "bad", item["text"]) for item in checks]


def _show(console: Console, findings: list[Finding], rows: list[tuple[str, str, str]]) -> None:
    from rich.text import Text

    from puntual.cli.tables import table

    for found in findings:
        console.print(Text.assemble((f"{found.level:<8}", _STYLES[found.level]), clean(f"{found.name}: {found.text}")))
    console.print()
    table(console, ("!Setting", "Value", "From"), rows)
    bad = sum(found.level == "bad" for found in findings)
    click.echo()
    click.echo("All is well." if not bad else f"{bad} of {len(findings)} checks are bad.")
