"""The part of a story that matters to a problem: what was done to the world, what became of its run, and the end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from puntual.simulate.record import Line, Problem, told
from puntual.simulate.watch import short

_MARKED: Final = 40
_BEFORE: Final = 20
_AFTER: Final = 3
#: A gap that is no longer than the line that would tell of it is none.
_GAP: Final = 2
_RUN: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def excerpt(lines: Sequence[Line], problem: Problem) -> list[str]:
    """At most 60 and a few lines, in their order; where others were left out, how many.

    Args:
        lines: the whole story.
        problem: what the story is told for.
    """
    end = next((place for place, line in enumerate(lines) if line[3] == problem.what), len(lines) - 1)
    names = [name for run_id in _RUN.findall(problem.what) for name in (run_id, short(run_id))]
    marked = [place for place, line in enumerate(lines[:end]) if _matters(line, names)]
    kept = {*marked[-_MARKED:], *range(max(end - _BEFORE, 0), min(end + _AFTER + 1, len(lines)))}
    found: list[str] = []
    last = -1
    for place in sorted(kept):
        gap = place - last - 1
        if gap > _GAP:
            found.append(f"{'...':>10}  {gap:,} lines")
            last = place - 1
        found += told(lines[last + 1 : place + 1])
        last = place
    return found


def _matters(line: Line, names: Sequence[str]) -> bool:
    _, who, what, detail = line
    return not who or what[:1] in ("!", ">") or any(name in detail for name in names)
