"""``puntual bench``: measures this machine, each throughput beside a floor that was taken in the same run."""

from __future__ import annotations

from puntual.bench.figures import FIGURES, Figure
from puntual.bench.runner import run

__all__ = ["FIGURES", "Figure", "run"]
