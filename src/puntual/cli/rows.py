"""Schedules, runs and ticks as tables and as pages of detail, from the replies of the operations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import click
from rich.text import Text

from puntual.cli.tables import cell, empty, pairs, table
from puntual.cli.words import clean, local, plural, spell_ms, when

if TYPE_CHECKING:
    from rich.console import Console

    from puntual.cli.session import Session

Item = dict[str, Any]
#: The lines of a trace that are shown.
_TRACED: Final = 40


def show_runs(session: Session, console: Console, reply: Item, nothing: str, hint: str | None = None) -> None:
    """Prints a list of runs; where there is none what ``nothing`` says, and a command that would change that."""
    items = reply["items"]
    if not items:
        _nothing(console, reply, nothing, hint)
        return
    columns = ("!ID", "Task", "~Schedule", "~Queue", "!State", "~>Try", "!When", "+Why")
    table(console, columns, [_run_row(session, item) for item in items])
    show_more(console, reply)


def show_more(console: Console, reply: Item) -> None:
    """Says how to see what follows."""
    if reply.get("next_cursor"):
        console.print(f"There is more: --cursor {clean(reply['next_cursor'])}")


def _nothing(console: Console, reply: Item, what: str, hint: str | None) -> None:
    """Nothing at all; or nothing yet, where there is more to be looked through."""
    if reply.get("next_cursor"):
        console.print("Nothing among the newest.")
        show_more(console, reply)
    else:
        empty(console, what, hint)


def _run_row(session: Session, run: Item) -> tuple[object, ...]:
    return (
        run["id"],
        run["task"],
        run.get("schedule"),
        run["queue"],
        run["state"],
        tries(run),
        when(run.get("started_at") or run.get("due_at"), session.now),
        why(run),
    )


def tries(run: Item) -> str:
    """``2/5``: the attempts that were charged, of how many."""
    return f"{run['attempt'] - run.get('released', 0)}/{run['max_attempts']}"


def why(run: Item) -> str:
    """What the last attempt says of a run that did not go well."""
    if run["state"] == "succeeded":
        return ""
    attempts = run.get("attempts") or []
    error = attempts[-1].get("error") if attempts else None
    parts = [run.get("reason"), f"{error['type']}: {error['message']}" if error else None]
    return ", ".join(str(part) for part in parts if part)


def show_run(session: Session, console: Console, run: Item) -> None:
    """Prints all of one run, with its attempts."""
    now = session.now
    rows: list[tuple[str, object]] = [
        ("run", run["id"]),
        ("task", run["task"]),
        ("args", compact(run.get("args"))),
        ("state", cell(run["state"])),
        ("reason", run.get("reason")),
        ("schedule", run.get("schedule")),
        ("queue", f"{run['queue']}, priority {run.get('priority', 'normal')}"),
        ("tags", ", ".join(run.get("tags") or [])),
        ("unique key", run.get("unique_key")),
        ("origin", run.get("origin")),
        ("replay of", run.get("replay_of")),
        ("tries", tries(run)),
    ]
    times = ("tick_at", "due_at", "next_try_at", "created_at", "started_at", "finished_at", "discarded_at")
    rows += [
        (name.removesuffix("_at").replace("_", " "), f"{run[name]} ({when(run[name], now)})")
        for name in times
        if run.get(name)
    ]
    late = run.get("lateness_ms")
    rows += [
        ("late by", spell_ms(late) if isinstance(late, int | float) and late > 0 else None),
        ("cancel", "asked for" if run.get("cancel_requested") else None),
        ("result", compact(run.get("result"))),
    ]
    pairs(console, rows)
    if run.get("attempts"):
        console.print()
        show_attempts(session, console, run["attempts"])
        _show_trace(run)


def show_attempts(session: Session, console: Console, attempts: list[Item]) -> None:
    """Prints attempts beneath each other, each with its error."""
    columns = (">#", "!Outcome", "~Status", "!Started", "!Took", "~Worker", "+Error")
    table(console, columns, [_attempt_row(session, attempt) for attempt in attempts], whole_notes=True)


def _show_trace(run: Item) -> None:
    """Prints where the last attempt that failed went wrong: the end of its trace, which is the nearest to it."""
    traced = [attempt for attempt in run["attempts"] if (attempt.get("error") or {}).get("trace")]
    if not traced:
        return
    lines = clean(traced[-1]["error"]["trace"], keep="\n").rstrip().split("\n")
    click.echo(f"\nTraceback of attempt {traced[-1]['number']}:")
    if len(lines) > _TRACED:
        hidden = len(lines) - _TRACED
        click.echo(f"  ... {plural(hidden, 'line')} before these: puntual run show {clean(run['id'])} --json has all")
    for line in lines[-_TRACED:]:
        click.echo(f"  {line}".rstrip())


def _attempt_row(session: Session, attempt: Item) -> tuple[object, ...]:
    return (
        attempt["number"],
        attempt["outcome"],
        attempt.get("status_code"),
        when(attempt.get("started_at"), session.now),
        took(attempt),
        attempt.get("worker"),
        Text(clean(error_text(attempt))),
    )


def error_text(attempt: Item) -> str:
    """The error of an attempt in one line."""
    error = attempt.get("error")
    return f"{error['type']}: {error['message']}" if error else ""


def took(attempt: Item) -> str:
    """How long an attempt took."""
    from puntual.cli.words import spell
    from puntual.model.instant import parse_instant

    if not attempt.get("started_at") or not attempt.get("finished_at"):
        return ""
    return spell(max(parse_instant(attempt["finished_at"]) - parse_instant(attempt["started_at"]), 0))


def compact(value: object) -> str | None:
    """A JSON value in one line; nothing for what is empty."""
    return None if value in (None, {}, []) else json.dumps(value, ensure_ascii=False)


def show_schedules(session: Session, console: Console, reply: Item, *, paused: str, narrowed: bool) -> None:
    """Prints a list of schedules, and first the pause of everything; ``narrowed`` if not all were asked for."""
    if paused:
        console.print(Text(paused, style="yellow"))
    if not reply["items"]:
        if narrowed:
            empty(console, "There is no such schedule.", "schedule list")
        else:
            empty(console, "No schedule yet.", "schedule add NAME --when 'every 15 minutes' --url https://...")
        return
    table(
        console,
        ("!Name", "When", "What", "!Next", "!Last", "~Local", "~Queue", "~Owner"),
        [_schedule_row(session, item) for item in reply["items"]],
    )
    show_more(console, reply)


def _schedule_row(session: Session, item: Item) -> tuple[object, ...]:
    last = item.get("last") or {}
    state = (last.get("run") or {}).get("state") or last.get("fate")
    coming = cell("paused") if item.get("paused") else when(item.get("next_due_at"), session.now) or "never"
    there = "" if item.get("paused") else local(item.get("next_due_at"), item.get("timezone"))
    said, queue, owner = sentence(item, session), item.get("queue"), item.get("owner")
    return item["name"], said, target(item), coming, state, there, queue, owner


def sentence(item: Item, session: Session) -> str:
    """How the rule of a schedule reads, in the language of the settings, or in one that there is."""
    said = item.get("sentence")
    if not isinstance(said, dict):
        return str(said or "")
    return str(said.get(session.settings.language) or next(iter(said.values()), ""))


def target(item: Item) -> str:
    """What a schedule does, in one line."""
    what = item.get("target") or {}
    task, args = what.get("task", ""), what.get("args") or {}
    if task == "http":
        return f"{args.get('method', 'GET')} {args.get('url', '')}"
    if task == "command":
        return " ".join(str(word) for word in args.get("argv") or [args.get("shell", "")])
    return str(task)


def show_ticks(session: Session, console: Console, reply: Item, *, named: bool, nothing: str) -> None:
    """Prints the tick record; with the schedule's name where several are listed."""
    if not reply["items"]:
        _nothing(console, reply, nothing, None)
        return
    columns = ("Schedule", "~>Number", "!Tick", "~", ">Count", "!Fate", "Reason", ">Late", "~State", "+!Run")
    alone = all(item.get("count") == 1 for item in reply["items"])
    rows = [_tick_row(session, item, counted=not alone) for item in reply["items"]]
    first = 0 if named else 1
    table(console, columns[first:], [row[first:] for row in rows])
    show_more(console, reply)


def _tick_row(session: Session, tick: Item, *, counted: bool) -> tuple[object, ...]:
    run = tick.get("run") or {}
    count = plural(tick["at_least"], "tick") if tick.get("at_least") is not None else tick.get("count", 1)
    late = tick.get("lateness_ms")
    return (
        tick.get("schedule"),
        tick["number"],
        tick["tick_at"],
        when(tick["tick_at"], session.now),
        None if not counted else f"at least {count}" if tick.get("at_least") is not None else count,
        tick["fate"],
        tick.get("reason"),
        spell_ms(late) if isinstance(late, int | float) and late > 0 else "",
        run.get("state"),
        run.get("id"),
    )
