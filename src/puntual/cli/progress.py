"""A bar for work that takes long, on standard error, where somebody is looking."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from puntual.cli.session import Session


@contextmanager
def progress(session: Session, label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Gives a function that is told how much is done in all; without a terminal it shows nothing.

    Args:
        label: what is being done.
        total: how much there is to do; None when that is not known.
    """
    if session.as_json or not sys.stderr.isatty():
        yield lambda _done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.update(task, completed=done)
