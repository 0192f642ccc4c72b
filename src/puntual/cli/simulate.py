"""``puntual simulate``: the engine in worlds that a seed breaks in every way, held to its promises in each."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import click

from puntual.cli.failure import FAILED
from puntual.cli.options import Command
from puntual.cli.progress import progress
from puntual.cli.session import Session

if TYPE_CHECKING:
    from puntual.simulate.order import Answer, Order, Small
    from puntual.simulate.summary import Summary

_SEEDS: Final = 100
#: A fresh seed is one of so many, by the clock: short enough to be typed again.
_FRESH: Final = 1_000_000_000


@click.command(cls=Command)
@click.option("--seeds", type=click.IntRange(1), metavar="N", help=f"So many seeds [default: {_SEEDS}].")
@click.option("--first", type=click.IntRange(0), metavar="S", help="From this seed on [default: a fresh one].")
@click.option("--seed", type=click.IntRange(0), metavar="S", help="This seed alone.")
@click.option("--story", is_flag=True, help="With --seed: tell all that happened.")
@click.option(
    "--tries", type=click.IntRange(0), default=250, show_default=True, metavar="N", help="To make a failure small."
)
@click.option("--nodes", type=click.IntRange(1, 20), default=3, show_default=True, metavar="N", help="So many nodes.")
@click.option("--database-url", metavar="URL", help="On this PostgreSQL server, not on SQLite in memory.")
@click.pass_obj
def simulate(session: Session, /, **said: Any) -> int | None:  # noqa: ANN401 - as the options are declared
    """Break nodes, network, clocks and database by seeds, and hold the engine to its promises."""
    from msgspec.structs import asdict

    from puntual.cli.simulate_page import show, title
    from puntual.simulate.order import Order, Wish

    seeds = _seeds(said)
    wish = Wish.STORY if said["story"] else Wish.TRY
    how = {name: said[name] for name in ("nodes", "database_url", "tries")}
    order = Order(seed=seeds.start, wish=wish, **how)
    session.note(title(seeds, order))
    summary = _live(session, order, seeds)
    small = _small(session, order, summary) if summary.failures and order.tries and not said["story"] else None
    shrunk = small and asdict(small)
    document = {"first": seeds.start, "nodes": order.nodes, **summary.document(), "shrunk": shrunk}
    session.give(document, lambda console: show(console, summary, small))
    return FAILED if summary.failures or summary.never() else None


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


def _live(session: Session, order: Order, seeds: range) -> Summary:
    """Lives all of them through, on all cores."""
    from msgspec.structs import replace

    from puntual.cli.simulate_page import broken
    from puntual.engine.clock import SystemClock
    from puntual.simulate.order import Outcome
    from puntual.simulate.pool import carry_out, cores
    from puntual.simulate.summary import Summary

    summary, steady = Summary(order), SystemClock().steady
    began = steady()
    with progress(session, "simulating", len(seeds)) as done:

        def report(answer: Answer) -> None:
            if isinstance(answer, Outcome):
                summary.add(answer)
                done(summary.seeds)

        try:
            asyncio.run(carry_out((replace(order, seed=seed) for seed in seeds), report, processes=cores()))
        except KeyboardInterrupt:
            # What was found so far is not lost with the rest.
            session.note("\n".join(broken(summary)))
            raise
    summary.seconds = steady() - began
    return summary


def _small(session: Session, order: Order, summary: Summary) -> Small | None:
    """The first seed that failed, made small."""
    from msgspec.structs import replace

    from puntual.simulate.order import Small, Tried, Wish
    from puntual.simulate.pool import carry_out

    found: list[Small] = []
    with progress(session, "making it small", order.tries) as done:

        def report(answer: Answer) -> None:
            if isinstance(answer, Tried):
                done(answer.tries)
            elif isinstance(answer, Small):
                found.append(answer)

        first = replace(order, seed=summary.failures[0].seed, wish=Wish.SHRINK)
        asyncio.run(carry_out([first], report, processes=1))
    return found[0] if found else None
