"""What SQLite promises of schedules beyond the contract: history is looked at by each plan."""

from __future__ import annotations

from puntual.model.run import RunState
from puntual.store.requests import Page, RunFilter
from puntual.store.sqlite import SqliteStore
from puntual.testing.conformance.build import add, end, hand_out, join, schedule, take, tick, tick_run


async def test_a_tick_that_ran_already_does_not_run_again(store: SqliteStore) -> None:
    """A tick in history is not inserted, as with a cursor that was set back by hand."""
    owner = schedule()
    await join(store)
    await add(store, tick_run(owner, 1))
    (run,) = await take(store, now=tick(1))
    await end(store, run, now=tick(1))
    await hand_out(store, owner, 1, now=tick(1))
    (run,) = (await store.list_runs(RunFilter(), Page())).items
    assert run.state is RunState.SUCCEEDED
