"""The release after this one, made from a copy of this code: beside it, this code is the release before."""

from __future__ import annotations

import ast
import importlib.metadata
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import puntual
from puntual.store.migration import Migration, shipped
from tests.support.served import Served

THIS: Final = importlib.metadata.version("puntual")
NEXT: Final = "9.9.9"
CODE: Final = Path(puntual.__file__).parents[1]
#: What the next release adds to each database: columns that may be null or have a default, and an index.
ADDED: Final = {
    "sqlite": """
ALTER TABLE runs ADD COLUMN note TEXT;
ALTER TABLE runs ADD COLUMN weight INTEGER NOT NULL DEFAULT 1;
ALTER TABLE run_history ADD COLUMN note TEXT;
ALTER TABLE schedules ADD COLUMN note TEXT;
ALTER TABLE tick_stretches ADD COLUMN note TEXT;
ALTER TABLE workers ADD COLUMN note TEXT;
CREATE INDEX runs_note ON runs (note) WHERE note IS NOT NULL;
""",
    "postgres": """
ALTER TABLE puntual.runs ADD COLUMN note text, ADD COLUMN weight integer NOT NULL DEFAULT 1;
ALTER TABLE puntual.run_history ADD COLUMN note text;
ALTER TABLE puntual.schedules ADD COLUMN note text;
ALTER TABLE puntual.tick_stretches ADD COLUMN note text;
ALTER TABLE puntual.workers ADD COLUMN note text;
CREATE INDEX runs_note ON puntual.runs (note) WHERE note IS NOT NULL;
""",
}
#: The shapes that are kept as JSON, and the files in which they are: the next release keeps one field more of each.
KEPT: Final = {
    "model/policy.py": ("RetryPolicy", "RunPolicy"),
    "model/attempt.py": ("ErrorInfo", "Attempt"),
    "model/schedule.py": ("Target", "Stretch", "ScheduleSpec", "Pause"),
    "timing/rule.py": ("CronRule", "IntervalRule", "OnceRule", "AnyRule", "Timetable"),
}
#: A default that is made anew is no default that could be left out, so the next release always writes it.
_FIELD: Final = '    note: str = msgspec.field(default_factory=lambda: "of the next release")'


def newest(store: str) -> int:
    """The schema of this release."""
    return shipped(store)[-1].version


def next_step(store: str) -> Migration:
    """The migration of the next release: it only adds."""
    known = newest(store)
    return Migration(known + 1, f"{known + 1:04}_next_release", f"-- oldest: {known}\n{ADDED[store]}")


def next_release(folder: Path) -> Path:
    """Makes the code of the next release in this folder, and gives what PYTHONPATH must name to use it."""
    package = folder / "puntual"
    shutil.copytree(CODE / "puntual", package, ignore=shutil.ignore_patterns("__pycache__"))
    for store in ADDED:
        step = next_step(store)
        (package / "store" / store / "migrations" / f"{step.name}.sql").write_text(step.text)
    for name, classes in KEPT.items():
        path = package / name
        for one in classes:
            path.write_text(_with_one_more(path.read_text(encoding="utf-8"), one), encoding="utf-8")
    metadata = folder / f"puntual-{NEXT}.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(f"Metadata-Version: 2.1\nName: puntual\nVersion: {NEXT}\n")
    return folder


def _with_one_more(text: str, name: str) -> str:
    """The module with a field more at the end of a class."""
    (found,) = (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef) and node.name == name)
    last = [node.end_lineno for node in found.body if isinstance(node, ast.AnnAssign)][-1]
    lines = text.splitlines()
    lines.insert(last or 0, _FIELD)
    return "\n".join(lines) + "\n"


class Released(Served):
    """A process of one release.

    Args:
        folder: where it works.
        code: what PYTHONPATH must name for its release.
        settings: as for ``Served``.
    """

    def __init__(self, folder: Path, code: Path, settings: Mapping[str, str]) -> None:
        super().__init__(folder, **settings)
        self.release = THIS if code == CODE else NEXT
        self.log = folder / f"{self.release}.log"
        self._path = f"{code}:{folder}"

    @property
    def told(self) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-4000:]

    @property
    def environment(self) -> dict[str, str]:
        """As of ``Served``, with the code of this release."""
        return {**super().environment, "PYTHONPATH": self._path}
