"""Puts what ``puntual bench --json`` measured, read from standard input, into the table of docs/benchmarks.md."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from puntual.bench import FIGURES, Figure

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"


def table(measured: dict[str, Any]) -> str:
    """The machine in one sentence, and a row for each figure."""
    machine = measured["machine"]
    loop = "uvloop" if machine["uvloop"] else "asyncio"
    lines = [
        f"{machine['system']}, {machine['cores']} cores, Python {machine['python']}, {machine['database']},",
        f"{loop}; a durable write of one page takes {machine['fsync_ms']:.2f} ms (median).",
        "",
        "| figure | value | target | floor | ratio | what it is |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for result in measured["results"]:
        figure = FIGURES[result["name"]]
        value = f"{_number(result['value'])} {_short(figure.unit)}".strip()
        floor, ratio = _number(result.get("floor")), _number(result.get("ratio"))
        lines.append(f"| `{result['name']}` | {value} | {target(figure)} | {floor} | {ratio} | {figure.line} |")
    return "\n".join(lines)


def target(figure: Figure) -> str:
    """What it shall reach, in signs."""
    parts = [
        f"{sign} {_number(bound)}"
        for sign, bound in (("≥", figure.at_least), ("≤", figure.at_most))
        if bound is not None
    ]
    if figure.ratio is not None:
        parts.append(f"ratio ≥ {figure.ratio}")
    return ", ".join(parts)


def replaced(page: str, text: str) -> str:
    """The page with another table between its marks."""
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.2f}".rstrip("0").rstrip(".")


def _short(unit: str) -> str:
    return {"per second": "/s", "of drain": "", "ticks": "", "commits": ""}.get(unit, unit)


def main() -> int:
    """Reads, writes."""
    PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), table(json.load(sys.stdin))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
