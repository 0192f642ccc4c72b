"""``puntual forecast``: how much is to come, when it is crowded, and what would flatten it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from puntual.cli.options import Command
from puntual.cli.progress import progress
from puntual.cli.session import Session
from puntual.cli.words import clean, plural
from puntual.model.instant import DAY, HOUR, MINUTE, parse_instant

if TYPE_CHECKING:
    from rich.console import Console

Item = dict[str, Any]
#: A line of the histogram is so long a time: the shortest that gives few enough lines.
_STEPS: Final = (MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, DAY)
_LINES: Final = 32
_WIDEST: Final = 50
_NARROWEST: Final = 10
#: What stands beside a bar takes so many columns.
_BESIDE: Final = 46
_SHOWN: Final = 3


@click.command(cls=Command)
@click.option("--since", metavar="T", help="From this instant, or a duration from now [default: now].")
@click.option("--until", metavar="T", help="Until this instant, or a duration from there [default: 24h].")
@click.pass_obj
def forecast(session: Session, /, since: str | None, until: str | None) -> None:
    """Show how many runs are to come, and when it is crowded."""
    with progress(session, "looking ahead", None):
        reply = session.work(lambda operations: operations.forecast(since, until))
    session.give(reply, lambda console: _show(console, reply))


def _show(console: Console, reply: Item) -> None:
    from rich.text import Text

    total = reply["ticks"] + reply["pending"]
    waiting = f", {'at least ' if reply['pending_at_least'] else ''}{reply['pending']:,} of them pending already"
    click.echo(
        f"{plural(total, 'run')} from {reply['since']} until {reply['until']}{waiting if reply['pending'] else ''}."
    )
    if not total:
        return
    peak = reply["peak"]
    # A run that is still live when the next tick comes can only make less of it.
    click.echo(f"The fullest minute is {peak['minute']} with {peak['ticks'] + peak['pending']:,}.")
    click.echo()
    for line in _histogram(reply, max(_NARROWEST, min(_WIDEST, console.width - _BESIDE))):
        console.print(Text(line), soft_wrap=True)
    _show_crowded(console, reply["crowded"])
    _show_advice(reply["advice"])


def _histogram(reply: Item, width: int) -> list[str]:
    """A line for each stretch of time: a bar for its runs, their number, and its fullest minute."""
    since, until = parse_instant(reply["since"]), parse_instant(reply["until"])
    step = next((step for step in _STEPS if (until - since) / step <= _LINES), _STEPS[-1])
    first = since // step * step
    lines = [[0, 0] for _ in range(-(-(until - first) // step))]
    for minute in reply["minutes"]:
        runs = minute["ticks"] + minute["pending"]
        line = lines[(parse_instant(minute["minute"]) - first) // step]
        line[0] += runs
        line[1] = max(line[1], runs)
    most = max(runs for runs, _ in lines)
    return [
        f"  {_clock(max(first + place * step, since))}  {'█' * -(-runs * width // most):<{width}}  {runs:>9,}"
        + (f"  (up to {fullest:,} a minute)" if fullest and step > MINUTE else "")
        for place, (runs, fullest) in enumerate(lines)
    ]


def _clock(instant: int) -> str:
    """A minute of UTC."""
    from puntual.model.instant import format_instant

    text = format_instant(instant)
    return f"{text[:10]} {text[11:16]}"


def _show_crowded(console: Console, crowded: list[Item]) -> None:
    if not crowded:
        return
    from puntual.cli.tables import table

    click.echo("\nCrowded minutes")
    rows = [(each["minute"], each["runs"], _shares(each["schedules"]), _shares(each["hosts"])) for each in crowded]
    table(console, ("!Minute", ">Runs", "Schedules", "Hosts"), rows)


def _shares(shares: list[Item]) -> str:
    shown = ", ".join(
        clean(each["name"], 60) + (f" ({each['runs']:,})" if each["runs"] > 1 else "") for each in shares[:_SHOWN]
    )
    return shown + (", ..." if len(shares) > _SHOWN else "")


def _show_advice(advice: Item | None) -> None:
    if advice is None:
        return
    named = ", ".join(clean(name, 60) for name in advice["schedules"][:_SHOWN])
    more = f" and {advice['count'] - _SHOWN:,} more" if advice["count"] > _SHOWN else ""
    click.echo(
        f"\nspread: {advice['spread']} for {named}{more} would bring the fullest minute from "
        f"{advice['peak_before']:,} to {advice['peak_after']:,} runs."
    )
