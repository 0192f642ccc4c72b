"""``puntual doctor``: what this installation is made of, where each setting came from, and what is wrong with it."""

from __future__ import annotations

import asyncio
import os
import platform
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from puntual.cli.failure import FAILED
from puntual.cli.options import Command
from puntual.cli.session import Session
from puntual.cli.words import clean, plural

if TYPE_CHECKING:
    from rich.console import Console

    from puntual.settings import Settings

#: What is only so right now: `status` and the API's health say it, and an installation is not broken by it.
_OF_THE_MOMENT: Final = frozenset({"workers", "scheduler", "lag", "calendars"})
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

    # Its warnings are findings here, and not told beside them.
    settings = session.settings = session.settings_with({})
    findings = [*_machine(), *[Finding("settings", "warning", text) for text in settings.warnings]]
    if settings.server is None:
        there = settings.on_postgres or os.path.lexists(settings.database_path)
        findings += [*(asyncio.run(_database(session)) if there else [_none_yet(settings)]), *_files(settings)]
    else:
        findings += asyncio.run(_health(session))
    rows = describe_settings(settings)
    bad = [found for found in findings if found.level == "bad"]
    document = {
        "ok": not bad,
        "checks": [{**msgspec.to_builtins(found), "ok": found.level != "bad"} for found in findings],
        "settings": [{"name": name, "value": value, "source": source} for name, value, source in rows],
    }
    session.give(document, lambda console: _show(console, findings, rows))
    return FAILED if bad else None


def _machine() -> list[Finding]:
    from puntual.app import VERSION
    from puntual.timing.zone import tz_version

    return [
        Finding("puntual", "ok", f"puntual {VERSION} on Python {platform.python_version()}, {platform.platform()}."),
        Finding("time zones", "ok", f"The time zones are those of tzdata {tz_version()}."),
    ]


def _none_yet(settings: Settings) -> Finding:
    """A fresh installation is not broken, but neither is a wrong folder what somebody meant."""
    path = Path(settings.database_path).absolute()
    return Finding("database", "warning", f"There is no database at {path} yet: puntual serve makes one.")


def _files(settings: Settings) -> list[Finding]:
    if settings.on_postgres:
        return []
    path = Path(settings.database_path).absolute()
    return [_permissions(file) for file in (path, path.with_name("puntual.token")) if file.exists()]


def _permissions(file: Path) -> Finding:
    mode = stat.S_IMODE(file.stat().st_mode)
    if file.suffix == ".token" and mode & 0o077:
        return Finding("permissions", "bad", f"{file} may be read by others (mode {mode:o}): chmod 600 {file}")
    if mode & 0o022:
        return Finding("permissions", "warning", f"{file} may be written by others (mode {mode:o}): chmod go-w {file}")
    if mode & 0o044:
        note = f"others on this machine can read the arguments and results in it; chmod 600 {file} keeps them out"
        return Finding("permissions", "ok", f"{file} has mode {mode:o}: {note}.")
    return Finding("permissions", "ok", f"{file} has mode {mode:o}.")


async def _database(session: Session) -> list[Finding]:
    from puntual.model.errors import StoreError

    try:
        async with session.app() as app:
            rows = await app.store.check()
            stamps = await app.store.zone_stamps()
        health = await _health(session)
        told = {found.name for found in health}
        found = [Finding(name, "ok" if good else "bad", text) for name, good, text in rows if name not in told]
        found += _zones(stamps)
        # That the database answers, and its schema, have just been said.
        return found + [each for each in health if each.name != "store" or each.level != "ok"]
    except StoreError as error:
        return [Finding("database", "bad", error.message)]


def _zones(stamps: dict[str, int]) -> list[Finding]:
    """Whether next ticks were found with the tz database of this process."""
    from puntual.timing.zone import tz_version

    ours = tz_version()
    older = sum(held for version, held in stamps.items() if version < ours)
    newer = {version: held for version, held in stamps.items() if version > ours}
    if newer:
        text = f"{plural(sum(newer.values()), 'schedule')} went by tzdata {max(newer)}, and this process has {ours}"
        return [Finding("next ticks", "warning", f"{text}: pip install --upgrade tzdata")]
    if older:
        text = f"The next ticks of {plural(older, 'schedule')} were found with time zones older than tzdata {ours}"
        return [Finding("next ticks", "warning", f"{text}: a scheduler finds them anew when it starts, and hourly.")]
    return [Finding("next ticks", "ok", f"All next ticks were found with tzdata {ours}.")] if stamps else []


async def _health(session: Session) -> list[Finding]:
    async with session.operations() as operations:
        checks = (await operations.health())["checks"]
    return [Finding(item["name"], _level(item), item["text"]) for item in checks]


def _level(check: dict[str, Any]) -> str:
    if check["ok"]:
        return "ok"
    return "warning" if check["name"] in _OF_THE_MOMENT else "bad"


def _show(console: Console, findings: list[Finding], rows: list[tuple[str, str, str]]) -> None:
    from rich.text import Text

    from puntual.cli.tables import table

    for found in findings:
        words = clean(f"{found.name}: {found.text}")
        console.print(Text.assemble((f"{found.level:<8}", _STYLES[found.level]), words))
    console.print()
    table(console, ("!Setting", "Value", "From"), rows)
    console.print()
    bad = sum(found.level == "bad" for found in findings)
    console.print(f"{plural(bad, 'check')} failed." if bad else "Nothing is wrong.")
