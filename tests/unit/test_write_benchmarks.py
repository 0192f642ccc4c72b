from __future__ import annotations

from tools.write_benchmarks import BEGIN, END, PAGE, replaced, table

AT_LEAST, AT_MOST = "\N{GREATER-THAN OR EQUAL TO}", "\N{LESS-THAN OR EQUAL TO}"
MEASURED = {
    "machine": {
        "system": "Linux x86_64",
        "cores": 2,
        "python": "3.11.7",
        "database": "SQLite 3.40.1",
        "uvloop": True,
        "fsync_ms": 0.256,
    },
    "results": [
        {"name": "drain", "value": 33226, "unit": "per second", "floor": 67945, "ratio": 0.489},
        {"name": "schedules_missed", "value": 0, "unit": "ticks"},
    ],
}


def test_each_figure_is_a_row_with_its_target() -> None:
    """Value with its unit, target in signs, floor and ratio where there are any."""
    lines = table(MEASURED).splitlines()
    assert lines[:2] == [
        "Linux x86_64, 2 cores, Python 3.11.7, SQLite 3.40.1,",
        "uvloop; a durable write of one page takes 0.26 ms (median).",
    ]
    assert lines[-2].startswith(f"| `drain` | 33,226 /s | {AT_LEAST} 15,000, ratio {AT_LEAST} 0.3 | 67,945 | 0.49 |")
    assert lines[-1].startswith(f"| `schedules_missed` | 0 | {AT_MOST} 0 |  |  |")


def test_only_what_stands_between_the_marks_is_replaced() -> None:
    """What people wrote around the table stays."""
    begin, end = BEGIN.format(kind="sqlite"), END.format(kind="sqlite")
    page = f"above\n{begin}\nold\n{end}\nbelow\n"
    assert replaced(page, "new", "sqlite") == f"above\n{begin}\nnew\n{end}\nbelow\n"


def test_the_page_has_its_marks() -> None:
    """Without them the command that regenerates the table would fail."""
    text = PAGE.read_text(encoding="utf-8")
    for kind in ("sqlite", "postgres"):
        assert (text.count(BEGIN.format(kind=kind)), text.count(END.format(kind=kind))) == (1, 1)
