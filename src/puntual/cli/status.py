"""``puntual status``: one sentence, then what failed, what was missed or late, what is coming, and when nothing ran."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from puntual.cli.failure import FAILED
from puntual.cli.options import Command
from puntual.cli.session import Session
from puntual.cli.words import clean, spell_ms, when

if TYPE_CHECKING:
    from rich.console import Console

Item = dict[str, Any]


@click.command(cls=Command)
@click.option("--since", metavar="T", help="What happened since: an instant, 24h, today, yesterday [default: 24h].")
@click.pass_obj
def status(session: Session, since: str | None) -> int | None:
    """Say how things stand; exits 0 only if all is well."""
    reply = session.work(lambda operations: operations.status(since))
    session.give(reply, lambda console: _show(session, console, reply))
    return None if reply["ok"] else FAILED


def _show(session: Session, console: Console, reply: Item) -> None:
    from rich.text import Text

    console.print(Text(clean(reply["sentence"]), style="bold green" if reply["ok"] else "bold red"))
    _section(console, "Failed", [_failed(session, item) for item in reply.get("failed") or []])
    _section(console, "Missed", [_missed(session, item) for item in reply.get("missed") or []])
    _section(console, "Late", [_late(session, item) for item in reply.get("late") or []])
    _section(console, "Coming", [_coming(session, item) for item in reply.get("coming") or []])
    _section(console, "puntual itself was not running", [_down(item) for item in reply.get("down") or []])


def _section(console: Console, title: str, rows: list[tuple[object, ...]]) -> None:
    if not rows:
        return
    from rich.text import Text

    from puntual.cli.tables import table

    console.print()
    console.print(Text(title, style="bold"))
    table(console, [""] * len(rows[0]), rows, heads=False)


def _failed(session: Session, item: Item) -> tuple[object, ...]:
    tries = f"try {item['attempt']}/{item['max_attempts']}" if "attempt" in item else ""
    retry = item.get("next_try_at") or item.get("next_try")
    coming = f"next try {when(retry, session.now)}" if retry else ""
    return _name(item), item.get("state", ""), item.get("why") or item.get("error") or "", tries, coming, item.get("id", "")


def _missed(session: Session, item: Item) -> tuple[object, ...]:
    count = item.get("count", item.get("at_least", 1))
    return _name(item), item.get("fate", "missed"), item.get("reason") or "", f"{count}x", when(item.get("tick_at"), session.now)


def _late(session: Session, item: Item) -> tuple[object, ...]:
    late = spell_ms(item.get("lateness_ms"))
    return _name(item), f"{late} late" if late else "", item.get("reason") or "", when(item.get("due_at"), session.now)


def _coming(session: Session, item: Item) -> tuple[object, ...]:
    due = item.get("due_at") or item.get("next_due_at")
    return _name(item), when(due, session.now), due or ""


def _down(item: Item) -> tuple[object, ...]:
    return "from", item.get("since") or item.get("from") or "", "to", item.get("until") or item.get("to") or "now"


def _name(item: Item) -> object:
    return item.get("schedule") or item.get("name") or item.get("task") or item.get("queue") or item.get("id") or ""
