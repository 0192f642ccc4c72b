"""Runs programs that the operator allowed, each in a process group of its own that never outlives its worker."""

from __future__ import annotations

from puntual.model.command import check_command
from puntual.targets.command.target import CommandSettings, CommandTarget

__all__ = ["CommandSettings", "CommandTarget", "check_command"]
