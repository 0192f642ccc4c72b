"""What must hold once a healed world has come to rest: all that was accepted is over, and the store tells the truth.

The watch holds each operation to the promises while it happens; here is what only the end can show.
"""

from __future__ import annotations

from collections.abc import Iterable

from puntual.model.run import COMMAND_TASK, LIVE_STATES, Run, RunState
from puntual.simulate.database import Database
from puntual.simulate.record import Effect, Record
from puntual.simulate.watch import Watch
from puntual.store.requests import Page, RunFilter

_PAGE = Page(limit=1000)


def live_runs(database: Database) -> tuple[Run, ...]:
    """The runs that are not over, at most a thousand."""
    return database.do(lambda store: store.list_runs(RunFilter(states=LIVE_STATES), _PAGE)).items


def check_rest(database: Database, watch: Watch, record: Record) -> None:
    """Holds the store to the record of a world at rest."""
    runs = {run.id: run for run in all_runs(database)}
    for run in runs.values():
        _ended(run, record)
    for run_id in sorted(watch.known.accepted.difference(runs)):
        record.broken("G2", f"{run_id} was accepted and is nowhere")
    for run_id, claim in watch.known.held.items():
        record.broken("G4", f"{run_id} is still held by {claim}")
    for effect in record.effects:
        if effect.run_id in runs and (effect.run_id, effect.attempt, effect.worker) not in record.lost:
            _made(effect, runs[effect.run_id], record)
    _once(record, runs)


def all_runs(database: Database) -> Iterable[Run]:
    """Every run, live or over."""
    page = database.do(lambda store: store.list_runs(RunFilter(discarded=True), _PAGE))
    yield from page.items
    while page.next is not None:
        after = Page(limit=_PAGE.limit, after=page.next)
        page = database.do(lambda store: store.list_runs(RunFilter(discarded=True), after))  # noqa: B023 - done at once
        yield from page.items


def _ended(run: Run, record: Record) -> None:
    if run.state in LIVE_STATES:
        record.broken("G2", f"{run.id} ({run.task}) is {run.state} in a world at rest, attempt {run.attempt}")
    if run.charged > run.max_attempts:
        record.broken("G2", f"{run.id} was charged {run.charged} of {run.max_attempts} attempts")
    if run.state is RunState.SUCCEEDED and not record.succeeded(run.id, run.attempt):
        record.broken("G3", f"{run.id} succeeded with attempt {run.attempt}, whose handler never said so")
    if run.state is RunState.DEAD and not run.attempts:
        record.broken("G2", f"{run.id} is dead without a word why")


def _made(effect: Effect, run: Run, record: Record) -> None:
    if effect.attempt > run.attempt:
        record.broken("G3", f"attempt {effect.attempt} of {run.id} was made, and the store knows of {run.attempt}")


def _once(record: Record, runs: dict[str, Run]) -> None:
    """A command that may run once was never started twice, unless somebody asked for it."""
    starts: dict[str, int] = {}
    lost = {run_id for run_id, _, _ in record.lost}
    for effect in record.effects:
        if effect.task == COMMAND_TASK and effect.run_id not in record.replayed:
            starts[effect.run_id] = starts.get(effect.run_id, 0) + 1
    for run_id, count in starts.items():
        run = runs.get(run_id)
        if count > 1 and run is not None and run.max_attempts == 1 and run_id not in lost:
            record.broken("G2", f"{run_id} may be started once and was {count} times")
