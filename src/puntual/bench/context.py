"""What a benchmark is given: a fresh folder, how much to do, and whom to tell how far it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from puntual.app import App
from puntual.bench.home import Home
from puntual.settings import Settings

#: Takes what happens, as one mapping with the key ``event``: ``machine``, ``started``, ``progress`` or ``result``.
Report: TypeAlias = Callable[[dict[str, Any]], None]

ROUNDS: Final = 3


class Measured(msgspec.Struct, frozen=True):
    """A value and, where there is one, what the bare database does in its place."""

    value: float
    floor: float | None = None


class Extent(msgspec.Struct, frozen=True, kw_only=True):
    """How much to measure: ``runs`` when the user said how many, ``quick`` when shapes matter and not figures."""

    runs: int | None
    quick: bool
    report: Report


class Bench:
    """One family of benchmarks under way.

    Args:
        home: where databases are made.
        folder: empty, and removed when the family is done.
        extent: how much to do, and whom to tell.
    """

    def __init__(self, home: Home, folder: Path, extent: Extent) -> None:
        self.home: Final = home
        self.folder: Final = folder
        self.quick: Final = extent.quick
        self._runs = extent.runs
        self._report = extent.report

    def count(self, full: int, quick: int) -> int:
        """How many runs to use: what the user said, else one of these."""
        return self._runs or self.choose(full, quick)

    def choose(self, full: int, quick: int) -> int:
        """The size of something that is no run."""
        return quick if self.quick else full

    def rounds(self, full: int = ROUNDS) -> Iterator[int]:
        """The rounds of a throughput, of which the best counts: what else the machine does only ever takes away."""
        total = self.choose(full, 1)
        for number in range(total):
            self.progress(number, total)
            yield number

    def progress(self, done: int, total: int) -> None:
        """Says how far it is."""
        self._report({"event": "progress", "done": done, "total": total})

    async def app(self, **changes: object) -> App:
        """An app on a database of its own, all settings at their defaults but for these."""
        url = await self.home.database()
        return App(msgspec.structs.replace(Settings(), database_url=url, **changes))


#: Measures some figures, by name.
Family: TypeAlias = Callable[[Bench], Coroutine[Any, Any, Mapping[str, Measured]]]


async def until(reached: Callable[[], bool], every: float) -> None:
    """Looks every so many seconds until it is so: what is measured must not be changed to tell us."""
    while not reached():  # noqa: ASYNC110 - see above
        await asyncio.sleep(every)


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that is at least as large as that many of all."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * percent / 100), len(ordered) - 1)]
