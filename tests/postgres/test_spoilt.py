"""A hand in the database spoils no more than one row: what would stop a statement about many is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import asyncpg
import pytest

from puntual.model.schedule import Pause
from puntual.store.calendars import CalendarUse
from puntual.store.contract import Store
from puntual.store.requests import Page, RunFilter, TickFilter
from puntual.testing.conformance.build import NOW, fetch, join, kill, new_run, put, schedule, start, uid
from puntual.testing.conformance.calendars import calendar, naming

if TYPE_CHECKING:
    from asyncpg import Record

    Line = asyncpg.Connection[Record]


@pytest.fixture
async def hand(store: Store, url: str) -> AsyncIterator[Line]:
    """A hand in a database in which there is one row of each kind."""
    await put(store, schedule())
    await kill(store, new_run(1))
    await start(store, new_run(2))
    await store.pause_all(Pause(since=NOW, until=NOW), now=NOW)
    made = await asyncpg.connect(url)
    try:
        yield made
    finally:
        await made.close()


class TestRefused:
    """What is no JSON, or none that the statements can read, is not written."""

    @pytest.mark.parametrize("text", ["", "{", "'x'", '["\\u0000"]', '{"x": "\\ud800"}'])
    @pytest.mark.parametrize("column", ["tags", "policy", "attempts"])
    @pytest.mark.parametrize("table", ["runs", "run_history"])
    async def test_of_a_run(self, hand: Line, table: str, column: str, text: str) -> None:
        """Listed, rescued, counted and replayed by their hundreds."""
        await _refused(hand, table, column, text)

    @pytest.mark.parametrize(
        ("table", "column", "text"),
        [
            ("runs", "tags", "7"),
            ("runs", "tags", '{"a": "b"}'),
            ("schedules", "spec", "{"),
            ("schedules", "spec", '{"description": "\\u0000"}'),
            ("schedules", "spec", "[]"),
            ("schedules", "spec", '{"tags": "one"}'),
            ("schedules", "pause", "never"),
            ("schedules", "stretch", "["),
            ("schedules", "stretch", '[1, "soon", 2, 3, false, "missed", null]'),
            ("schedules", "stretch", "[1, 2]"),
            ("workers", "roles", "worker"),
            ("workers", "queues", "a,b"),
            ("workers", "tasks", ""),
            ("pause_of_all", "pause", "null"),
            ("pause_of_all", "pause", '{"since": 1, "until": "noon"}'),
        ],
    )
    async def test_of_the_rest(self, hand: Line, table: str, column: str, text: str) -> None:
        """Each of these is read by every plan, claim or list."""
        await _refused(hand, table, column, text)


async def _refused(hand: Line, table: str, column: str, text: str) -> None:
    statement = f"UPDATE puntual.{table} SET {column} = $1"  # noqa: S608 - names of this file's own
    with pytest.raises((asyncpg.DataError, asyncpg.CheckViolationError)):
        await hand.execute(statement, text)


class TestOthersGoOn:
    """What is JSON all the same, and nonsense, stops its own row at most."""

    async def test_a_replay_of_many_takes_the_usual_number_where_a_policy_has_none(
        self, store: Store, hand: Line
    ) -> None:
        """The run is put back as the others are; a claim finds out that it cannot be worked on."""
        await kill(store, new_run(3))
        spoil = (
            """UPDATE puntual.run_history SET policy = '{"retry": {"max_attempts": "x"}}' WHERE id = $1::text::uuid"""
        )
        await hand.execute(spoil, uid(1))
        assert await store.replay(RunFilter(), now=NOW) == {uid(1): "replayed", uid(3): "replayed"}
        assert (await fetch(store, uid(3))).max_attempts == (await fetch(store, uid(1))).max_attempts

    async def test_lists_show_the_others(self, store: Store, hand: Line) -> None:
        """By tags too, and schedules and ticks with theirs."""
        await join(store, "w2")
        await hand.execute("UPDATE puntual.runs SET tags = '[\"a\", {}, 7]', attempts = '[7]'")
        await hand.execute("UPDATE puntual.schedules SET stretch = '[1, 2, 3, 4, false, \"odd\", 5]'")
        await hand.execute("UPDATE puntual.workers SET tasks = '7' WHERE id = 'w1'")
        assert [run.id for run in (await store.list_runs(RunFilter(), Page())).items] == [uid(2), uid(1)]
        assert (await store.list_runs(RunFilter(tags=("x",)), Page())).items == ()
        assert [one.spec.name for one in await store.list_schedules(tags=("x",))] == []
        assert [one.spec.name for one in await store.list_schedules()] == ["nightly"]
        assert (await store.list_ticks(TickFilter(), Page())).items == ()
        assert [worker.id for worker in await store.list_workers()] == ["w2"]

    @pytest.mark.parametrize("known", ["7", '["x", {"name": "co", "version": "new"}]'])
    async def test_changes_of_calendars_find_the_others(self, store: Store, hand: Line, known: str) -> None:
        """A schedule whose own copy of a calendar is none names none."""
        await put(store, naming("good", calendar()))
        spoil = (
            "UPDATE puntual.schedules SET spec = jsonb_set(spec::jsonb, '{timetable}', to_jsonb($1::text))::text"
            " WHERE name = 'nightly'"
        )
        await hand.execute(spoil, f'{{"closures": {{"calendars": {known}}}}}')
        assert await store.calendar_uses(["co"]) == [CalendarUse("good", "co", 1)]
