"""Runs registered functions: coroutines in the loop, plain functions in threads, killable ones in processes."""

from __future__ import annotations

from puntual.targets.function.target import FunctionTarget

__all__ = ["FunctionTarget"]
