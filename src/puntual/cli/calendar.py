"""``puntual calendar``: days by name, for schedules to keep to or to keep from."""

from __future__ import annotations

from datetime import date
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from puntual.cli.options import Group, where, yes
from puntual.cli.session import Session
from puntual.cli.words import clean, listed, plural, when

if TYPE_CHECKING:
    from rich.console import Console

_NAMED: Final = 6


@click.group(cls=Group)
def calendar() -> None:
    """List, show, set and remove business calendars."""


@calendar.command("list")
@click.pass_obj
def list_calendars(session: Session) -> None:
    """List calendars with their next day."""
    reply = session.work(lambda operations: operations.list_calendars())
    session.give(reply, lambda console: _show_list(session, console, reply["items"]))


@calendar.command()
@click.argument("name")
@click.option("--year", type=click.IntRange(1, 9999), help="Only the days of this year.")
@click.pass_obj
def show(session: Session, /, name: str, year: int | None) -> None:
    """Show what a calendar is made of, its days, and who names it."""
    reply = session.work(lambda operations: operations.get_calendar(name, year))
    session.give(reply, lambda console: _show_one(session, console, reply, year))


@calendar.command("set")
@click.argument("name")
@click.option("--date", "dates", multiple=True, metavar="D", help="A date or a range, FIRST..LAST (repeatable).")
@click.option("--weekday", "weekdays", multiple=True, metavar="DAY", help="A day of the week (repeatable).")
@click.option("--country", metavar="CODE", help="The public holidays of a country, like CO.")
@click.option("--subdivision", metavar="CODE", help="Those of a part of it, like BY.")
@click.option("--ical", metavar="URL|FILE", help="The events of an iCalendar.")
@click.option("--refresh", metavar="D", help="How often an address is asked [default: 24h].")
@click.option("--take", is_flag=True, help="Take it over from another owner.")
@click.pass_obj
def set_calendar(session: Session, /, name: str, *, take: bool, **said: object) -> None:
    """Create or replace a calendar; the schedules that name it follow at once."""
    body = where(said)
    if "ical" in body:
        body["ical"] = ical_of(str(body["ical"]), Path())
    reply = session.work(lambda operations: operations.put_calendar(name, body, take=take), creates=True)

    def render(console: Console) -> None:
        changed = reply.get("changed") or []
        followed = f"; {plural(len(changed), 'schedule')} changed ({listed(changed, _NAMED)})" if changed else ""
        console.print(f"{clean(name)} has {_days(reply)}{followed}.")

    session.give(reply, render)


@calendar.command()
@click.argument("name")
@yes
@click.pass_obj
def remove(session: Session, /, name: str, *, yes: bool) -> None:
    """Remove a calendar that no schedule names."""
    session.confirm(f"Remove the calendar {clean(name)}?", yes=yes)
    reply = session.work(lambda operations: operations.remove_calendar(name))
    session.give(reply, lambda console: console.print(f"{clean(name)} is gone."))


def ical_of(said: str, folder: Path) -> str:
    """What is sent for an iCalendar: an address as it is, and of a file its text, since nobody else can read it.

    Raises:
        InvalidError: the file cannot be read, is too long, or is no iCalendar.
    """
    from puntual.model.calendar import LONGEST_ICAL, is_ical
    from puntual.model.errors import InvalidError

    if "://" in said or is_ical(said):
        return said
    try:
        with (folder / said).open("rb") as stream:
            raw = stream.read(LONGEST_ICAL + 1)
    except OSError as error:
        raise InvalidError(f"The file {said} cannot be read: {error.strerror}.", field="ical") from error
    if len(raw) > LONGEST_ICAL:
        raise InvalidError(f"The file {said} is longer than {LONGEST_ICAL >> 20} MB.", field="ical")
    text = raw.decode("utf-8", errors="replace")
    if not is_ical(text):
        raise InvalidError(f"The file {said} is no iCalendar: it begins with BEGIN:VCALENDAR.", field="ical")
    # As it stands in a manifest that is exported, where lines end as everywhere else.
    return text.lstrip("\ufeff").replace("\r\n", "\n")


def _show_list(session: Session, console: Console, items: list[dict[str, Any]]) -> None:
    from puntual.cli.tables import empty, table

    if not items:
        empty(console, "There is no calendar yet.", "calendar set co --country CO")
        return
    columns = ("!Name", "Made of", ">Days", "Next", "~Until", ">Schedules", "~Owner", "~Looked at", "+")
    rows = [
        (
            item["name"],
            _made_of(item),
            item["days"],
            item["next"],
            item["until"],
            item["schedules"],
            item["owner"],
            when(item["refreshed_at"], session.now),
            f"Not found out anew: {item['trouble']}" if item["trouble"] else None,
        )
        for item in items
    ]
    table(console, columns, rows, whole_notes=True)


def _show_one(session: Session, console: Console, item: dict[str, Any], year: int | None) -> None:
    from rich.text import Text

    from puntual.cli.tables import pairs

    written = {key: value for key, value in item["written"].items() if key != "dates"}
    rows: list[tuple[str, object]] = [
        ("name", item["name"]),
        ("made of", _made_of(item)),
        *((key, _short(key, value)) for key, value in written.items()),
        ("owner", item["owner"]),
        ("known until", item["until"]),
        ("looked at", f"{item['refreshed_at']} ({when(item['refreshed_at'], session.now)})"),
        ("schedules", listed(item["schedules"], _NAMED)),
        ("version", item["version"]),
        ("days", item["days"]),
    ]
    pairs(console, rows)
    if item["trouble"]:
        console.print(Text(f"Not found out anew: {clean(item['trouble'])}", style="yellow"))
    months = groupby(map(date.fromisoformat, item["dates"]), lambda day: (day.year, day.month))
    pairs(console, [(f"{of[0]}-{of[1]:02}", ", ".join(f"{day:%a} {day.day}" for day in days)) for of, days in months])
    if year is not None and not item["dates"]:
        console.print(f"It has no days in {year}.")


def _made_of(item: dict[str, Any]) -> str:
    """The parts of a calendar, in few words."""
    written = item["written"]
    country = "-".join(filter(None, (written.get("country"), written.get("subdivision"))))
    parts = [f"holidays of {country}" if country else "", "own dates" if written.get("dates") else ""]
    if "ical" in written:
        parts.append("feed" if "://" in written["ical"][:12] else "iCalendar")
    return ", ".join(filter(None, (*parts, *item["weekdays"])))


def _days(item: dict[str, Any]) -> str:
    said = [plural(item["days"], "day")] if item["days"] or not item["weekdays"] else []
    return " and ".join([*said, *([f"every {' and '.join(item['weekdays'])}"] if item["weekdays"] else [])])


def _short(key: str, value: object) -> object:
    """The text of an iCalendar is not for reading here."""
    from puntual.model.calendar import is_ical

    if isinstance(value, list):
        return ", ".join(map(str, value))
    text = str(value)
    return f"a text of {len(text):,} letters" if key == "ical" and is_ical(text) else value
