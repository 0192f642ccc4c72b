"""``puntual schedule backfill``: makes up for ticks of the past, in pieces, so that it can be stopped and repeated."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import click

from puntual.cli.options import OVERLAPS, PRIORITIES, Command, where
from puntual.cli.progress import progress
from puntual.cli.session import Session
from puntual.cli.words import clean, listed, local, plural

if TYPE_CHECKING:
    from puntual.operations.contract import Operations

#: How many runs one request makes: few enough for a bar that moves.
_PIECE: Final = 2_000
#: How many of the first and of the last ticks are shown.
_NAMED: Final = 3
_WHY: Final = {
    "ran": "ran already",
    "planned": "is still to run",
    "calendar": "fell on a day that its calendars close",
    "blackout": "fell into a blackout",
}


@click.command(cls=Command)
@click.argument("name")
@click.option("--since", required=True, metavar="T", help="From then on: a date, a time, 24h, today, yesterday.")
@click.option("--until", metavar="T", help="Before then [default: now].")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option(
    "--overlap", type=click.Choice(OVERLAPS), help="What to do if a run of it is live now [default: nothing]."
)
@click.option("--queue", metavar="NAME", help="Put the runs into this queue [default: the schedule's].")
@click.option("--priority", type=click.Choice(PRIORITIES), help="At this priority [default: the schedule's].")
@click.pass_obj
def backfill(session: Session, /, name: str, **given: Any) -> None:  # noqa: ANN401 - texts and a flag
    """Make up for ticks of the past: a run for each that has not run; a repeat makes nothing twice."""
    zone = ""
    body = where(given)

    async def work(operations: Operations) -> dict[str, Any]:
        nonlocal zone
        if not session.as_json:
            zone = (await operations.get_schedule(name))["timezone"]
        if body["dry_run"]:
            return await operations.backfill_schedule(name, body)
        return await _in_pieces(session, operations, name, body)

    reply = session.work(work)
    session.give(reply, lambda _console: _show(session, reply, zone))


async def _in_pieces(session: Session, operations: Operations, name: str, body: dict[str, Any]) -> dict[str, Any]:
    """All of it, as one answer."""
    # Says how much there is; the end of the time is kept, because now goes on.
    whole = await operations.backfill_schedule(name, {**body, "dry_run": True, "limit": 1})
    rest: dict[str, Any] = {**body, "since": whole["since"], "until": whole["until"], "limit": _PIECE}
    pieces = []
    with progress(session, "ticks", whole["ticks"]) as done:
        while rest["since"] is not None:
            pieces.append(await operations.backfill_schedule(name, rest))
            # What is in the way is asked once: the runs made here are not.
            rest = {**rest, "since": pieces[-1]["next_since"], "overlap": None}
            done(sum(_seen(piece) for piece in pieces))
    named = [tick for piece in pieces for tick in (*piece["first"], *piece["last"])]
    return {
        **pieces[-1],
        "since": whole["since"],
        "ticks": whole["ticks"],
        "runs": sum(piece["runs"] for piece in pieces),
        "existing": sum(piece["existing"] for piece in pieces),
        "skipped": dict(sum((Counter(piece["skipped"]) for piece in pieces), Counter())),
        "first": named[:_NAMED],
        "last": named[_NAMED:][-_NAMED:],
    }


def _seen(reply: dict[str, Any]) -> int:
    """The ticks that a reply accounts for."""
    seen: int = reply["runs"] + reply["existing"] + sum(reply["skipped"].values())
    return seen


def _show(session: Session, reply: dict[str, Any], zone: str) -> None:
    would = reply["dry_run"]
    click.echo(
        f"{clean(reply['schedule'])} has {plural(reply['ticks'], 'tick')} from {reply['since']} to {reply['until']}: "
        f"{plural(reply['runs'], 'run')} {'would be made' if would else 'made'}."
    )
    for tick in reply["first"]:
        _tick(tick, zone)
    if (between := reply["runs"] - len(reply["first"]) - len(reply["last"])) > 0:
        click.echo(f"  ... {between:,} more")
    for tick in reply["last"]:
        _tick(tick, zone)
    left = [f"{count:,} {_WHY.get(why, clean(why))}" for why, count in reply["skipped"].items()]
    if reply["existing"]:
        left.append(f"{reply['existing']:,} had been made up for")
    if left:
        click.echo(f"Left alone: {listed(left, 10)}.")
    session.warn(reply)


def _tick(tick: str, zone: str) -> None:
    click.echo(f"  {'  '.join(part for part in (tick, local(tick, zone)) if part)}")
