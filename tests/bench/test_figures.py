"""The figures that this release shall reach, at full size, on a quiet machine with two cores (``pytest -m bench``)."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cache
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from puntual.bench import FIGURES, run
from puntual.settings import Settings
from tests.support.postgres import running_server

KINDS = ("sqlite", "postgres")
TARGETS = [
    (kind, name, bound)
    for kind in KINDS
    for name, figure in FIGURES.items()
    for bound in ("at_least", "at_most", "ratio")
    if getattr(figure.target(kind), bound) is not None
]
#: A server that shares the machine with what it is measured with.
_SERVER = {"shared_buffers": "1GB", "max_wal_size": "4GB"}

pytestmark = [pytest.mark.bench, pytest.mark.timeout(3600)]


@cache
def results(kind: str) -> dict[str, dict[str, Any]]:
    """Everything that has a target on that kind of database, measured once."""
    names = list(dict.fromkeys(name for of, name, _ in TARGETS if of == kind))
    with ExitStack() as stack:
        if kind == "sqlite":
            url = f"sqlite:///{stack.enter_context(TemporaryDirectory())}/puntual.db"
        else:
            url = stack.enter_context(running_server(durable=True, settings=_SERVER)).url()
        settings = Settings(database_url=url)
        measured = run(names, settings, runs=None, quick=False, report=lambda _event: None)
    return {result["name"]: result for result in measured}


@pytest.mark.parametrize(("kind", "name", "bound"), TARGETS)
def test_the_target_is_reached(kind: str, name: str, bound: str) -> None:
    """Rates are at least, latencies and memory at most what was promised; a ratio is that to the bare statements."""
    target, result = getattr(FIGURES[name].target(kind), bound), results(kind)[name]
    if bound == "at_most":
        assert result["value"] <= target
    else:
        assert result["ratio" if bound == "ratio" else "value"] >= target
