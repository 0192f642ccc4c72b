"""``puntual next`` says how a rule is read and when it fires, from the rule alone: no database, no server."""

from __future__ import annotations

import shutil
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Final

import click

from puntual.cli.options import Command
from puntual.cli.session import Session
from puntual.cli.words import clean, local, relative
from puntual.model.instant import LATEST, parse_instant

_LONGEST_BATCH: Final = 64 << 20
_LONGEST_POINTED: Final = 100


@click.command("next", cls=Command)
@click.argument("words", nargs=-1, metavar="[EXPR]")
@click.option("--timezone", metavar="ZONE", help="The IANA zone of the rule's hours [default: the setting TIMEZONE].")
@click.option("--after", metavar="T", help="Only later than this instant [default: now].")
@click.option("--count", type=click.IntRange(1, 1000), default=5, show_default=True, help="How many.")
@click.option(
    "--dialect",
    type=click.Choice(["unix", "seconds", "quartz", "phrase", "interval", "rrule"]),
    help="The grammar of EXPR.",
)
@click.option("--lang", type=click.Choice(["en", "es"]), help="The language of a phrase [default: the one that fits].")
@click.option("--anchor", metavar="T", help="A date or an instant from which an interval, a cycle or an rrule counts.")
@click.option("--dst-gap", type=click.Choice(["boundary", "shift", "skip"]), help="Where the clock springs forward.")
@click.option("--dst-fold", type=click.Choice(["first", "last", "both"]), help="Where the clock falls back.")
@click.option("--calendar", is_flag=True, help="Show three months, with the days on which it fires.")
@click.option(
    "--batch",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Answer many rules: a JSON list, - for standard input.",
)
@click.pass_obj
def next_command(
    session: Session, /, words: tuple[str, ...], batch: str | None, *, calendar: bool, **options: object
) -> None:
    """Show when a rule fires and how it is read; needs no database."""
    if len(words) > 1:
        raise click.UsageError(
            f"The rule came as {len(words)} words: quote it, like puntual next '*/5 * * * *'.",
            click.get_current_context(),
        )
    if bool(words) == (batch is not None):
        raise click.UsageError("Give either a rule or --batch FILE.", click.get_current_context())
    if batch is not None:
        session.print_json(_batch(session, batch))
        return
    import msgspec

    from puntual.model.errors import InvalidRuleError
    from puntual.timing.preview import PreviewRequest, fires_by_day, preview

    said = {name: value for name, value in options.items() if value is not None}
    request = msgspec.convert({"expr": words[0], **said}, PreviewRequest)
    settings = session.settings
    try:
        reply = preview(request, now=session.now, default_timezone=settings.timezone, language=settings.language)
    except InvalidRuleError as error:
        if not session.as_json and error.column is not None:
            _point(words[0], error.column)
        raise
    days = fires_by_day(request, now=session.now, default_timezone=settings.timezone) if calendar else {}
    if session.as_json:
        session.print_json({**reply, "calendar": {str(day): n for day, n in days.items()}} if calendar else reply)
        return
    show_reading(session, reply)
    if days:
        _show_months(days)


def _point(text: str, column: int) -> None:
    """Prints a rule, and beneath it a caret where it was refused; a rule that spans lines has no such place."""
    if text.isprintable() and column <= _LONGEST_POINTED:
        before = sum(not unicodedata.combining(letter) for letter in text[: column - 1])
        click.echo(f"  {clean(text, _LONGEST_POINTED)}\n  {' ' * before}^", err=True)


def show_reading(session: Session, reply: dict[str, Any]) -> None:
    """Prints how a rule was read: its sentence, its warnings and its next ticks."""
    click.echo(clean(reply["description"]))
    session.warn(reply)
    show_fires(reply["fires"], reply["rule"]["timezone"], session.now)


def _show_months(days: Mapping[date, int]) -> None:
    """Prints three months with their days marked: once, or more often."""
    from puntual.cli.month import grids

    first = min(days)
    months = [
        date(first.year + (first.month - 1 + ahead) // 12, (first.month - 1 + ahead) % 12 + 1, 1) for ahead in range(3)
    ]
    marks = {day: "*" if count == 1 else "+" for day, count in days.items()}
    click.echo()
    for line in grids(months, marks, shutil.get_terminal_size().columns):
        click.echo(f"  {line}".rstrip())
    click.echo(f"\n  * once{', + more than once' if '+' in marks.values() else ''} on that day, in the rule's zone")


def show_fires(fires: Sequence[str], zone: str, now: int) -> None:
    """Prints ticks beneath each other: in UTC, on the clock of their zone, and how far away they are."""
    for fire in fires:
        # The date stands there already, so that even what is far away is told in days.
        away = relative(parse_instant(fire), now, far=LATEST)
        click.echo(f"  {'  '.join(part for part in (fire, local(fire, zone), away) if part)}")
    if not fires:
        click.echo("  It does not fire again.")


def _batch(session: Session, file: str) -> object:
    import msgspec

    from puntual.model.errors import InvalidError
    from puntual.timing.preview import preview_batch

    try:
        raw = sys.stdin.buffer.read(_LONGEST_BATCH) if file == "-" else Path(file).read_bytes()
        items: object = msgspec.json.decode(raw)
    except OSError as error:
        raise InvalidError(f"{file} cannot be read: {error.strerror}.", field="--batch") from error
    except msgspec.DecodeError as error:
        raise InvalidError(f"{file} is no JSON: {error}.", field="--batch") from error
    return preview_batch(items, now=session.now, default_timezone=session.settings.timezone)
