"""``puntual bench``: measures this machine, each throughput beside a floor that was taken in the same run."""

from __future__ import annotations

from puntual.bench.figures import FIGURES, Figure, Target
from puntual.bench.runner import kind_of, run, there_are

__all__ = ["FIGURES", "Figure", "Target", "kind_of", "run", "there_are"]
