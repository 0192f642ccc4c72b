"""What only the next release knows of a row is kept by this one, whatever it does with the row meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec

from puntual.model.attempt import OutcomeKind
from puntual.model.policy import RunPolicy
from puntual.model.schedule import Pause
from puntual.store.contract import Store
from puntual.store.requests import PlanView, RunFilter, ScheduleWrite, Selection
from puntual.testing.conformance.build import (
    MINUTE,
    NOW,
    deciding,
    end,
    named,
    new_run,
    plan_to,
    put,
    schedule,
    start,
    take,
    uid,
    writing,
)

#: Does a statement past the store, with our tables in the path; gives the one column of its rows.
Ask = Callable[[str], Awaitable[list[str]]]
_MORE: Final = {"more": {"of": "the next release"}}


async def _add(ask: Ask, table: str, column: str) -> None:
    """Writes a field more into the JSON of each row."""
    for text in await ask(f"SELECT {column} FROM {table}"):  # noqa: S608 - names of this file's own
        more = msgspec.json.encode(msgspec.json.decode(text) | _MORE).decode()
        await ask(f"UPDATE {table} SET {column} = '{more}' WHERE {column} = '{text}' RETURNING {column}")  # noqa: S608 - as above


async def _has(ask: Ask, table: str, column: str) -> bool:
    (text,) = await ask(f"SELECT {column} FROM {table}")  # noqa: S608 - names of this file's own
    return "more" in msgspec.json.decode(text)


class StaysWhole:
    """One test for each thing that happens to a row that the next release has written; each store asks in its way."""

    async def test_a_schedule_that_is_planned_and_paused(self, store: Store, ask: Ask) -> None:
        """Its spec stays as it was written, and so do those beside it."""
        await put(store, schedule("a"), schedule("b"))
        await _add(ask, "schedules", "spec")
        before = await ask("SELECT spec FROM schedules ORDER BY name")
        await store.plan(deciding(lambda one: plan_to(one, 2)), now=NOW)
        await store.change_schedules(Selection(everything=True), _pause, now=NOW)
        assert [(await named(store, name)).pause for name in "ab"] == [Pause(since=NOW)] * 2
        assert await ask("SELECT spec FROM schedules ORDER BY name") == before

    async def test_a_schedule_that_is_written_anew_is_what_was_written(self, store: Store, ask: Ask) -> None:
        """Whoever writes it says all of it."""
        await put(store, schedule("a"))
        await _add(ask, "schedules", "spec")
        old = await named(store, "a")
        spec = msgspec.structs.replace(old.spec, description="other")
        write = ScheduleWrite(name="a", schedule=msgspec.structs.replace(old, spec=spec))
        await store.change_schedules(Selection(names=("a",)), writing(write), now=NOW)
        assert (await named(store, "a")).spec == spec
        assert not await _has(ask, "schedules", "spec")

    async def test_a_run_that_is_tried_again_and_dead_and_replayed(self, store: Store, ask: Ask) -> None:
        """Its policy goes with it, there and back."""
        (run,) = await start(store, new_run(1, max_attempts=2, policy=RunPolicy(timeout_us=None)))
        await _add(ask, "runs", "policy")
        await end(store, run, OutcomeKind.FAILED)
        assert await _has(ask, "runs", "policy")
        (run,) = await take(store, now=NOW + MINUTE)
        await end(store, run, OutcomeKind.FAILED, now=NOW + MINUTE)
        assert await _has(ask, "run_history", "policy")
        assert await store.replay(RunFilter(), now=NOW + MINUTE) == {uid(1): "replayed"}
        assert await _has(ask, "runs", "policy")


def _pause(views: Sequence[PlanView], _pause: Pause | None, now: int) -> list[ScheduleWrite]:
    return [
        ScheduleWrite(name=view.schedule.name, schedule=msgspec.structs.replace(view.schedule, pause=Pause(since=now)))
        for view in views
    ]
