"""No statement grows with the history or the backlog: each is read through an index, or is bounded by its own input."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from importlib.resources import files

import pytest

from puntual.engine.clock import SystemClock
from puntual.model.run import RunState
from puntual.model.schedule import Fate
from puntual.store.requests import Page, Retention, RunEdit, RunFilter, TickFilter
from puntual.store.rows.codec import SqlValue
from puntual.store.sqlite import SqliteStore, control, listing, ticks
from puntual.store.sqlite.statements import sql
from puntual.store.sqlite.transaction import Tx
from puntual.testing.conformance.build import DAY, NOW, add, kill, new_run, schedule, tick, tick_run

#: What may be read from end to end: what is configured (queues, schedules, calendars, tokens), who works, what has been
#: chosen already, and indexes that hold few rows or are left after the first.
SMALL = re.compile(
    r"SCAN (CONSTANT ROW|\(subquery-\d+\)|given|clock|lane|lone|l|due|waiting|graves|named|n|s"
    r"|workers|queues|q|calendars|tokens|leases|pause_of_all|schema_migrations|schedules"
    r"|(schedules|o|u) USING .*schedules_\w+"
    # The fleet never runs more than its slots, few runs are lost twice, and the others are asked for their first lane.
    r"|(runs|r|b) USING (COVERING )?INDEX runs_(running|alone)|runs USING INDEX runs_claim"
    r"|json_each .*|[cjt] VIRTUAL TABLE .*)"
)
#: Put together when they are run: their plans are looked at as they are run.
ASSEMBLED = re.compile(r"list_runs_\w+|list_ticks\w*|dead_find|edit_find")
NAMES = sorted(
    name
    for file in (files("puntual.store.sqlite") / "sql").iterdir()
    if not (name := file.name.removesuffix(".sql")).startswith("_") and not ASSEMBLED.fullmatch(name)
)


class Planner(Tx):
    """Looks at the plan of every statement before it runs it, but for those that count how far a page may read."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection, SystemClock(), Retention(), NOW)
        self.steps: list[str] = []
        self.sorts: list[int] = []

    def execute(self, statement: str, parameters: Sequence[object]) -> SqlValue:
        """As ``Tx.execute``."""
        if statement.rstrip().endswith("OFFSET ?"):
            return super().execute(statement, parameters)
        plan = self._connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()
        self.steps += [row[3] for row in plan]
        self.sorts += [row[1] for row in plan if row[3] == "USE TEMP B-TREE FOR ORDER BY"]
        return super().execute(statement, parameters)

    @property
    def grown(self) -> list[str]:
        """What was read from end to end though it grows."""
        return [step for step in self.steps if step.startswith("SCAN") and not SMALL.fullmatch(step)]


@pytest.fixture
def connection(path: str, store: SqliteStore) -> Iterator[sqlite3.Connection]:
    """A connection of our own to an open store's file."""
    with closing(sqlite3.connect(path)) as made:
        yield made


def _text(name: str) -> str:
    """The statement as it is run, with one row where it takes rows."""
    text = sql(name)
    given = re.search(r"given \(([^)]*)\)", text)
    return text.replace("(:row)", f"({', '.join('?' * len(given[1].split(',')))})") if given else text


def _plan(connection: sqlite3.Connection, statement: str) -> list[str]:
    numbered = [int(number) for number in re.findall(r"\?(\d+)", statement)]
    count = max(numbered) if numbered else statement.count("?")
    rows = connection.execute(f"EXPLAIN QUERY PLAN {statement}", [None] * count).fetchall()
    return [row[3] for row in rows]


def _uses(connection: sqlite3.Connection, statement: str, *wanted: str) -> None:
    plan = _plan(connection, statement)
    for line in wanted:
        assert any(line in step for step in plan), plan


#: What people ask for now and then, and only of live runs: an index by due time would cost each run more than it saves.
LOOKS_AT_LIVE_RUNS = {"due_by_minute"}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in LOOKS_AT_LIVE_RUNS])
def test_nothing_is_read_from_end_to_end(connection: sqlite3.Connection, name: str) -> None:
    """Tables that grow are searched, never scanned."""
    scans = [step for step in _plan(connection, _text(name)) if step.startswith("SCAN")]
    assert [step for step in scans if not SMALL.fullmatch(step)] == []


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("enqueue_known", ("runs USING COVERING INDEX", "run_history USING COVERING INDEX")),
        ("enqueue_held", ("INDEX runs_unique_key (task=? AND unique_key=?)",)),
        (
            "claim_lanes",
            (
                "INDEX runs_claim (queue=? AND priority=? AND task>?)",
                "INDEX runs_claim (queue=? AND priority>?)",
                "INDEX runs_claim (queue=? AND priority=? AND task=? AND claim_at<?)",
                "INDEX runs_claim (queue=? AND priority=? AND task=? AND claim_at>?)",
                "INDEX runs_running (queue=?)",
            ),
        ),
        ("claim_runs", ("runs USING INTEGER PRIMARY KEY",)),
        ("settle_guard", ("INDEX sqlite_autoindex_runs_1 (id=?)",)),
        ("end_runs", ("r USING INTEGER PRIMARY KEY",)),
        ("put_back_runs", ("runs USING INTEGER PRIMARY KEY",)),
        ("plan_read", ("INDEX schedules_look (look_at<?)", "INDEX runs_schedule (schedule_id=?)")),
        ("plan_next_look", ("COVERING INDEX schedules_look",)),
        ("beat_read", ("INDEX runs_cancelling (worker=?", "COVERING INDEX runs_running")),
        ("prune_read", ("INDEX history_expiry (expires_on<?)",)),
        ("prune_stretches", ("INDEX stretches_all_ticks (tick_at<?)",)),
        ("fold_replace", ("PRIMARY KEY (schedule_id=? AND number=?)",)),
        ("get_run", ("INDEX sqlite_autoindex_run_history_1 (id=?)",)),
    ],
)
def test_the_index_meant_for_it_is_used(connection: sqlite3.Connection, name: str, steps: tuple[str, ...]) -> None:
    """The statements of every run and every tick go straight to their rows."""
    _uses(connection, _text(name), *steps)


@pytest.fixture
async def planner(connection: sqlite3.Connection, store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> Planner:
    """A transaction on a store with a few runs and ticks of each kind, of which a page reads fewer than there are."""
    monkeypatch.setattr(listing, "ROWS_READ", 2)
    monkeypatch.setattr(ticks, "ROWS_READ", 2)
    await kill(store, *(tick_run(schedule(), number) for number in range(1, 5)), now=tick(5))
    await kill(store, *(new_run(number) for number in range(20, 24)))
    cancelled = await add(store, *(new_run(number) for number in range(10, 14)))
    await store.cancel(cancelled, now=NOW)
    await add(store, *(tick_run(schedule(), number) for number in range(5, 9)))
    await add(store, *(new_run(number) for number in range(4)))
    return Planner(connection)


DEAD, PENDING = (RunState.DEAD,), (RunState.PENDING,)


@pytest.mark.parametrize("after", [None, "x"])
@pytest.mark.parametrize(
    ("where", "step"),
    [
        (RunFilter(), "sqlite_autoindex_run_history_1 (id>?"),
        (RunFilter(), "sqlite_autoindex_runs_1 (id>?"),
        (RunFilter(states=DEAD), "history_dead (id>?"),
        (RunFilter(states=DEAD, queues=("a",)), "history_dead (id>?"),
        (RunFilter(states=DEAD, discarded=True), "sqlite_autoindex_run_history_1 (id>?"),
        (RunFilter(states=(RunState.CANCELLED,)), "history_cancelled (id>?"),
        (RunFilter(states=(RunState.SUCCEEDED,)), "sqlite_autoindex_run_history_1 (id>?"),
        (RunFilter(states=PENDING), "sqlite_autoindex_runs_1 (id>?"),
        (RunFilter(states=(RunState.RUNNING,)), "runs USING INTEGER PRIMARY KEY (rowid=?)"),
        (RunFilter(schedules=("nightly",)), "runs_schedule_name (schedule=? AND id>?"),
        (RunFilter(schedules=("nightly",)), "history_schedule (schedule=? AND id>?"),
        (RunFilter(schedules=("nightly", "b")), "sqlite_autoindex_run_history_1 (id>?"),
        (RunFilter(queues=("a",), tags=("t",), tasks=("t",)), "sqlite_autoindex_run_history_1 (id>?"),
        (RunFilter(since=NOW, until=NOW + DAY), "sqlite_autoindex_run_history_1 (id>? AND id<?)"),
        (RunFilter(ids=("a", "b")), "sqlite_autoindex_run_history_1 (id=?)"),
    ],
)
async def test_lists_are_read_in_their_order(planner: Planner, where: RunFilter, step: str, after: str | None) -> None:
    """No page reads beyond its bound, or sorts more than the pages of its two halves; running runs are few."""
    listing.list_runs(planner, where, Page(after=after))
    assert any(step in line for line in planner.steps), planner.steps
    assert planner.grown == []
    sorted_once = 1 + (where.states == (RunState.RUNNING,)) + 2 * bool(where.ids)
    assert len(planner.sorts) <= sorted_once, planner.steps


@pytest.mark.parametrize("fates", [(), *((fate,) for fate in Fate), (Fate.RAN, Fate.SKIPPED)])
@pytest.mark.parametrize("name", [None, "nightly"])
@pytest.mark.parametrize("since", [None, NOW])
async def test_ticks_are_read_by_instant(
    planner: Planner, fates: tuple[Fate, ...], name: str | None, since: int | None
) -> None:
    """Whatever is asked for, each part is read between two instants."""
    ticks.list_ticks(planner, TickFilter(schedule=name, fates=fates, since=since), Page())
    assert planner.grown == []
    read = [step for step in planner.steps if step.startswith("SEARCH")]
    assert read
    assert all("tick_at>? AND tick_at<?" in step for step in read), read


async def test_hands_touch_only_what_was_found(planner: Planner) -> None:
    """While they write nobody else can: they go to each run by its id."""
    control.edit(planner, RunFilter(tasks=("t",)), RunEdit(queue="a"), ["a"])
    control.replay(planner, RunFilter(tasks=("t",)), Page(), ["a"])
    control.discard(planner, RunFilter(tasks=("t",)), Page(), ["a"])
    assert planner.grown == []
    assert all("id=?" in step for step in planner.steps if step.startswith("SEARCH")), planner.steps
