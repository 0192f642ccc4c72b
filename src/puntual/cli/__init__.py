"""The command line: one module per group of commands, each imported only when its command is asked for."""

from __future__ import annotations

from puntual.cli.root import main

__all__ = ["main"]
