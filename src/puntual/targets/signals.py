"""What to call the signal that ended a process."""

from __future__ import annotations

import signal


def signal_name(number: int) -> str:
    """Its name, or its number where it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
