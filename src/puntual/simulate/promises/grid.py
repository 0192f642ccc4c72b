"""The ticks of the rules that scenarios draw, found anew: not a line is shared with what plans them."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, Final

from puntual.model.instant import MINUTE
from puntual.model.schedule import ScheduleSpec

#: Minutes between the ticks of each cron expression that is drawn; in UTC the grid of both begins with 1970.
_CRON: Final = {"* * * * *": 1, "*/2 * * * *": 2}
#: No drawn rule that goes on has a longer gap.
GAP: Final = 2 * MINUTE


class Grid:
    """The ticks of one schedule's rule, and when the run of each is due."""

    def __init__(self, spec: ScheduleSpec) -> None:
        timetable: dict[str, Any] = json.loads(spec.timetable)
        rule: dict[str, Any] = timetable["rule"]
        self._blackouts: list[dict[str, Any]] = timetable.get("closures", {}).get("blackouts", [])
        self._rules: list[dict[str, Any]] = rule["rules"] if rule["type"] == "any" else [rule]
        self._name = spec.name
        self._spread = _hashed(spec.name, spec.spread_us)
        self._jitter = spec.jitter_us

    def between(self, first: int, last: int) -> Sequence[int]:
        """The ticks from one instant to another, both included."""
        several = [_grid(rule, first, last) for rule in self._rules]
        return several[0] if len(several) == 1 else sorted(set().union(*several))

    def shut(self, tick: int) -> bool:
        """Whether a blackout keeps a tick from making a run."""
        return any(
            (tick - each["rule"]["anchor"]) % each["rule"]["period_us"] < each["for_us"] for each in self._blackouts
        )

    def due(self, tick: int) -> int:
        """The tick, moved by its stable spread and jitter; the latter never reaches the next tick."""
        if not self._jitter:
            return tick + self._spread
        following = self.between(tick + 1, tick + GAP)
        room = min(self._jitter, following[0] - tick) if following else self._jitter
        return tick + self._spread + _hashed(f"{self._name}\0{tick}", room)

    def due_by(self, ticks: Sequence[int], instant: int) -> int:
        """How many of these ticks, which are in order, are due by then."""
        return bisect_right(ticks, instant, key=self.due)


def _grid(rule: dict[str, Any], first: int, last: int) -> range | list[int]:
    match rule["type"]:
        case "once":
            return [rule["instant"]] if first <= rule["instant"] <= last else []
        case "cron":
            return _steps(0, _CRON[rule["expr"]] * MINUTE, first, last)
        case "interval":
            return _steps(rule["anchor"], rule["period_us"], first, last)
    raise ValueError(f"Scenarios draw no rule of the type {rule['type']}.")


def _steps(anchor: int, period: int, first: int, last: int) -> range:
    return range(first + (anchor - first) % period, last + 1, period)


def _hashed(key: str, bound: int) -> int:
    """A number below the bound, by SHA-256: the same on every machine and in every release."""
    return int(hashlib.sha256(key.encode()).hexdigest()[:32], 16) % bound if bound else 0
