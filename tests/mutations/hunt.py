"""Looks for the first seed in which a mutation breaks a promise, on several processes at once."""

from __future__ import annotations

import logging
import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from typing import Final, NamedTuple

import structlog

from puntual.simulate.draw import scenario
from puntual.simulate.loop import StuckError, VirtualLoop
from puntual.simulate.postgres import databases
from puntual.simulate.record import Record
from puntual.simulate.server import on_server
from puntual.simulate.simulation import simulate
from tests.mutations.catalogue import CATALOGUE, SERVER_CATALOGUE
from tests.mutations.edits import StaleEditError, constant

#: So many seeds are lived through before a process takes its next order: short, so that none is left with all the rest.
_BLOCK: Final = 4
#: The name of the world in which nothing is broken.
WHOLE: Final = ""


class Sighting(NamedTuple):
    """The seed in which a promise was broken, which one, and how."""

    seed: int
    promise: str
    what: str


class Found(NamedTuple):
    """What became of a mutation: how many seeds it took, and what was seen in the last of them, if anything."""

    name: str
    seeds: int
    sighting: Sighting | None


class Seeds(NamedTuple):
    """``most`` of them from ``first`` on, on SQLite, or on the PostgreSQL server of a URL."""

    first: int
    most: int
    database_url: str | None = None

    def block(self, done: int) -> Seeds:
        """The next few after so many."""
        return self._replace(first=self.first + done, most=min(_BLOCK, self.most - done))


class _BrokenError(Exception):
    """Enough is known."""


def hunt(names: Iterable[str], seeds: Seeds, *, processes: int, report: Callable[[Found], None]) -> None:
    """Reports for each mutation the first of these seeds that gives it away."""
    # As where seeds are replayed: the order of sets is the same in each process.
    os.environ["PYTHONHASHSEED"] = "0"
    context = multiprocessing.get_context("spawn")
    waiting = iter(names)
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_be_quiet) as pool:
        hunts: dict[Future[Sighting | None], tuple[str, int]] = {}

        def search(name: str, done: int) -> None:
            hunts[pool.submit(_search, name, seeds.block(done))] = name, done

        for _, name in zip(range(processes), waiting, strict=False):  # This way round it takes no name too many.
            search(name, 0)
        while hunts:
            for future in wait(hunts, return_when=FIRST_COMPLETED).done:
                name, done = hunts.pop(future)
                sighting = future.result()
                if sighting is None and done + _BLOCK < seeds.most:
                    search(name, done + _BLOCK)
                    continue
                report(Found(name, seeds.most if sighting is None else sighting.seed - seeds.first + 1, sighting))
                if (other := next(waiting, None)) is not None:
                    search(other, 0)


def _be_quiet() -> None:
    """What a broken engine has to log is no news, nor what a world leaves behind that was stopped on its way."""
    warnings.simplefilter("ignore")
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


def _search(name: str, seeds: Seeds) -> Sighting | None:
    """The first broken promise in these seeds."""
    with ExitStack() as stack:
        if name != WHOLE:
            stack.enter_context((CATALOGUE | SERVER_CATALOGUE)[name].applied())
        stack.enter_context(_stopped_at_once())
        make = None if seeds.database_url is None else stack.enter_context(databases(seeds.database_url))
        for seed in range(seeds.first, seeds.first + seeds.most):
            drawn = scenario(seed)
            result = simulate(drawn) if make is None else simulate(on_server(drawn), make(seed))
            if problems := result.problems:
                first = problems[0]
                if first.promise == "engine" and StuckError.__name__ not in first.what:
                    raise StaleEditError(f"{name} does not break what it was to break: {first.what}")
                return Sighting(seed, first.promise, first.what)
    return None


@contextmanager
def _stopped_at_once() -> Iterator[None]:
    """A seed ends with its first broken promise: nobody asks for the others."""
    broken, pass_time = Record.broken, VirtualLoop._pass_time
    seen: list[Record] = []

    def note(record: Record, promise: str, what: str) -> None:
        broken(record, promise, what)
        seen.append(record)

    def go_on(loop: VirtualLoop) -> None:
        if seen:
            seen.clear()
            raise _BrokenError
        pass_time(loop)

    with ExitStack() as stack:
        stack.enter_context(constant(Record, "broken", note)())
        stack.enter_context(constant(VirtualLoop, "_pass_time", go_on)())
        yield
