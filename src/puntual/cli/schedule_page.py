"""One schedule on one page: what it does and when, and for each setting whether somebody chose it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from puntual.cli.rows import compact, sentence, target
from puntual.cli.tables import cell, pairs
from puntual.cli.words import clean, listed, local, spell_ms, when

if TYPE_CHECKING:
    from rich.console import Console

    from puntual.cli.session import Session

#: The settings of a schedule, as a manifest names them, and where a reply has them.
_POLICIES: Final = (
    ("queue", "queue"),
    ("priority", "priority"),
    ("overlap", "overlap"),
    ("misfire_policy", "misfire_policy"),
    ("misfire_grace_time", "misfire_grace_time_ms"),
    ("timeout", "timeout_ms"),
    ("on_lost_lease", "on_lost_lease"),
    ("spread", "spread_ms"),
    ("jitter", "jitter_ms"),
    ("unique_key", "unique_key"),
)


def show_schedule(session: Session, console: Console, item: dict[str, Any], everything_paused: str) -> None:
    """Prints it: what is so because somebody set it, then in one block what is only usual.

    Args:
        session: knows what time it is.
        console: where to.
        item: the schedule.
        everything_paused: the pause of everything in words, empty where there is none.
    """
    now = session.now
    last = item.get("last") or {}
    run = last.get("run") or {}
    upcoming = item.get("next") or item.get("fires") or []
    chosen, usual = _policies(item)
    rows: list[tuple[str, object]] = [
        ("name", item["name"]),
        ("does", target(item)),
        ("args", compact((item.get("target") or {}).get("args"))),
        ("when", sentence(item, session)),
        ("time zone", item.get("timezone")),
        ("from", item.get("start")),
        ("to", item.get("end")),
        ("description", item.get("description")),
        ("owner", item.get("owner")),
        ("tags", listed(item.get("tags") or [], 20)),
        *chosen,
        ("paused", _pause(session, item)),
        ("next due", _at(item.get("next_due_at"), now, item.get("timezone"))),
        ("then", listed([fire for fire in upcoming if isinstance(fire, str)][1:], 4)),
        ("last tick", _at(last.get("tick_at"), now)),
        ("it", cell(run.get("state") or last.get("fate")) if last else None),
        ("last run", run.get("id")),
        ("revision", item.get("revision")),
    ]
    pairs(console, rows)
    if everything_paused:
        console.print(Text(everything_paused, style="yellow"))
    for warning in item.get("warnings") or []:
        console.print(Text(f"Warning: {clean(warning)}", style="yellow"))
    if usual:
        console.print(Text("\nNobody set these, they are the defaults:", style="dim"))
        pairs(console, usual, "dim")


def _policies(item: dict[str, Any]) -> tuple[list[tuple[str, object]], list[tuple[str, object]]]:
    """The settings that somebody chose, and those that nobody did."""
    defaults = set(item.get("defaults") or [])
    chosen: list[tuple[str, object]] = []
    usual: list[tuple[str, object]] = []

    def sort_in(name: str, value: object) -> None:
        (usual if name in defaults else chosen).append((name, "none" if value in (None, "", []) else value))

    for name, key in _POLICIES:
        value = item.get(key)
        sort_in(name, spell_ms(value) if key.endswith("_ms") and value is not None else value)
    for name, value in (item.get("retry") or {}).items():
        shown = spell_ms(value) if name.endswith("_ms") else _word(value)
        sort_in(f"retry.{name.removesuffix('_ms')}", shown)
    return chosen, usual


def _word(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return (
        ", ".join(map(str, value))
        if isinstance(value, list)
        else value
        if isinstance(value, str)
        else json.dumps(value)
    )


def _at(instant: object, now: int, zone: object = None) -> str | None:
    there = local(instant, zone)
    return f"{instant} ({when(instant, now)}{there and f', {there}'})" if isinstance(instant, str) else None


def _pause(session: Session, item: dict[str, Any]) -> str | None:
    if not item.get("paused"):
        return None
    until = _at(item.get("paused_until"), session.now) or "resumed"
    reason = f": {clean(item['pause_reason'])}" if item.get("pause_reason") else ""
    return f"until {until}{reason}"
