"""Runs benchmarks one after another, each family in a fresh folder, and gives what they measured in the order asked."""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from puntual.bench.context import Bench, Extent, Family, Measured, Report
from puntual.bench.figures import FIGURES
from puntual.bench.home import Home
from puntual.engine.process import run_loop
from puntual.model.errors import InvalidError
from puntual.settings import Settings


def run(
    names: Sequence[str], settings: Settings, *, runs: int | None, quick: bool, report: Report
) -> list[dict[str, Any]]:
    """Measures, on databases of its own beside that of ``DATABASE_URL``, which is not touched.

    Args:
        names: which figures; none means all that there are for this kind of database.
        settings: only where the database would be is taken from them.
        runs: how many runs each throughput uses; None leaves it to each.
        quick: small sizes and one round: for seeing that it works.
        report: called with ``{"event": "machine", ...facts}``, then for each figure ``{"event": "started", "name"}``,
            ``{"event": "progress", "done", "total"}`` and ``{"event": "result", ...}``.

    Returns:
        One ``{"name", "value", "unit", "floor"?, "ratio"?}`` for each figure.

    Raises:
        InvalidError: there is no such figure, or the folder is not there.
    """
    kind = kind_of(settings)
    wanted = _known(names, kind)
    place = Path(settings.database_path).absolute().parent if kind == "sqlite" else None
    if place is not None and not place.is_dir():
        raise InvalidError(f"There is no folder {place} to measure in: make it, or name another.", field="DATABASE_URL")
    with tempfile.TemporaryDirectory(prefix="puntual-bench-", dir=place) as folder:

        def home(inner: str) -> Home:
            return _home(settings.database_url, Path(inner))

        report({"event": "machine", **run_loop(_facts(home(folder)))})
        return _measure(wanted, home, folder, Extent(runs=runs, quick=quick, report=report))


def kind_of(settings: Settings) -> str:
    """The kind of database that is measured."""
    return "postgres" if settings.on_postgres else "sqlite"


def there_are(kind: str) -> list[str]:
    """The figures that are measured on a kind of database."""
    return [name for name, figure in FIGURES.items() if kind in figure.kinds]


def _home(url: str, folder: Path) -> Home:
    if url.startswith("sqlite:"):
        from puntual.bench.sqlite.home import SqliteHome  # noqa: PLC0415 - of the two, the one that is used

        return SqliteHome(folder)
    from puntual.bench.postgres.home import PostgresHome  # noqa: PLC0415 - as above

    return PostgresHome(url, folder)


async def _facts(home: Home) -> dict[str, object]:
    async with home:
        return await home.facts()


async def _family(family: Family, home: Home, folder: Path, extent: Extent) -> Mapping[str, Measured]:
    async with home:
        return await family(Bench(home, folder, extent))


def _measure(wanted: list[str], home: Callable[[str], Home], where: str, extent: Extent) -> list[dict[str, Any]]:
    report = extent.report
    found: dict[Family, Mapping[str, Measured]] = {}
    results = []
    for name in wanted:
        family = FIGURES[name].family
        if family not in found:
            report({"event": "started", "name": name})
            with tempfile.TemporaryDirectory(dir=where) as folder:
                found[family] = run_loop(_family(family, home(folder), Path(folder), extent))
            gc.collect()
        result = _result(name, found[family][name])
        report({"event": "result", **result})
        results.append(result)
    return results


def _known(names: Sequence[str], kind: str) -> list[str]:
    """The names asked for, each once.

    Raises:
        InvalidError: there is no such figure, or not for this kind of database.
    """
    there = there_are(kind)
    for name in names:
        if name not in FIGURES:
            near = get_close_matches(name, FIGURES, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(FIGURES)}."
            raise InvalidError(f"There is no benchmark {name[:40]!r} in this release: {hint}", field="names")
        if name not in there:
            raise InvalidError(f"{name} is not measured on this kind of database.", field="names")
    return list(dict.fromkeys(names)) or there


def _result(name: str, measured: Measured) -> dict[str, Any]:
    result: dict[str, Any] = {"name": name, "value": _rounded(measured.value), "unit": FIGURES[name].unit}
    if measured.floor is not None:
        result["floor"] = _rounded(measured.floor)
        result["ratio"] = round(measured.value / measured.floor, 3)
    return result


def _rounded(value: float) -> float:
    """Three decimals where they mean something, none where they are noise."""
    return round(value, 3) if abs(value) < 1000 else round(value)
