"""The classes of priority share a claim 8 : 4 : 2 : 1, so that none of them starves."""

from __future__ import annotations

from typing import Final

from puntual.model.run import Priority

_WEIGHTS = {Priority.CRITICAL: 8, Priority.HIGH: 4, Priority.NORMAL: 2, Priority.LOW: 1}


def _pattern() -> tuple[Priority, ...]:
    """The 15 slots of one round of shares, each class spread evenly over it."""
    places = [(turn / weight, -weight, priority) for priority, weight in _WEIGHTS.items() for turn in range(weight)]
    return tuple(priority for _, _, priority in sorted(places))


#: Whose turn it is, in a round of 15.
PATTERN: Final = _pattern()
