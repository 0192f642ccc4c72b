"""``puntual status``: one sentence, then what failed, what was missed or late, what is coming, and when nothing ran."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from puntual.cli.failure import FAILED
from puntual.cli.options import Command
from puntual.cli.session import Session
from puntual.cli.words import clean, plural, spell, spell_ms, when
from puntual.model.instant import parse_instant

if TYPE_CHECKING:
    from rich.console import Console

Item = dict[str, Any]
_SHOWN: Final = 10


@click.command(cls=Command)
@click.option(
    "--since", metavar="T", help="What happened since: an instant, 24h, today, yesterday [default: yesterday]."
)
@click.pass_obj
def status(session: Session, /, since: str | None) -> int | None:
    """Say how things stand; exits 0 only if all is well."""
    reply = session.work(lambda operations: operations.status(since))
    session.give(reply, lambda console: _show(session, console, reply))
    return None if reply["ok"] else FAILED


def _show(session: Session, console: Console, reply: Item) -> None:
    from rich.text import Text

    console.print(Text(clean(reply["sentence"]), style="bold green" if reply["ok"] else "bold red"))
    for item in reply.get("queues") or []:
        if item.get("paused"):
            reason = f", because: {clean(item['pause_reason'], 200)}" if item.get("pause_reason") else ""
            console.print(Text(f"Queue {clean(item['name'], 60)} is paused{reason}.", style="yellow"))
    session.warn(reply)
    _section(console, "Failed", [_failed(session, items) for items in _alike(reply.get("failed") or [])])
    _more(console, reply, "failed", "dead", "retrying")
    _section(console, "Missed", [_missed(session, item) for item in reply.get("missed") or []])
    _section(console, "Late", [_late(item) for item in reply.get("late") or []])
    _more(console, reply, "late", "late")
    _section(
        console,
        "Waiting for a worker that has the task",
        [_unknown(session, item) for item in reply.get("unknown") or []],
    )
    _section(console, "Cannot be planned", [(name, "") for name in reply.get("unplanned") or []])
    _more(console, reply, "unplanned", "unplanned")
    _section(console, "Coming", [_coming(session, item) for item in (reply.get("coming") or [])[:_SHOWN]])
    _section(console, "puntual itself was not running", [_down(item) for item in reply.get("down") or []])


def _section(console: Console, title: str, rows: list[tuple[object, ...]]) -> None:
    if not rows:
        return
    from rich.text import Text

    from puntual.cli.tables import table

    console.print()
    console.print(Text(title, style="bold"))
    table(console, ["!", *[""] * (len(rows[0]) - 2), "+"], rows, heads=False)


def _more(console: Console, reply: Item, listed: str, *kinds: str) -> None:
    """Says that a list names fewer than there are."""
    counts = [reply["counts"][kind] for kind in kinds] if "counts" in reply else []
    counted = sum(count.get("count", count.get("at_least", 0)) for count in counts)
    hidden = counted - len(reply.get(listed) or [])
    if hidden > 0:
        words = "at least " if any("at_least" in count for count in counts) else ""
        console.print(f"... and {words}{hidden:,} more")


def _alike(failed: list[Item]) -> list[list[Item]]:
    """What failed for the same reason stands in one line."""
    groups: dict[tuple[object, ...], list[Item]] = {}
    for item in failed:
        groups.setdefault((item.get("schedule"), item["task"], item["state"], item["why"]), []).append(item)
    return list(groups.values())


def _failed(session: Session, items: list[Item]) -> tuple[object, ...]:
    item = items[0]
    coming = f"next try {when(item['next_try_at'], session.now)}" if item.get("next_try_at") else ""
    tries = f"try {item['tries']}/{item['max_attempts']}" if len(items) == 1 else f"{plural(len(items), 'run')} alike"
    return item["id"], item.get("schedule") or item["task"], item["state"], tries, coming, item["why"]


def _unknown(session: Session, item: Item) -> tuple[object, ...]:
    nearest = f"the nearest known one is {item['nearest']}" if item.get("nearest") else ""
    return (
        item["task"],
        plural(item["due"], "run"),
        f"the oldest due {when(item['oldest_due_at'], session.now)}",
        nearest,
    )


def _missed(session: Session, item: Item) -> tuple[object, ...]:
    count = item["count"] if "count" in item else f"at least {item['at_least']}"
    words = f"{count} of {item['tick_at']} to {item['last_tick_at']}"
    return item["schedule"], words, when(item["last_tick_at"], session.now), item.get("reason")


def _late(item: Item) -> tuple[object, ...]:
    run = item.get("run") or {}
    return item["schedule"], item["tick_at"], f"{spell_ms(item['lateness_ms'])} late", run.get("id")


def _coming(session: Session, item: Item) -> tuple[object, ...]:
    more = f"{plural(item['ticks'], 'time')} within the hour" if item["ticks"] > 1 else ""
    return item["schedule"], when(item["due_at"], session.now), more


def _down(item: Item) -> tuple[object, ...]:
    span = parse_instant(item["until"]) - parse_instant(item["since"])
    return f"{item['since']} to {item['until']}", spell(span) if span else "", f"{plural(item['ticks'], 'tick')}"
