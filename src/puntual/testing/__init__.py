"""For those who test with puntual: an app driven by hand, and the suite that a store has to pass."""

from __future__ import annotations

from puntual.testing.manual import ManualApp

__all__ = ["ManualApp"]
