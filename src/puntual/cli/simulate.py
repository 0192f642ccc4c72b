"""``puntual simulate``: the engine in worlds that a seed breaks in every way, held to its promises in each."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import click

from puntual.cli.failure import FAILED
from puntual.cli.options import Command
from puntual.cli.progress import progress
from puntual.cli.session import Session
from puntual.cli.words import clean
from puntual.simulate.order import NODES, TRIES

if TYPE_CHECKING:
    from puntual.simulate.order import Answer, Small
    from puntual.simulate.summary import Summary

_SEEDS: Final = 100
#: A fresh seed is one of so many, by the clock: short enough to be typed again.
_FRESH: Final = 1_000_000_000
#: What JSON readers everywhere take for a whole number, and a year of work.
_LAST: Final = (1 << 53) - 1
_MOST: Final = 100_000_000


@click.command(cls=Command)
@click.option("--seeds", type=click.IntRange(1, _MOST), metavar="N", help=f"So many seeds [default: {_SEEDS}].")
@click.option("--first", type=click.IntRange(0, _LAST), metavar="S", help="From this seed on [default: a fresh one].")
@click.option("--seed", type=click.IntRange(0, _LAST), metavar="S", help="This seed alone.")
@click.option("--story", is_flag=True, help="With --seed: tell all that happened.")
@click.option(
    "--tries", type=click.IntRange(0), default=TRIES, show_default=True, metavar="N", help="To make a failure small."
)
@click.option(
    "--nodes", type=click.IntRange(1, 20), default=NODES, show_default=True, metavar="N", help="So many nodes."
)
@click.option("--database-url", metavar="URL", help="On this PostgreSQL server, not on SQLite in memory.")
@click.pass_obj
def simulate(session: Session, /, **said: Any) -> int | None:  # noqa: ANN401 - as the options are declared
    """Break nodes, network, clocks and database by seeds, and hold the engine to its promises."""
    from msgspec.structs import asdict

    from puntual.cli.simulate_page import show, title
    from puntual.simulate.order import Order, Wish
    from puntual.simulate.summary import Summary

    seeds = _seeds(said)
    order = Order(
        seed=seeds.start,
        nodes=said["nodes"],
        database_url=_checked(said["database_url"]),
        wish=Wish.STORY if said["story"] else Wish.TRY,
        tries=said["tries"],
    )
    session.note(title(seeds, order))
    summary, small = Summary(order), None
    try:
        _live(session, summary, seeds)
    except BaseException:
        _tell(summary)
        raise
    if summary.failures and order.tries and not said["story"]:
        # It takes minutes, and may be interrupted or fail too.
        _tell(summary)
        small = _small(session, summary)
    shrunk = small and asdict(small)
    document = {"first": seeds.start, "nodes": order.nodes, **summary.document(), "shrunk": shrunk}
    session.give(document, lambda console: show(console, summary, small))
    return FAILED if summary.failures or summary.never() or summary.scant() else None


def _seeds(said: dict[str, Any]) -> range:
    """Those that were asked for.

    Raises:
        UsageError: options contradict each other.
    """
    alone = said["seed"]
    if alone is not None:
        if said["seeds"] is not None or said["first"] is not None:
            raise click.UsageError("--seed is one seed alone: leave out --seeds and --first.")
        return range(alone, alone + 1)
    if said["story"]:
        raise click.UsageError("--story tells of one seed: say which with --seed.")
    from puntual.engine.clock import SystemClock

    first = SystemClock().now() // 1000 % _FRESH if said["first"] is None else said["first"]
    return range(first, first + (said["seeds"] or _SEEDS))


def _checked(url: str | None) -> str | None:
    """The server that was named.

    Raises:
        UsageError: it is none.
    """
    from puntual.settings.postgres import postgres_url
    from puntual.settings.values import Wrong

    try:
        return None if url is None else postgres_url(url)
    except Wrong as wrong:
        raise click.UsageError(f"--database-url must be {wrong}.") from None


def _tell(summary: Summary) -> None:
    """What was found so far, so that it is not lost with the rest."""
    from puntual.cli.simulate_page import broken

    for line in broken(summary):
        click.echo(clean(line), err=True)


def _live(session: Session, summary: Summary, seeds: range) -> None:
    """Lives all of them through, on all cores."""
    from msgspec.structs import replace

    from puntual.engine.clock import SystemClock
    from puntual.simulate.order import Outcome
    from puntual.simulate.pool import carry_out, cores

    steady = SystemClock().steady
    began = steady()
    with progress(session, "simulating", len(seeds)) as done:

        def report(answer: Answer) -> None:
            if isinstance(answer, Outcome):
                summary.add(answer)
                done(summary.seeds)

        orders = (replace(summary.order, seed=seed) for seed in seeds)
        asyncio.run(carry_out(orders, report, processes=cores()))
    summary.seconds = steady() - began


def _small(session: Session, summary: Summary) -> Small | None:
    """The first seed that failed, made small."""
    from msgspec.structs import replace

    from puntual.simulate.order import Small, Tried, Wish
    from puntual.simulate.pool import carry_out

    order, found = summary.order, list[Small]()
    with progress(session, "making it small", order.tries) as done:

        def report(answer: Answer) -> None:
            if isinstance(answer, Tried):
                done(answer.tries)
            elif isinstance(answer, Small):
                found.append(answer)

        first = replace(order, seed=summary.failures[0].seed, wish=Wish.SHRINK)
        asyncio.run(carry_out([first], report, processes=1))
    return found[0] if found else None
