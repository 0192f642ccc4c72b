"""Runs benchmarks one after another, each family in a fresh folder, and gives what they measured in the order asked."""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from puntual.bench.context import Bench, Family, Measured, Report
from puntual.bench.figures import FIGURES
from puntual.bench.sqlite.home import SqliteHome
from puntual.engine.process import run_loop
from puntual.model.errors import InvalidError
from puntual.settings import Settings


def run(
    names: Sequence[str], settings: Settings, *, runs: int | None, quick: bool, report: Report
) -> list[dict[str, Any]]:
    """Measures, on databases of its own in the folder of ``DATABASE_URL``; the database named there is not touched.

    Args:
        names: which figures; none means all.
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
    wanted = _known(names)
    home = Path(settings.database_path).absolute().parent
    if not home.is_dir():
        raise InvalidError(f"There is no folder {home} to measure in: make it, or name another.", field="DATABASE_URL")
    with tempfile.TemporaryDirectory(prefix="puntual-bench-", dir=home) as folder:
        report({"event": "machine", **SqliteHome(Path(folder)).facts()})
        return _measure(wanted, Path(folder), runs=runs, quick=quick, report=report)


def _measure(wanted: list[str], home: Path, *, runs: int | None, quick: bool, report: Report) -> list[dict[str, Any]]:
    found: dict[Family, Mapping[str, Measured]] = {}
    results = []
    for name in wanted:
        family = FIGURES[name].family
        if family not in found:
            report({"event": "started", "name": name})
            with tempfile.TemporaryDirectory(dir=home) as folder:
                bench = Bench(SqliteHome(Path(folder)), Path(folder), runs=runs, quick=quick, report=report)
                found[family] = run_loop(family(bench))
            gc.collect()
        result = _result(name, found[family][name])
        report({"event": "result", **result})
        results.append(result)
    return results


def _known(names: Sequence[str]) -> list[str]:
    """The names asked for, each once.

    Raises:
        InvalidError: there is no such figure.
    """
    for name in names:
        if name not in FIGURES:
            near = get_close_matches(name, FIGURES, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(FIGURES)}."
            raise InvalidError(f"There is no benchmark {name[:40]!r} in this release: {hint}", field="names")
    return list(dict.fromkeys(names)) or list(FIGURES)


def _result(name: str, measured: Measured) -> dict[str, Any]:
    result: dict[str, Any] = {"name": name, "value": _rounded(measured.value), "unit": FIGURES[name].unit}
    if measured.floor is not None:
        result["floor"] = _rounded(measured.floor)
        result["ratio"] = round(measured.value / measured.floor, 3)
    return result


def _rounded(value: float) -> float:
    """Three decimals where they mean something, none where they are noise."""
    return round(value, 3) if abs(value) < 1000 else round(value)
