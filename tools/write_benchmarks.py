"""Puts what ``puntual bench --json`` measured, read from standard input, into the table of docs/benchmarks.md."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from puntual.bench import FIGURES, Target

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- {kind}: begin -->", "<!-- {kind}: end -->"


def kind_of(measured: dict[str, Any]) -> str:
    """Of the database that was measured."""
    return "sqlite" if measured["machine"]["database"].startswith("SQLite") else "postgres"


def table(measured: dict[str, Any]) -> str:
    """The machine in one sentence, and a row for each figure."""
    kind, machine = kind_of(measured), measured["machine"]
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
        lines.append(
            f"| `{result['name']}` | {value} | {target(figure.target(kind))} | {floor} | {ratio} | {figure.line} |"
        )
    return "\n".join(lines)


def target(target: Target) -> str:
    """What it shall reach, in signs."""
    parts = [
        f"{sign} {_number(bound)}"
        for sign, bound in (("≥", target.at_least), ("≤", target.at_most))
        if bound is not None
    ]
    if target.ratio is not None:
        parts.append(f"ratio ≥ {target.ratio}")
    return ", ".join(parts)


def replaced(page: str, text: str, kind: str) -> str:
    """The page with another table between the marks of that kind of database."""
    begin, end = BEGIN.format(kind=kind), END.format(kind=kind)
    before, rest = page.split(begin)
    after = rest.split(end)[1]
    return f"{before}{begin}\n{text}\n{end}{after}"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.2f}".rstrip("0").rstrip(".")


def _short(unit: str) -> str:
    return {"per second": "/s", "us": "µs", "ms": "ms", "s": "s", "MB": "MB"}.get(unit, "")


def main() -> int:
    """Reads, writes."""
    measured = json.load(sys.stdin)
    page = replaced(PAGE.read_text(encoding="utf-8"), table(measured), kind_of(measured))
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
