"""``puntual bench``: what this machine does, each figure beside its floor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from puntual.cli.options import Command
from puntual.cli.progress import progress
from puntual.cli.session import Session

if TYPE_CHECKING:
    from rich.console import Console


@click.command(cls=Command)
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("--database-url", metavar="URL", help="Measure beside this database: in its folder, or on its server.")
@click.option("--runs", type=click.IntRange(1), metavar="N", help="How many runs to measure with.")
@click.option("--quick", is_flag=True, help="Small sizes and one round: only to see that it works.")
@click.pass_obj
def bench(
    session: Session, /, names: tuple[str, ...], database_url: str | None, runs: int | None, *, quick: bool
) -> None:
    """Measure this machine, each figure beside its floor."""
    from puntual import logs
    from puntual.bench import kind_of, run, there_are

    settings = session.settings_with({"DATABASE_URL": database_url})
    logs.quiet(settings)
    facts: dict[str, object] = {}
    with _watched(session, len(names) or len(there_are(kind_of(settings))), facts) as report:
        results = run(names, settings, runs=runs, quick=quick, report=report)
    session.give({"machine": facts, "results": results}, lambda console: _show(console, results))


@contextmanager
def _watched(session: Session, total: int, facts: dict[str, object]) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Gives what the benchmarks report to: it keeps the machine's facts and moves the bar."""
    with progress(session, "measuring", total) as done:
        measured = 0

        def report(event: Mapping[str, Any]) -> None:
            nonlocal measured
            if event["event"] == "machine":
                facts.update({name: value for name, value in event.items() if name != "event"})
            elif event["event"] == "result":
                measured += 1
                done(measured)

        yield report


def _show(console: Console, results: list[dict[str, Any]]) -> None:
    from puntual.cli.tables import table

    rows = [
        (row["name"], _number(row["value"]), row["unit"], _number(row.get("floor")), row.get("ratio"))
        for row in results
    ]
    table(console, ("!Name", ">Value", "Unit", ">Floor", ">Ratio"), rows)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,}"
