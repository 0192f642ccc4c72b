"""Instants become RFC 3339 in UTC, and durations milliseconds."""

from __future__ import annotations

from puntual.model.instant import MILLISECOND, format_instant


def time(instant: int | None) -> str | None:
    """The instant as text; None stays None."""
    return None if instant is None else format_instant(instant)


def ms(duration_us: int | None) -> int | float | None:
    """Milliseconds: a whole number, or with a fraction where there is one."""
    if duration_us is None:
        return None
    return duration_us / MILLISECOND if duration_us % MILLISECOND else duration_us // MILLISECOND
