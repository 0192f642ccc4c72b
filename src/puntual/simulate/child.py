"""A process that lives seeds through, one after another, as it is told to by lines; it ends when nobody tells it."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

import msgspec
import structlog

from puntual.model.errors import PuntualError
from puntual.simulate.database import SqliteDatabase
from puntual.simulate.draw import scenario
from puntual.simulate.order import Answer, Order, Outcome, Wish
from puntual.simulate.server import on_server
from puntual.simulate.simulation import simulate
from puntual.simulate.small import Failed, MakeDatabase, made_small

_SILENT: Final = logging.CRITICAL


class Databases:
    """Makes the databases of simulated worlds: in memory, or on a server, where they stand until ``stack`` is left."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._on: dict[str, Callable[[int], MakeDatabase]] = {}

    def of(self, order: Order) -> MakeDatabase:
        """What makes those of an order."""
        url = order.database_url
        if url is None:
            return SqliteDatabase
        if url not in self._on:
            from puntual.simulate.postgres import databases  # noqa: PLC0415 - only where it is asked for

            self._on[url] = self._stack.enter_context(databases(url))
        return self._on[url](order.seed)


def carry_out(order: Order, databases: Databases, say: Callable[[Answer], None]) -> None:
    """Does what an order wishes, and says what came of it."""
    drawn, database = scenario(order.seed, nodes=order.nodes), databases.of(order)
    if order.database_url is not None:
        drawn = on_server(drawn)
    result = simulate(drawn, database)
    if order.wish is Wish.SHRINK and result.problems:
        say(made_small(Failed(drawn, result, database), order.tries, say))
        return
    say(
        Outcome(
            seed=order.seed,
            problems=result.problems,
            trace=result.trace,
            strikes=dict(result.strikes),
            visits=dict(result.visits),
            operations=result.operations,
            story=result.story if order.wish is Wish.STORY else [],
        )
    )


def main() -> None:
    """Reads orders from standard input and writes answers to standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(_SILENT))
    gc.freeze()  # What was imported stays: after each seed only what it left behind is looked through.

    def say(answer: Answer) -> None:
        sys.stdout.write(f"{msgspec.json.encode(answer).decode()}\n")
        sys.stdout.flush()

    try:
        with ExitStack() as stack:
            databases = Databases(stack)
            for line in sys.stdin:
                carry_out(msgspec.json.decode(line, type=Order), databases, say)
    except PuntualError as error:
        sys.exit(str(error))
    except BrokenPipeError:
        # Whoever asked is gone; what Python would still write to it at the end goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
