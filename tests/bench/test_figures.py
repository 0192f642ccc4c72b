"""The figures that this release shall reach, at full size, on a quiet machine with two cores (``pytest -m bench``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from puntual.bench import FIGURES, run
from puntual.settings import Settings

TARGETS = [
    (name, bound)
    for name, figure in FIGURES.items()
    for bound in ("at_least", "at_most", "ratio")
    if getattr(figure, bound) is not None
]

pytestmark = [pytest.mark.bench, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Everything that has a target, measured once."""
    folder: Path = tmp_path_factory.mktemp("bench")
    settings = Settings(database_url=f"sqlite:///{folder}/puntual.db")
    names = list(dict.fromkeys(name for name, _ in TARGETS))
    measured = run(names, settings, runs=None, quick=False, report=lambda _event: None)
    return {result["name"]: result for result in measured}


@pytest.mark.parametrize(("name", "bound"), TARGETS)
def test_the_target_is_reached(name: str, bound: str, results: dict[str, dict[str, Any]]) -> None:
    """Rates are at least, latencies and memory at most what was promised; a ratio is that to the bare statements."""
    target, result = getattr(FIGURES[name], bound), results[name]
    if bound == "at_most":
        assert result["value"] <= target
    else:
        assert result["ratio" if bound == "ratio" else "value"] >= target
