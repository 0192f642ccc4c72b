"""What came of seeds, for people: how often everything happened, what broke, how to see it again, and the verdict."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from rich.text import Text

from puntual.cli.tables import table
from puntual.cli.words import clean, plural
from puntual.settings.postgres import shown_url
from puntual.simulate.order import NODES

if TYPE_CHECKING:
    from rich.console import Console

    from puntual.simulate.order import Order, Small
    from puntual.simulate.summary import Summary

_SHOWN: Final = 20


def title(seeds: range, order: Order) -> str:
    """What is about to be lived through, and how that is done again."""
    where = "SQLite in memory" if order.database_url is None else shown_url(order.database_url)
    world = f"{plural(order.nodes, 'node')} on {where}"
    if len(seeds) == 1:
        return f"Seed {seeds.start}, {world}"
    return f"{plural(len(seeds), 'seed')} from {seeds.start} on (--first {seeds.start}), {world}"


def show(console: Console, summary: Summary, small: Small | None) -> None:
    """Prints all of it, the verdict last."""
    if summary.seeds > 1:
        _show_counts(console, "Fault", summary.strikes, summary)
        _show_counts(console, "Way of a run, tick or lease", summary.visits, summary)
    _show_lines(console, summary.story)
    _show_lines(console, broken(summary))
    if small is not None:
        _show_small(console, small)
    elif summary.failures and summary.order.tries and not summary.story:
        seed = summary.failures[0].seed
        console.print(
            f"Seed {seed} held when it was lived through again: what differs between two lives is a defect.\n"
        )
    _show_verdict(console, summary)


def broken(summary: Summary) -> list[str]:
    """The seeds that failed, each with its first break and the command that repeats it."""
    found = []
    for failure in summary.failures[:_SHOWN]:
        more = f" ({failure.more} more)" if failure.more else ""
        found += [
            f"Seed {failure.seed} broke {failure.promise} at {failure.at:.3f} s: {failure.what}{more}",
            f"  again: {_again(failure.seed, summary.order)} (trace {failure.trace})",
        ]
    hidden = len(summary.failures) - _SHOWN
    return [*found, f"... and {plural(hidden, 'seed')} more"] if hidden > 0 else found


def _again(seed: int, order: Order) -> str:
    """The command that lives through a seed once more, but for a password."""
    words = ["puntual", "simulate", "--seed", str(seed)]
    if order.nodes != NODES:
        words += ["--nodes", str(order.nodes)]
    if order.database_url is not None:
        words += ["--database-url", shown_url(order.database_url)]
    return shlex.join(words)


def _show_counts(console: Console, head: str, counts: Mapping[str, int], summary: Summary) -> None:
    rows = [(name, f"{count:,}", f"{summary.seeds_with[name]:,}") for name, count in sorted(counts.items())]
    table(console, (f"!{head}", ">Times", ">In seeds"), rows)
    console.print()


def _show_small(console: Console, small: Small) -> None:
    console.print(Text(f"The least of seed {small.seed} that was found to break {small.promise}", style="bold"))
    parts = (small.nodes, small.schedules, small.acts, small.faults)
    for name, lines in zip(("node", "schedule", "act of users", "fault"), parts, strict=True):
        _print_lines(console, [f"{name:<14}{line}" for line in lines or ["none"]])
    console.print()
    console.print(Text("Its story, as far as it matters", style="bold"))
    _show_lines(console, small.story)


def _show_lines(console: Console, lines: Sequence[str]) -> None:
    """Prints lines, if there are any, and an empty one after them."""
    if lines:
        _print_lines(console, lines)
        console.print()


def _print_lines(console: Console, lines: Sequence[str]) -> None:
    """As they are: what does not fit is the terminal's to wrap."""
    for line in lines:
        style = "red" if "BROKEN" in line else "yellow" if " ! " in line else ""
        console.print(Text(clean(line), style=style), crop=False, no_wrap=True, overflow="ignore")


def _show_verdict(console: Console, summary: Summary) -> None:
    seeds, never = plural(summary.seeds, "seed"), summary.never()
    operations, faults = summary.operations.values(), summary.struck.values()
    console.print(
        f"{sum(operations):,} operations on the database, at least {min(operations):,} in a seed; "
        f"{sum(faults):,} faults, at least {min(faults)} in a seed; {summary.pace:.1f} seeds a second"
    )
    if summary.failures:
        console.print(Text(f"{len(summary.failures):,} of {seeds} broke a promise.", style="bold red"))
    else:
        console.print(Text(f"Every promise held in {seeds}.", style="bold green"))
    if never:
        console.print(
            Text(f"Never happened in {seeds}, so nothing is proven of it: {'; '.join(never)}.", style="bold red")
        )
    if scant := summary.scant():
        console.print(Text(f"Too little happened to prove much: {'; '.join(scant)}.", style="bold red"))
