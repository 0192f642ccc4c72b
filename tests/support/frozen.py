"""A database of each kind as a release left it, with rows of every kind, kept to be migrated by all that follow.

``python -m tests.support.frozen`` writes those of this release: while it is being made, and never after.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import tempfile
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

import asyncpg
import msgspec

from puntual.engine.clock import SystemClock
from puntual.model.attempt import ErrorInfo, OutcomeKind
from puntual.model.calendar import CalendarSpec
from puntual.model.fleet import Token
from puntual.model.outcome import Evidence
from puntual.model.policy import Backoff, OnLostLease, RetryPolicy, RunPolicy
from puntual.model.run import Priority, RunState
from puntual.model.schedule import Fate, FateReason, Overlap, Pause, Stretch
from puntual.store.calendars import CalendarWrite
from puntual.store.contract import Store
from puntual.store.migration import shipped
from puntual.store.postgres.migrate import LEDGER
from puntual.store.requests import Page, PlanWrite, QueueEdit, RunFilter, Selection, TickFilter
from puntual.store.sqlite import SqliteStore
from puntual.store.sqlite.connection import APPLICATION_ID
from puntual.testing.conformance.build import (
    DAY,
    LEASE,
    MINUTE,
    NOW,
    SECOND,
    add,
    after,
    cursor_at,
    deciding,
    end,
    fetch,
    hand_out,
    join,
    kill,
    lose,
    named,
    new_run,
    put,
    schedule,
    start,
    take,
    tick,
    uid,
    writing,
)
from puntual.timing.calendar import Calendar, CalendarDays
from tests.support.databases import database, opened
from tests.support.stored import stored

if TYPE_CHECKING:
    Line = asyncpg.Connection[asyncpg.Record]

RELEASED: Final = Path(__file__).parents[1] / "cases" / "released"
THIS: Final = RELEASED / version("puntual")
_CHANGELOG: Final = Path(__file__).parents[2] / "CHANGELOG.md"
_POLICY: Final = RunPolicy(
    retry=RetryPolicy(max_attempts=3, backoff=Backoff.LINEAR, delay_us=7 * SECOND, on=("5xx",), not_on=("501",)),
    timeout_us=None,
    on_lost_lease=OnLostLease.CANCEL,
)
#: The tables of PostgreSQL with the columns into which rows can be put.
TABLES: Final = """
SELECT c.table_name, string_agg(quote_ident(c.column_name), ', ' ORDER BY c.ordinal_position)
FROM information_schema.columns AS c JOIN pg_catalog.pg_class AS k ON k.oid = ('puntual.' || c.table_name)::regclass
WHERE c.table_schema = 'puntual' AND c.is_generated = 'NEVER' AND k.relkind IN ('r', 'p') AND NOT k.relispartition
GROUP BY c.table_name ORDER BY c.table_name
"""


async def fill(store: Store) -> None:
    """Makes rows of every kind."""
    await _lost(store)
    await _schedules(store)
    await _runs(store)
    await join(store, "leaving", "gone")
    await store.drain_worker("leaving")
    await store.end_worker("gone", now=NOW)
    await store.hold_upkeep("w1", lease_us=LEASE, now=NOW)
    await store.put_queue(QueueEdit(name="mail", paused=True, pause_reason="moving", concurrency=4))
    await store.pause_all(Pause(since=NOW, until=NOW + SECOND, reason="an upgrade"), now=NOW)
    await _calendars(store)
    await store.put_token(Token(id="t1", name="board", prefix="pt_ab", digest="0" * 64, scope="read", created_at=NOW))


async def work_with(store: Store) -> None:
    """All that `fill` made is read, rescued, claimed and planned, a day later."""
    later = NOW + DAY
    assert (await store.rescue(lose, ends_until=later, now=later)).runs == 2
    await join(store, "w2", now=later)
    claimed = await take(store, "w2", tasks=("task", "other"), now=later + MINUTE)
    assert {run.id for run in claimed} >= {uid(1), uid(2), uid(6)}
    listed = (await store.list_runs(RunFilter(), Page())).items
    assert {run.id for run in listed} >= {uid(number) for number in (1, 2, 3, 4, 6, 7, 8, 9)}
    assert {run.id for run in listed if run.state == RunState.DEAD} == {uid(4)}
    assert [one.name for one in await store.list_schedules()] == ["paused", "planned"]
    fates = {one.fate for one in (await store.list_ticks(TickFilter(), Page())).items}
    assert fates == {Fate.RAN, Fate.PLANNED, Fate.MISSED, Fate.SKIPPED}
    seen: list[str] = []
    await store.plan(deciding(lambda one: seen.append(one.name)), now=later)
    assert set(seen) == {"paused", "planned"}
    (closed,) = await store.list_calendars()
    assert (closed.name, closed.version, closed.days.dates, closed.trouble) == (
        "closed",
        3,
        (20_811, 20_812),
        "It is away.",
    )


async def _lost(store: Store) -> None:
    await join(store, "lost")
    await add(store, new_run(1, task="other"))
    (lost,) = await take(store, "lost", tasks=("other",))
    await store.rescue(lose, ends_until=NOW + 2 * LEASE, now=NOW + 2 * LEASE)
    assert (await fetch(store, lost.id)).lost == 1


async def _runs(store: Store) -> None:
    (tried,) = await start(store, new_run(2, policy=_POLICY))
    error = ErrorInfo("HttpError", "503", trace="a trace")
    await store.settle(
        [after(tried, OutcomeKind.FAILED, error=error, status_code=503, timings={"total": 1.5})], now=NOW
    )
    (done,) = await start(store, new_run(3, tags=("a", "b")))
    await end(store, done, result='{"rows": 7}', evidence=Evidence(body=b"\x00yes", headers=(("A", "b"),), truncated=3))
    dead, discarded = await kill(store, new_run(4, policy=_POLICY, unique_key="k"), new_run(5))
    await store.discard(RunFilter(ids=(discarded.id,)), now=NOW)
    assert dead.state == "dead"
    await start(store, new_run(6))
    (asked,) = await start(store, new_run(7))
    await add(store, new_run(8))
    await store.cancel([asked.id, uid(8)], now=NOW)
    changes = {"queue": "mail", "priority": Priority.LOW, "unique_key": "once", "args": '{"to": "é"}', "tags": ("t",)}
    await add(store, new_run(9, policy=_POLICY, due_at=NOW + SECOND, **changes))


async def _calendars(store: Store) -> None:
    spec = CalendarSpec(
        dates=("2026-12-24..2026-12-25",), weekdays=(0,), country="CO", ical="https://example.com/a.ics"
    )
    days = CalendarDays(name="closed", version=3, dates=(20_811, 20_812), weekdays=(0,), until=24_471)
    closed = Calendar(
        spec=spec, days=days, owner="shop.yaml", updated_at=NOW, refreshed_at=NOW - SECOND, trouble="It is away."
    )
    written = [CalendarWrite(name="closed", calendar=closed)]
    await store.change_schedules(Selection(names=()), writing(), calendars=written, now=NOW)


async def _schedules(store: Store) -> None:
    await join(store)
    planned = await hand_out(store, schedule("planned"), 3)
    for run in (await take(store, now=tick(2)))[-2:]:
        await end(store, run, now=tick(2))
    missed = Stretch(4, tick(4), tick(9), 6, at_least=True, fate=Fate.MISSED, reason=FateReason.DOWN)
    still = Stretch(10, tick(10), tick(11), 2, at_least=False, fate=Fate.SKIPPED, reason=FateReason.OVERLAP)
    cursor = cursor_at(11, stretch=still, seen_at=tick(11), caught_up=2, trouble="The zone is unknown.")
    passed = PlanWrite(
        schedule_id=planned.id,
        revision=planned.revision,
        was_next_tick_at=planned.cursor.next_tick_at,
        cursor=cursor,
        stretches=(missed,),
    )
    await store.plan(deciding(lambda one: passed if one.id == planned.id else None), now=tick(11))
    assert (await named(store, "planned")).cursor.stretch == still
    paused = schedule("paused", pause=Pause(since=NOW, reason="by Ana"))
    changes = {"owner": "shop.yaml", "overlap": Overlap.BUFFER_ALL, "tags": ("x",), "priority": Priority.HIGH}
    await put(store, msgspec.structs.replace(paused, spec=msgspec.structs.replace(paused.spec, **changes)))


def write_sqlite() -> str:
    """The whole of a file, as SQL."""
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/puntual.db"
        asyncio.run(_fill_file(file))
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("UPDATE schema_migrations SET applied_at = ?", (NOW,))
            return "\n".join((f"PRAGMA application_id = {APPLICATION_ID};", *connection.iterdump(), ""))


async def _fill_file(file: str) -> None:
    store = SqliteStore(file, clock=SystemClock(), inline=True)
    await store.open()
    await fill(store)
    await store.close()


async def write_postgres() -> str:
    """The migrations as they are, and the rows that were made on them, as SQL."""
    async with database() as url:
        async with opened(url) as store:
            await fill(store)
        line = await asyncpg.connect(url)
        try:
            await line.execute("UPDATE puntual.schema_migrations SET applied_at = $1", NOW)
            rows = [await _rows(line, table, columns) for table, columns in await line.fetch(TABLES)]
        finally:
            await line.close()
    made = ("CREATE SCHEMA puntual;\n", f"{LEDGER};\n", *(step.text for step in shipped("postgres")))
    return "".join((*made, *rows))


async def _rows(line: Line, table: str, columns: str) -> str:
    """One INSERT for all rows of a table, one row a line, in the order of their texts."""
    query = f"SELECT row_to_json(r)::text FROM (SELECT {columns} FROM puntual.{table}) AS r"  # noqa: S608 - our names
    found = sorted([row[0] for row in await line.fetch(query)])
    values = ",\n".join(found)
    return (
        f"INSERT INTO puntual.{table} ({columns})\nSELECT {columns} FROM "
        f"json_populate_recordset(NULL::puntual.{table}, $rows$[\n{values}\n]$rows$);\n"
    )


def main() -> None:
    """Writes what this release leaves, unless it is out: then that stays as it was left."""
    if f"## [{THIS.name}]" in _CHANGELOG.read_text(encoding="utf-8"):
        sys.exit(f"{THIS.name} stands in CHANGELOG.md as released: what it left is never written anew.")
    THIS.mkdir(parents=True, exist_ok=True)
    (THIS / "stored.json").write_bytes(msgspec.json.format(msgspec.json.encode(stored()), indent=2) + b"\n")
    (THIS / "sqlite.dump").write_text(write_sqlite())
    (THIS / "postgres.dump").write_text(asyncio.run(write_postgres()))


if __name__ == "__main__":
    main()
